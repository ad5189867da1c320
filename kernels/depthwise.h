/* depthwise.h - a convolution of every channel with a kernel of its own. */
#ifndef BI_DEPTHWISE_PARAMS_H
#define BI_DEPTHWISE_PARAMS_H

#include "counts.h"

/* y[r, c] = sum over i of x[r + i, c] w[i, c], one chain of fused multiply-adds from i = 0.
 * x: [rows + taps - 1, width], zero rows around it by norm_act; w: [taps, width]. */
struct bi_depthwise_params {
    const struct bi_counts *counts;
    const float *x, *w;
    float *y;
    int64_t ldx, ldy, rows; /* rows: of y */
    int32_t width, taps;
};

#endif
