/* track_grads.h - derivatives of what stands between convolutions, and rows put among zeros. */
#ifndef BI_TRACK_GRADS_PARAMS_H
#define BI_TRACK_GRADS_PARAMS_H

#include "counts.h"

/* The derivative of norm_act (norm_act.h) by x, z = scale[c] x[r, c] + shift[c]:
 *   dx[r, c] = act'(z) scale[c] dy[pad + r, c]
 * x, dx: [rows, width], dy: [rows + 2 pad, width]; scale and shift may be NULL. act is an enum
 * bi_norm_act. The slope of RELU at 0 is 0. */
struct bi_norm_act_grad_params {
    const struct bi_counts *counts;
    const float *x, *scale, *shift, *dy;
    float *dx;
    int64_t ldx, lddy, lddx, rows;
    int32_t axis, width, pad, act;
};

/* The derivatives of pair_pool (pairs.h), s = sigmoid(logits[2 i] - logits[2 i + 1]):
 *   dx[2 i] = s dy[i], dx[2 i + 1] = (1 - s) dy[i]
 *   dlogits[2 i] = s (1 - s) (x[2 i] - x[2 i + 1]) dy[i] = - dlogits[2 i + 1]
 * logits NULL: the larger of the two rows has dy[i], the first where they are equal, the other 0.
 * x, logits, dx, dlogits: [2 rows, width], dy: [rows, width]; dlogits NULL: not wanted. */
struct bi_pair_pool_grad_params {
    const struct bi_counts *counts;
    const float *x, *logits, *dy;
    float *dx, *dlogits;
    int64_t ldx, ldl, lddy, lddx, lddl, rows; /* rows: of dy */
    int32_t width;
};

/* The derivative of unclip (track_rows.h) by x, with s and u of x[r, c] as there:
 *   dx[r, c] = mean[c] exponent u^(exponent - 1) u'(s) gain[c] sigmoid(x[r, c]) dy[r, c]
 * u'(s) = s <= BI_UNCLIP_FROM ? 1 : (s + BI_UNCLIP_FROM) / (2 BI_UNCLIP_FROM) */
struct bi_unclip_grad_params {
    const struct bi_counts *counts;
    const float *x, *gain, *mean, *dy;
    float *dx;
    int64_t ldx, lddy, lddx, rows;
    int32_t axis, width;
    float exponent;
};

/* The derivative of y = row_softmax(x) (track_rows.h) by x:
 *   dx[r, c] = y[r, c] (dy[r, c] - sum_k y[r, k] dy[r, k])
 * y, dy, dx: [rows, width] */
struct bi_row_softmax_grad_params {
    const struct bi_counts *counts;
    const float *y, *dy;
    float *dx;
    int64_t ldy, lddy, lddx, rows;
    int32_t axis, width;
};

/* y [rows, width] = x [n, width] from row `first` on, zeros in all other rows. */
struct bi_pad_rows_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, n, first, rows;
    int32_t width;
};

#endif
