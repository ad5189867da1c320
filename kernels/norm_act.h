/* norm_act.h - a per-channel affine map, an activation, zero rows around. */
#ifndef BI_NORM_ACT_PARAMS_H
#define BI_NORM_ACT_PARAMS_H

#include "counts.h"

enum bi_norm_act {
    BI_NORM_ACT_NONE,
    BI_NORM_ACT_QUICK_GELU, /* z sigmoid(1.702 z) */
    BI_NORM_ACT_TANH_GELU,  /* z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))) */
    BI_NORM_ACT_RELU,
    BI_NORM_ACT_SOFTPLUS, /* log(1 + e^z) */
    BI_NORM_ACT_TANH
};

/* y[pad + r, c] = act(scale[c] * x[r, c] + shift[c]); the first and last `pad` rows of y are
 * zero: a convolution pads behind the activation. scale and shift [width] may be NULL (1, 0).
 * x: [rows, width], y: [rows + 2 pad, width]. pad > 0 only where rows are fixed. */
struct bi_norm_act_params {
    const struct bi_counts *counts;
    const float *x, *scale, *shift;
    float *y;
    int64_t ldx, ldy, rows; /* rows: of x */
    int32_t axis, width, pad, act;
};

#endif
