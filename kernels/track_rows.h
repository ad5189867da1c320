/* track_rows.h - rows around the heads of a model of tracks: residuals of fewer channels, means of
 * neighbouring rows, probabilities of classes, tracks in the scale of their experiments. */
#ifndef BI_TRACK_ROWS_PARAMS_H
#define BI_TRACK_ROWS_PARAMS_H

#include "counts.h"

/* y[r, c] = a[r, c] + b[r, c] for c < narrow, a[r, c] behind.   a, y: [rows, width],
 * b: [rows, narrow], narrow <= width */
struct bi_add_narrow_params {
    const struct bi_counts *counts;
    const float *a, *b;
    float *y;
    int64_t lda, ldb, ldy, rows;
    int32_t axis, width, narrow;
};

/* y[r] = a[r], then b[r].   a: [rows, first], b: [rows, width - first], y: [rows, width] */
struct bi_join_columns_params {
    const struct bi_counts *counts;
    const float *a, *b;
    float *y;
    int64_t lda, ldb, ldy, rows;
    int32_t axis, width, first;
};

/* y[r] = the mean of rows n r ... n r + n - 1 of x.   x: [rows n, width], y: [rows, width] */
struct bi_mean_rows_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows; /* rows: of y */
    int32_t width, n;
};

/* y[r] = softmax of row r.   x, y: [rows, width] */
struct bi_row_softmax_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
};

/* From logits to values of an experiment, x, y [rows, width], gain, mean [width]:
 *   s = softplus(x[r, c]) gain[c]
 *   u = s <= BI_UNCLIP_FROM ? s : (s + BI_UNCLIP_FROM)^2 / (4 BI_UNCLIP_FROM)
 *   y[r, c] = u^exponent mean[c] */
#define BI_UNCLIP_FROM 10.0f
struct bi_unclip_params {
    const struct bi_counts *counts;
    const float *x, *gain, *mean;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
    float exponent;
};

#endif
