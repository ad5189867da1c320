/* gather_sum.h - y[r] = factor * the sum of the rows of x that index[r] names. */
#ifndef BI_GATHER_SUM_PARAMS_H
#define BI_GATHER_SUM_PARAMS_H

#include "counts.h"

enum { BI_GATHER_SUM_MAX = 256 };

/* x: rows of `width` numbers, ldx apart; index [rows, k]: -1 stands for no row; y [rows, width].
 * The rows are added in the order of the index. */
struct bi_gather_sum_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *index;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width, k;
    float factor;
};

#endif
