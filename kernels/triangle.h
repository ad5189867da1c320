/* triangle.h - products of the rows of two grids, channel by channel: what the edges (i, k) and
 * (j, k) of triangles say of the edge (i, j). */
#ifndef BI_TRIANGLE_PARAMS_H
#define BI_TRIANGLE_PARAMS_H

#include "grids.h"

/* For each channel c and each pair (i, j) of a sequence of n tokens (grids.h):
 *   y[i n + j, c] = sum over k of a[i n + k, c] b[j n + k, c]
 *   incoming:       sum over k of a[k n + i, c] b[k n + j, c]
 * a, b, y: [rows, width]; a and b both float32 or both float16, y float32.
 * A sum is one chain of fused multiply-adds in float32, from 0, for k = 0, 1, ..., n - 1. So a row
 * has the same bits in whatever part of y it is computed, of rows or of channels. */
struct bi_triangle_params {
    const struct bi_counts *counts;
    const int32_t *grid_start; /* [n_seqs + 1] */
    const float *a, *b;
    float *y;
    int64_t lda, ldb, ldy, rows;
    int32_t width, incoming;
};

/* Finds the row of the edge that triangle k has at place i, counted from the first of its grid. */
static inline int64_t bi_triangle_row(const struct bi_triangle_params *p, int64_t n, int64_t i,
                                      int64_t k)
{
    return p->incoming ? k * n + i : i * n + k;
}

#endif
