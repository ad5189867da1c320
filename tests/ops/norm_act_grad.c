/* norm_act_grad.c - cases of the norm_act_grad kernel: every activation, with and without rows
 * around. */
#include "checkkernel.h"

#include "kernels/norm_act.h"
#include "kernels/track_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_norm_act_grad_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 36 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 40),
               .axis = BI_AXIS_FIXED,
               .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300),
               .pad = i % 3 ? 0 : (int32_t)ck_random(ck, 1, 7),
               .act = i % (BI_NORM_ACT_TANH + 1)};
        ck_check(ck, &(struct ck_case){.entry = "norm_act_grad",
                                       .reference = bi_op_norm_act_grad.reference,
                                       .params = &p,
                                       .params_size = sizeof p,
                                       .arrays =
                                           {
                                               {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width, .scale = 2},
                                               {CK_PLAIN(T, scale), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                                .width = p.width, .absent = i % 5 == 1},
                                               {CK_PLAIN(T, shift), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                                .width = p.width, .absent = i % 5 < 2},
                                               {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED,
                                                .rows = p.rows + 2 * p.pad, .width = p.width},
                                               {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_FIXED,
                                                .rows = p.rows, .width = p.width},
                                           },
                                       .lengths = one.of,
                                       .n_seqs = one.n,
                                       .blind = 1,
                                       .absolute = 4e-6,
                                       .relative = 4e-6,
                                       .note = "random"});
    }
}

const struct ck_op ck_norm_act_grad = {.stem = "norm_act_grad", .cases = cases};
