/* grids.h - values of all pairs of n places: row i n + j of a grid is the pair (i, j). Several
 * grids lie one behind the other. */
#ifndef BI_GRIDS_PARAMS_H
#define BI_GRIDS_PARAMS_H

#include "counts.h"

/* y[i n + j] = (x[i n + j] + x[j n + i]) / 2 in each grid.   x, y: [rows, width] */
struct bi_symmetrise_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows; /* a multiple of n n */
    int32_t width, n;
};

/* y[i n + j] = x[i n + j] + a[i] + b[j] in each grid.   x, y: [rows, width]; a, b: [rows / n,
 * width] */
struct bi_outer_add_params {
    const struct bi_counts *counts;
    const float *x, *a, *b;
    float *y;
    int64_t ldx, lda, ldb, ldy, rows;
    int32_t width, n;
};

/* Logits of pairs by content and by distance, for each head h of n_heads:
 *   y[i n + j, h] = s[i, h n + j] + (p[i, h m + c(j - i)] + q[j, h m + c(i - j)]) / 2
 * s: [rows / n, n_heads n]; p, q: [rows / n, n_heads m], m = 2 n_edges + 1; y: [rows, n_heads].
 * c(d) = n_edges + sign(d) k is the class of a distance: k of the n_edges ascending `edges` are at
 * most |d|. */
struct bi_grid_logits_params {
    const struct bi_counts *counts;
    const float *s, *p, *q, *edges;
    float *y;
    int64_t lds, ldp, ldq, ldy, rows;
    int32_t n, n_heads, n_edges;
};

/* The class of a distance, 0 to 2 n_edges: n_edges + k for one above 0 with k of the ascending
 * edges at or below it, n_edges - k for one below 0 with k of them at or below its absolute value,
 * n_edges for 0. */
static inline int bi_grid_class(const float *edges, int n_edges, int64_t distance)
{
    const int64_t far = distance < 0 ? -distance : distance;
    int k = 0;
    while (k < n_edges && edges[k] <= (float)far)
        k++;
    return n_edges + (distance < 0 ? -k : distance ? k : 0);
}

/* y[r, h m + i] = the dot product of head h of x[r] and head h of w[i], in each of `blocks` that
 * the rows of x and of w are cut into.   x: [rows, n_heads d], w: [blocks m, n_heads d], y: [rows,
 * n_heads m] */
struct bi_head_products_params {
    const struct bi_counts *counts;
    const float *x, *w;
    float *y;
    int64_t ldx, ldw, ldy, rows, m;
    int32_t blocks, n_heads, d;
};

#endif
