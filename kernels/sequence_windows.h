/* sequence_windows.h - the rows around every residue, side by side: what a convolution sees. */
#ifndef BI_SEQUENCE_WINDOWS_PARAMS_H
#define BI_SEQUENCE_WINDOWS_PARAMS_H

#include "counts.h"

/* y[t, k width + c] = x[t + k - taps / 2, c] where that row is a residue of the same sequence,
 * else 0; all of y[t, :] is 0 where t is a special token (the first n_prefix and the last
 * n_suffix of a sequence). x: [tokens, width], y: [tokens, taps width], taps odd. */
struct bi_sequence_windows_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x;
    float *y;
    int64_t ldx, ldy;
    int32_t width, taps, n_prefix, n_suffix;
};

#endif
