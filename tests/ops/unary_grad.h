/* unary_grad.h - cases of unary_grad, which computes the gradients of several functions. */
#ifndef BI_TEST_UNARY_GRAD_H
#define BI_TEST_UNARY_GRAD_H

#include "checkkernel.h"

#include "kernels/unary_grad.h"

static inline void unary_grad_cases(struct ck *ck, int32_t function,
                                    void (*reference)(const void *params), const char *note)
{
    typedef struct bi_unary_grad_params T;
    for (int i = 0; i < 8; i++) {
        const struct ck_lengths n = ck_lengths(ck, 4, 60);
        T p = {
            .axis = BI_AXIS_TOKENS, .width = (int32_t)ck_random(ck, 1, 150), .function = function};
        ck_check(ck,
                 &(struct ck_case){
                     .entry = "unary_grad",
                     .reference = reference,
                     .params = &p,
                     .params_size = sizeof p,
                     .rows = offsetof(T, rows),
                     .arrays = {{CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = p.width},
                                {CK_ARRAY(T, dy, lddy), CK_IN, BI_AXIS_TOKENS, .width = p.width},
                                {CK_ARRAY(T, dx, lddx), CK_OUT, BI_AXIS_TOKENS, .width = p.width}},
                     .lengths = n.of,
                     .n_seqs = n.n,
                     .absolute = 1e-6,
                     .relative = 2e-6,
                     .note = note});
    }
}

#endif
