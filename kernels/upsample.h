/* upsample.h - every row several times, and the skip connection of a U-Net. */
#ifndef BI_UPSAMPLE_PARAMS_H
#define BI_UPSAMPLE_PARAMS_H

#include "counts.h"

/* y[r, c] = x[r / times, c] + skip[r, c].   x: [rows / times, width]; skip, y: [rows, width] */
struct bi_upsample_params {
    const struct bi_counts *counts;
    const float *x, *skip;
    float *y;
    int64_t ldx, lds, ldy, rows; /* rows: of y */
    int32_t width, times;
};

#endif
