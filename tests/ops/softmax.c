/* softmax.c - cases of the softmax kernel. */
#include "checkkernel.h"
#include "kernels/attention.h"

static void check(struct ck *ck, const struct ck_lengths *n, int heads, double spread, int in_place,
                  bool grids, const char *note)
{
    typedef struct bi_softmax_params T;
    const enum bi_axis axis = grids ? BI_AXIS_GRID : BI_AXIS_TOKENS;
    const int64_t longest = n->longest + 2;
    T p = {.n_heads = heads,
           .ldh = longest,
           .axis = (int32_t)axis,
           .seqs = grids ? BI_AXIS_TOKENS : BI_AXIS_SEQS};
    ck_check(
        ck, &(struct ck_case){.entry = "softmax",
                              .reference = bi_op_softmax.reference,
                              .params = &p,
                              .params_size = sizeof p,
                              .start = offsetof(T, start),
                              .row_start = grids,
                              .arrays =
                                  {
                                      {CK_ARRAY(T, x, ldp), CK_IN, axis, .width = heads * longest,
                                       .scale = spread},
                                      {CK_ARRAY(T, p, ldp), CK_OUT, axis, .width = heads * longest},
                                  },
                              .lengths = n->of,
                              .n_seqs = n->n,
                              .in_place = in_place,
                              .absolute = 1e-6,
                              .relative = 1e-5,
                              .note = note});
}

static void cases(struct ck *ck)
{
    static const double spreads[] = {1, 1e-3, 10, 300};
    static const int32_t edges[] = {1, 2, 3, 12, 15, 16, 17, 47, 48, 49, 127, 128, 129, 0, -1};
    if (ck_bench(ck)) {
        struct ck_lengths n = ck_same(1, 475);
        check(ck, &n, 20, 2, 1, false, "H=20 S=475");
        return;
    }
    for (int i = 0; i < 40; i++) {
        struct ck_lengths n = i < 4 ? ck_lengths_of(edges) : ck_lengths(ck, 6, 100);
        check(ck, &n, (int)ck_random(ck, 1, 3), spreads[i % 4], i % 3 == 0, false,
              i < 4 ? "edges" : "random");
    }
    static const int32_t grids[] = {1, 2, 3, 17, 0, 5, -1};
    struct ck_lengths n = ck_lengths_of(grids);
    check(ck, &n, 2, 1, 0, true, "rows of grids");
    check(ck, &n, 2, 1, 1, true, "rows of grids");
}

const struct ck_op ck_softmax = {.stem = "softmax", .cases = cases};
