/* row_softmax_grad.c - cases of the row_softmax_grad kernel. */
#include "checkkernel.h"
#include "kernels/track_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_row_softmax_grad_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 300), .width = (int32_t)ck_random(ck, 1, i % 2 ? 6 : 140)};
        ck_check(ck, &(struct ck_case){
                         .entry = "row_softmax_grad",
                         .reference = bi_op_row_softmax_grad.reference,
                         .params = &p,
                         .params_size = sizeof p,
                         .arrays =
                             {
                                 {CK_ARRAY(T, y, ldy), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width},
                                 {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width, .scale = i % 4 ? 1 : 10},
                                 {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width},
                             },
                         .lengths = one.of,
                         .n_seqs = one.n,
                         .absolute = 2e-4,
                         .relative = 1e-5,
                         .nmse = 1e-11,
                         .note = "random"});
    }
}

const struct ck_op ck_row_softmax_grad = {.stem = "row_softmax_grad", .cases = cases};
