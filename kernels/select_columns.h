/* select_columns.h - y[:, i] = x[:, index[i]]. */
#ifndef BI_SELECT_COLUMNS_PARAMS_H
#define BI_SELECT_COLUMNS_PARAMS_H

#include "counts.h"

/* x: [rows, any], y: [rows, width], index: [width]. Indices count in columns of x and are checked on
 * the host. */
struct bi_select_columns_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *index;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
};

#endif
