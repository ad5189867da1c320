/* mean_pool.h - mean over the residues of each sequence. */
#ifndef BI_MEAN_POOL_PARAMS_H
#define BI_MEAN_POOL_PARAMS_H

#include "counts.h"

/* y[s, :] = mean of x[t, :] over t = start[s] + n_prefix ... start[s + 1] - n_suffix - 1,
 * summed in an order that the length fixes; then one multiplication by 1/n. With w not
 * NULL each row is normalised first (see layernorm.h: b, rms), and only the mean is written.
 * A sequence without residues gives zeros. start: [n_seqs + 1]. */
struct bi_mean_pool_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x, *w, *b;
    float *y;
    int64_t ldx, ldy;
    int32_t width, n_prefix, n_suffix, rms;
    float eps;
};

#endif
