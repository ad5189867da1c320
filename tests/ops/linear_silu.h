/* linear_silu.h - cases of linear_silu_pair and linear_silu_slope: a product in float32 with what
 * gradients ask for beside it. */
#ifndef BI_CK_LINEAR_SILU_H
#define BI_CK_LINEAR_SILU_H

#include "checkkernel.h"
#include "kernels/linear.h"

/* pair: y is silu, and the product stands beside it; else y is the product times silu' of slope. */
static inline void ck_linear_silu(struct ck *ck, bool pair, const struct ck_lengths *n, int out,
                                  int in, bool bias, const char *note)
{
    typedef struct bi_linear_params T;
    T p = {.axis = BI_AXIS_TOKENS, .n = out, .k = in, .act = pair ? BI_ACT_SILU : BI_ACT_NONE};
    const struct ck_array beside = {CK_ARRAY(T, before, ldb), CK_OUT, BI_AXIS_TOKENS, .width = out};
    const struct ck_array slope = {CK_ARRAY(T, slope, ldz), CK_IN, BI_AXIS_TOKENS, .width = out,
                                   .scale = 3};
    ck_check(
        ck, &(struct ck_case){
                .entry = "linear",
                .reference = (pair ? &bi_op_linear_silu_pair : &bi_op_linear_silu_slope)->reference,
                .params = &p,
                .params_size = sizeof p,
                .rows = offsetof(T, rows),
                .gpu_only = 1,
                .arrays =
                    {
                        {CK_ARRAY(T, x, ldx), CK_IN, BI_AXIS_TOKENS, .width = in},
                        {CK_PLAIN(T, w), CK_WEIGHT, BI_AXIS_FIXED, .rows = out, .width = in,
                         .scale = 0.2},
                        {CK_ARRAY(T, y, ldy), CK_OUT, BI_AXIS_TOKENS, .width = out},
                        pair ? beside : slope,
                        {CK_PLAIN(T, bias), CK_IN, BI_AXIS_FIXED, .rows = 1, .width = out,
                         .absent = !bias},
                    },
                .lengths = n->of,
                .n_seqs = n->n,
                .absolute = 2e-5,
                .relative = 1e-5,
                .nmse = 1e-11,
                .flops = 2.0 * n->tokens * out * in,
                .note = note});
}

/* All cases of either; those of slope have no bias, as no gradient has one. */
static inline void ck_linear_silu_cases(struct ck *ck, bool pair)
{
    static const int32_t one[] = {1, -1};
    struct ck_lengths n = ck_lengths_of(one);
    if (ck_bench(ck)) {
        n = ck_same(1, 2489);
        ck_linear_silu(ck, pair, &n, 128, 128, pair, "128x128");
        return;
    }
    ck_linear_silu(ck, pair, &n, 1, 1, pair, "1x1");
    for (int i = 0; i < 12; i++) {
        const int out = (int)ck_random(ck, i % 2 ? 64 : 1, 300);
        const int in = (int)ck_random(ck, i % 2 ? 64 : 1, 200);
        n = ck_lengths(ck, 4, 90);
        ck_linear_silu(ck, pair, &n, out, in, pair && i % 3, "random");
        if (i % 4 == 0) /* Hopper multiplies these in terms */
            ck_linear_silu(ck, pair, &n, 256 + out, 256 + in, pair, "large");
    }
}

#endif
