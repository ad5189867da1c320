/* row_pool.h - rows of each token, summed up by a softmax of their logits. */
#ifndef BI_ROW_POOL_PARAMS_H
#define BI_ROW_POOL_PARAMS_H

#include "counts.h"

/* y[i] = sum over r of softmax_r(logit[r]) x[r], start[i] <= r < start[i + 1]. Token i has these
 * rows, at least one.   x: [.., width]; logit: [.., 1], NULL: all are 0, so y is the mean;
 * y: [rows, width]; start: [rows + 1] */
struct bi_row_pool_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x, *logit;
    float *y;
    int64_t ldx, ldl, ldy, rows;
    int32_t width;
};

#endif
