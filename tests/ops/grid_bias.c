/* grid_bias.c - cases of the grid_bias kernel. */
#include "checkkernel.h"
#include "kernels/attention.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, bool grids,
                  const char *note)
{
    typedef struct bi_grid_bias_params T;
    const enum bi_axis axis = grids ? BI_AXIS_GRID : BI_AXIS_TOKENS;
    const int64_t longest = n->longest + 2;
    T p = {.n_heads = heads,
           .ldh = longest,
           .axis = (int32_t)axis,
           .seqs = grids ? BI_AXIS_TOKENS : BI_AXIS_SEQS};
    ck_check(
        ck, &(struct ck_case){.entry = "grid_bias",
                              .reference = bi_op_grid_bias.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .start = offsetof(T, start),
                              .row_start = grids,
                              .grid_start = offsetof(T, grid_start),
                              .arrays =
                                  {
                                      {CK_ARRAY(T, x, ldp), CK_IN, axis, .width = heads * longest},
                                      {CK_ARRAY(T, p, ldp), CK_OUT, axis, .width = heads * longest},
                                      {CK_ARRAY(T, bias, ldb), CK_IN, BI_AXIS_GRID, .width = heads},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 12, 15, 16, 17, 47, 48, 49, 127, 0, -1};
    static const int32_t grids[] = {1, 2, 3, 17, 0, 5, -1};
    for (int i = 0; i < 12 && !ck_bench(ck); i++) {
        struct ck_lengths n = i ? ck_lengths(ck, 6, 60) : ck_lengths_of(edges);
        check(ck, &n, (int)ck_random(ck, 1, 3), false, i ? "random" : "edges");
        n = i ? ck_lengths(ck, 4, 12) : ck_lengths_of(grids);
        check(ck, &n, (int)ck_random(ck, 1, 3), true, "rows of grids");
    }
}

const struct ck_op ck_grid_bias = {.stem = "grid_bias", .cases = cases};
