/* row_softmax.c - cases of the row_softmax kernel. */
#include "checkkernel.h"
#include "kernels/track_rows.h"

static void cases(struct ck *ck)
{
    typedef struct bi_row_softmax_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 300), .width = (int32_t)ck_random(ck, 1, i % 2 ? 6 : 140)};
        ck_check(ck, &(struct ck_case){
                         .entry = "row_softmax",
                         .reference = bi_op_row_softmax.reference,
                         .params = &p,
                         .params_size = sizeof p,
                         .arrays =
                             {
                                 {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width, .scale = i % 4 ? 3 : 40},
                                 {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width},
                             },
                         .lengths = one.of,
                         .n_seqs = one.n,
                         .absolute = 2e-6,
                         .relative = 2e-6,
                         .note = "random"});
    }
}

const struct ck_op ck_row_softmax = {.stem = "row_softmax", .cases = cases};
