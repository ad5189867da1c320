/* scale_rows.h - y[r, :] = x[r, :] * scale[r]. */
#ifndef BI_SCALE_ROWS_PARAMS_H
#define BI_SCALE_ROWS_PARAMS_H

#include "counts.h"

struct bi_scale_rows_params {
    const struct bi_counts *counts;
    const float *x, *scale;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
};

#endif
