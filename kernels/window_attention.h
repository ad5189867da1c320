/* window_attention.h - attention of each row to the rows of its sequence that are near it. */
#ifndef BI_WINDOW_ATTENTION_PARAMS_H
#define BI_WINDOW_ATTENTION_PARAMS_H

#include "counts.h"

/* Heads h of q, k, v, y: [rows, n_heads d]; rows i and j of one sequence, |i - j| <= reach:
 *   y[i, h] = sum_j softmax_j(scale Q[i, h] . K[j, h]) v[j, h]
 * Q and K are q and k, each head of a row divided by sqrt(mean of its squares + eps), then rotated
 * by the row of the table that has the row's number: d / 2 cosines and as many sines, as rope.h
 * takes them. start: [n_seqs + 1]. */
struct bi_window_attention_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *q, *k, *v, *table;
    float *y;
    int64_t ldq, ldk, ldv, ldt, ldy, rows;
    int32_t n_heads, head_dim, reach;
    float scale, eps;
};

enum { BI_WINDOW_HEAD = 64 }; /* the widest head */

#endif
