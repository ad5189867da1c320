/* pairs.h - two neighbouring rows become one: the poolings of window 2. */
#ifndef BI_PAIRS_PARAMS_H
#define BI_PAIRS_PARAMS_H

#include "counts.h"

/* pair_diff: y[i, c] = x[2 i, c] - x[2 i + 1, c].   x: [2 rows, width], y: [rows, width] */
struct bi_pair_diff_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows; /* rows: of y */
    int32_t width;
};

/* pair_pool: the two rows weighted by the softmax of their logits, per channel:
 *   y[i] = x[2 i + 1] + (x[2 i] - x[2 i + 1]) sigmoid(l)
 * with l = logits[i] when `halved` (logits of the difference, [rows, width]), else
 * l = logits[2 i] - logits[2 i + 1] ([2 rows, width]); logits NULL: the larger of the two. */
struct bi_pair_pool_params {
    const struct bi_counts *counts;
    const float *x, *logits;
    float *y;
    int64_t ldx, ldl, ldy, rows; /* rows: of y */
    int32_t width, halved;
};

#endif
