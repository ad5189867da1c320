/* outer_sums.c - cases of the outer_sums kernel. */
#include "alignments.h"

static void check(struct ck *ck, int longest, int deepest, int32_t width, int32_t width_b,
                  const char *note)
{
    typedef struct bi_outer_sums_params T;
    struct ck_graph g = ck_graph_new(ck, 4, longest, 1);
    const int32_t pad = (int32_t)ck_random(ck, 0, 3);
    T p = {.counts = &g.counts,
           .starts = ck_alignments(&g, deepest),
           .lda = width + pad,
           .ldb = width_b + 2 * pad,
           .ldy = width * width_b + pad,
           .rows = g.counts.n_grid,
           .width = width,
           .width_b = width_b};
    p.a = ck_graph_floats(&g, g.counts.n_aligned * p.lda, 1);
    p.b = ck_graph_floats(&g, g.counts.n_aligned * p.ldb, 1);
    p.y = ck_graph_zeros(&g, p.rows * p.ldy);
    ck_check_fixed(ck, &(struct ck_fixed){.entry = "outer_sums",
                                          .reference = bi_op_outer_sums.reference,
                                          .params = &p,
                                          .params_size = sizeof p,
                                          .absolute = 1e-5 + 4e-7 * deepest,
                                          .relative = 1e-5,
                                          .note = note,
                                          .arrays = {{offsetof(T, y), 4 * (size_t)(p.rows * p.ldy),
                                                      CK_FIXED_F32}}});
    ck_graph_free(&g);
}

static void cases(struct ck *ck)
{
    if (ck_bench(ck)) {
        check(ck, 64, 512, 32, 32, "up to 512 rows, 32 by 32");
        return;
    }
    for (int i = 0; i < 16; i++)
        check(ck, 12, i % 4 ? 9 : 70, (int32_t)ck_random(ck, 1, i % 2 ? 9 : 33),
              (int32_t)ck_random(ck, 1, i % 2 ? 9 : 40), "random");
}

const struct ck_op ck_outer_sums = {.stem = "outer_sums", .cases = cases};
