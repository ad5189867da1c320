/* relative_bias.c - cases of the relative_bias kernel. */
#include "checkkernel.h"
#include "kernels/attention.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, int reach, bool grids,
                  const char *note)
{
    typedef struct bi_relative_bias_params T;
    const enum bi_axis axis = grids ? BI_AXIS_GRID : BI_AXIS_TOKENS;
    const int64_t longest = n->longest + 2;
    T p = {.n_heads = heads,
           .reach = reach,
           .ldh = longest,
           .axis = (int32_t)axis,
           .seqs = grids ? BI_AXIS_TOKENS : BI_AXIS_SEQS};
    ck_check(
        ck, &(struct ck_case){.entry = "relative_bias",
                              .reference = bi_op_relative_bias.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .start = offsetof(T, start),
                              .row_start = grids,
                              .arrays =
                                  {
                                      {CK_ARRAY(T, x, ldp), CK_IN, axis, .width = heads * longest},
                                      {CK_ARRAY(T, p, ldp), CK_OUT, axis, .width = heads * longest},
                                      {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = heads,
                                       .width = 2 * reach + 1},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .note = note});
}

static void cases(struct ck *ck)
{
    static const int32_t edges[] = {1, 2, 3, 12, 15, 16, 17, 47, 48, 49, 127, 0, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 475);
        check(ck, &n, 20, 91, false, "H=20 S=475");
        return;
    }
    for (int i = 0; i < 30; i++) {
        struct ck_lengths n = i < 2 ? ck_lengths_of(edges) : ck_lengths(ck, 6, 80);
        check(ck, &n, (int)ck_random(ck, 1, 3), (int)ck_random(ck, 1, i % 2 ? 8 : 120), false,
              i < 2 ? "edges" : "random");
    }
    static const int32_t grids[] = {1, 2, 3, 17, 0, 5, -1};
    struct ck_lengths n = ck_lengths_of(grids);
    check(ck, &n, 2, 3, true, "rows of grids");
}

const struct ck_op ck_relative_bias = {.stem = "relative_bias", .cases = cases};
