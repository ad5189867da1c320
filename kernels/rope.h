/* rope.h - rotate queries and keys by their position. */
#ifndef BI_ROPE_PARAMS_H
#define BI_ROPE_PARAMS_H

#include "counts.h"

/* x, y: [rows, n_heads * d], d even; p = position of the token in its own sequence, and without
 * `start` place of the row in its run of n rows:
 *   y[i]       = x[i]       cos(p f_i) - x[i + d/2] sin(p f_i)        i < d/2
 *   y[i + d/2] = x[i + d/2] cos(p f_i) + x[i]       sin(p f_i)
 * Pairs are (i, i + d/2), not (2i, 2i + 1). table: see rope_table.h. */
struct bi_rope_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x, *table;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, n_heads, head_dim;
    int32_t n; /* rows of a run, where `start` is NULL */
};

#endif
