/* unclip.c - cases of the unclip_grad kernel. */
#include "checkkernel.h"
#include "kernels/track_grads.h"

static void cases(struct ck *ck)
{
    typedef struct bi_unclip_grad_params T;
    static const int32_t lengths[] = {1, -1};
    const struct ck_lengths one = ck_lengths_of(lengths);
    for (int i = 0; i < 24 && !ck_bench(ck); i++) {
        T p = {.rows = ck_random(ck, 1, 60),
               .width = (int32_t)ck_random(ck, 1, i % 2 ? 40 : 300),
               .exponent = i % 3 ? 1 : 1 / 0.75f};
        ck_check(ck, &(struct ck_case){
                         .entry = "unclip_grad",
                         .reference = bi_op_unclip_grad.reference,
                         .params = &p,
                         .params_size = sizeof p,
                         .arrays =
                             {
                                 {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width, .scale = i % 4 ? 4 : 30},
                                 {CK_PLAIN(T, gain), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                  .width = p.width, .fill = CK_GAIN, .scale = 0.2},
                                 {CK_PLAIN(T, mean), CK_IN, BI_AXIS_FIXED, .rows = 1,
                                  .width = p.width, .fill = CK_GAIN, .scale = 0.2},
                                 {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width},
                                 {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_FIXED, .rows = p.rows,
                                  .width = p.width},
                             },
                         .lengths = one.of,
                         .n_seqs = one.n,
                         .absolute = 2e-6,
                         .relative = 4e-6,
                         .note = "random"});
    }
}

const struct ck_op ck_unclip_grad = {.stem = "unclip_grad", .cases = cases};
