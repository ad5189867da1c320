/* linear.h - y = act(x w^T + bias) + residual, rows independent of each other. */
#ifndef BI_LINEAR_PARAMS_H
#define BI_LINEAR_PARAMS_H

#include "counts.h"

enum bi_act { BI_ACT_NONE, BI_ACT_GELU, BI_ACT_RELU };

/* x: [rows, k] with row stride ldx, y: [rows, n]. w: [n, k], in the layout of the backend
 * (the reference: plain row-major). bias [n] and residual [rows, n] may be NULL; residual is
 * added last. y never overlaps x or residual.
 * Every element of y is one chain of fused multiply-adds over k = 0, 1, ..., from 0, whatever
 * the number of rows: so a row gives the same bits in any batch. */
struct bi_linear_params {
    const struct bi_counts *counts;
    const float *x, *bias, *residual;
    const void *w;
    float *y;
    int64_t ldx, ldr, ldy;
    int64_t rows; /* at most; see axis */
    int32_t axis, n, k, act;
};

#endif
