/* unary.h - one float in, one float out. */
#ifndef BI_UNARY_PARAMS_H
#define BI_UNARY_PARAMS_H

#include "counts.h"

enum bi_unary { BI_UNARY_GELU, BI_UNARY_SIGMOID, BI_UNARY_SCALE, BI_UNARY_SILU };

/* y[r, c] = f(x[r, c]); gelu(z) = z/2 (1 + erf(z / sqrt 2)); scale: z * factor; silu(z) =
 * z / (1 + e^-z). */
struct bi_unary_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width, function;
    float factor;
};

#endif
