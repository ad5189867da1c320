/* layernorm.h - y = (x - mean) / sqrt(var + eps) * w + b over the last dimension. */
#ifndef BI_LAYERNORM_PARAMS_H
#define BI_LAYERNORM_PARAMS_H

#include "counts.h"

/* Biased variance, two passes (mean first), sums in an order fixed by the width. With
 * `add` not NULL, sum = x + add is written to `sum` first and normalised instead of x.
 * y and sum may not overlap x. */
struct bi_layernorm_params {
    const struct bi_counts *counts;
    const float *x, *add, *w, *b;
    float *y, *sum;
    int64_t ldx, lda, ldy, lds, rows;
    int32_t axis, width;
    float eps;
};

#endif
