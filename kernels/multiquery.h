/* multiquery.h - attention of which all heads share keys and values, within runs of rows. */
#ifndef BI_MULTIQUERY_PARAMS_H
#define BI_MULTIQUERY_PARAMS_H

#include "counts.h"

/* The widest heads of keys and of values; and of keys for GPU kernels whose names do not end in
 * wide_f32. */
enum { BI_MULTIQUERY_KEY = 192, BI_MULTIQUERY_VALUE = 256, BI_MULTIQUERY_KEY_GPU = 128 };

/* Rows [w n, w n + n) of q [rows, n_heads d], k [rows, d], v [rows, e] are a sequence:
 *   z[h, i, j] = scale (q'[i, h] . k'[j]) + bias[(i / pool) side + j / pool, h]
 *   y[i, h e ... h e + e - 1] = sum_j softmax_j(cap tanh(z[h, i, j] / cap)) v[j]
 * table [n, d] or NULL: q' and k' are q and k rotated to their place in the sequence (rope.h).
 * bias [rows / n side side, n_heads] or NULL, side = n / pool. cap 0: softmax_j(z[h, i, j]).
 * y: [rows, n_heads e] */
struct bi_multiquery_params {
    const struct bi_counts *counts;
    const float *q, *k, *v, *table, *bias;
    float *y;
    int64_t ldq, ldk, ldv, ldb, ldy, rows;
    int32_t n, n_heads, d, e, pool;
    float scale, cap;
};

#endif
