/* upsample.h - every row twice, and the skip connection of a U-Net. */
#ifndef BI_UPSAMPLE_PARAMS_H
#define BI_UPSAMPLE_PARAMS_H

#include "counts.h"

/* y[r, c] = x[r / 2, c] + skip[r, c].   x: [rows / 2, width]; skip, y: [rows, width] */
struct bi_upsample_params {
    const struct bi_counts *counts;
    const float *x, *skip;
    float *y;
    int64_t ldx, lds, ldy, rows; /* rows: of y, even */
    int32_t width;
};

#endif
