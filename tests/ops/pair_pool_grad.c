/* pair_pool_grad.c - cases of the pair_pool_grad kernel: with logits, and of the maximum. */
#include "checkkernel.h"

#include "kernels/track_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_pair_pool_grad_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 50), .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300)};
        ck_check(ck,
                 &(struct ck_case){
                     .entry = "pair_pool_grad",
                     .reference = bi_op_pair_pool_grad.reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .arrays =
                         {
                             {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = 2 * p.rows,
                              .width = p.width},
                             {CK_ARRAY(T, logits, ldl), CK_IN, BI_AXIS_FIXED, .rows = 2 * p.rows,
                              .width = p.width, .scale = i % 5 ? 3 : 30, .absent = i % 3 == 2},
                             {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                              .width = p.width},
                             {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_FIXED, .rows = 2 * p.rows,
                              .width = p.width},
                             {CK_ARRAY(T, dlogits, lddl), CK_OUT, BI_AXIS_FIXED, .rows = 2 * p.rows,
                              .width = p.width, .absent = i % 4 == 3},
                         },
                     .lengths = one.of,
                     .n_seqs = one.n,
                     .absolute = 2e-6,
                     .relative = 2e-6,
                     .note = i % 3 == 2 ? "larger" : "logits"});
    }
}

const struct ck_op ck_pair_pool_grad = {.stem = "pair_pool_grad", .cases = cases};
