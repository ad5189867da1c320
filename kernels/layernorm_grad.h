/* layernorm_grad.h - the derivative of a layer norm, or an RMS norm, by its input. */
#ifndef BI_LAYERNORM_GRAD_PARAMS_H
#define BI_LAYERNORM_GRAD_PARAMS_H

#include "counts.h"

/* Let s = 1 / sqrt(var + eps), z = (x - mean) s and h = w dy:
 * dx = s (h - mean(h) - z mean(h z)).
 * rms: x for x - mean, the mean of squares for var, 0 for mean(h). A row is `groups` parts of width
 * numbers, each normed by itself; w [groups width]. */
struct bi_layernorm_grad_params {
    const struct bi_counts *counts;
    const float *x, *w, *dy;
    float *dx;
    int64_t ldx, lddy, lddx, rows;
    int32_t axis, width, groups, rms;
    float eps;
};

#endif
