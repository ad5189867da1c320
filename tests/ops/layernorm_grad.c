/* layernorm_grad.c - cases of this kernel. */
#include "checkkernel.h"

#include "kernels/layernorm_grad.h"

static void cases(struct ck *ck)
{
    typedef struct bi_layernorm_grad_params T;
    for (int i = 0; i < 20; i++) {
        /* two columns leave nothing but rounding: normed values are always 1 and -1 */
        const struct ck_lengths n = ck_lengths(ck, 4, 60);
        T p = {.axis = BI_AXIS_TOKENS,
               .width = (int32_t)ck_random(ck, 8, i % 2 ? 40 : 400),
               .groups = i < 10 ? 1 : (int32_t)ck_random(ck, 2, 4),
               .rms = i % 3 == 2,
               .eps = 1e-5f};
        const int64_t all = (int64_t)p.groups * p.width;
        ck_check(ck, &(struct ck_case){
                         .entry = "layernorm_grad",
                         .reference = bi_op_layernorm_grad.reference,
                         .params = &p,
                         .params_size = sizeof p,
                         .rows = offsetof(T, rows),
                         .arrays = {{CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = all},
                                    {CK_PLAIN(T, w), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = all},
                                    {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_TOKENS, .width = all},
                                    {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_TOKENS, .width = all}},
                         .lengths = n.of,
                         .n_seqs = n.n,
                         .absolute = 2e-5,
                         .relative = 1e-5,
                         .note = "random"});
    }
}

const struct ck_op ck_layernorm_grad = {.stem = "layernorm_grad", .cases = cases};
