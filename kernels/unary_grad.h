/* unary_grad.h - derivatives of what unary.h computes. */
#ifndef BI_UNARY_GRAD_PARAMS_H
#define BI_UNARY_GRAD_PARAMS_H

#include "unary.h"

/* dx[r, c] = f'(x[r, c]) dy[r, c]; f is GELU, SIGMOID or SILU of enum bi_unary. */
struct bi_unary_grad_params {
    const struct bi_counts *counts;
    const float *x, *dy;
    float *dx;
    int64_t ldx, lddy, lddx, rows;
    int32_t axis, width, function;
};

#endif
