/* dropout_norm.h - layernorm whose bias by the dropout of training is taken out. */
#ifndef BI_DROPOUT_NORM_PARAMS_H
#define BI_DROPOUT_NORM_PARAMS_H

#include "counts.h"

/* x, y: [rows, width], w, b: [width]; m and v are mean and variance of a row:
 *   y[c] = s w[c] (x[c] - m) / sqrt(v + eps) + b[c],  s = sqrt(keep / (1 + (1 - keep) m^2 / v))
 * s is 0 where v is 0. Training that drops numbers in front of a norm, and scales the rest by
 * 1 / keep, widens rows: s brings a row without dropout to the width that the next layer has
 * learnt. Source: Dropout-LayerNorm Correction, arXiv 2609.32062. */
struct bi_dropout_norm_params {
    const struct bi_counts *counts;
    const float *x, *w, *b;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
    float eps, keep;
};

#endif
