/* select_rows.h - y[r, :] = x[index[r], :]. */
#ifndef BI_SELECT_ROWS_PARAMS_H
#define BI_SELECT_ROWS_PARAMS_H

#include "counts.h"

/* Indices count in rows of x and are checked on the host. */
struct bi_select_rows_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *index;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
};

#endif
