/* pair_average.c - cases of the pair_average kernel. */
#include "alignments.h"

static void check(struct ck *ck, int longest, int deepest, int32_t n_heads, int32_t width,
                  const char *note)
{
    typedef struct bi_pair_average_params T;
    struct ck_graph g = ck_graph_new(ck, 4, longest, 1);
    const int32_t pad = (int32_t)ck_random(ck, 0, 3);
    T p = {.counts = &g.counts,
           .starts = ck_alignments(&g, deepest),
           .ldw = n_heads + pad,
           .ldv = n_heads * width + pad,
           .ldy = n_heads * width + 2 * pad,
           .n_heads = n_heads,
           .width = width};
    p.rows = g.counts.n_aligned;
    p.weight = ck_graph_floats(&g, g.counts.n_grid * p.ldw, 0.3);
    p.v = ck_graph_floats(&g, p.rows * p.ldv, 1);
    p.y = ck_graph_zeros(&g, p.rows * p.ldy);
    ck_check_fixed(ck, &(struct ck_fixed){.entry = "pair_average",
                                          .reference = bi_op_pair_average.reference,
                                          .params = &p,
                                          .params_size = sizeof p,
                                          .absolute = 1e-5,
                                          .relative = 1e-5,
                                          .note = note,
                                          .arrays = {{offsetof(T, y), 4 * (size_t)(p.rows * p.ldy),
                                                      CK_FIXED_F32}}});
    ck_graph_free(&g);
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 64, 512, 8, 32, "up to 512 rows, 8 heads of 32");
        return;
    }
    for (int i = 0; i < 16; i++)
        check(ck, 14, i % 4 ? 9 : 40, (int32_t)ck_random(ck, 1, 9),
              (int32_t)ck_random(ck, 1, i % 2 ? 9 : 40), "random");
}

const struct ck_op ck_pair_average = {.stem = "pair_average", .cases = cases};
