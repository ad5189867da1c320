/* grid_grads.h - derivatives of what makes values of pairs of places (grids.h). */
#ifndef BI_GRID_GRADS_PARAMS_H
#define BI_GRID_GRADS_PARAMS_H

#include "grids.h"

/* The derivatives of head_products: y[r, h m + i] = x[r, head h] . w[i, head h], in each block.
 *   dx[r, h d + c] = sum_i dy[r, h m + i] w[i, h d + c]
 *   turned: dw[i, h d + c] = sum_r dy[r, h m + i] x[r, h d + c], of the rows of its block
 * dy: [rows, n_heads m]; other: w [blocks m, n_heads d], turned: x [rows, n_heads d];
 * dx: [rows, n_heads d], turned: [blocks m, n_heads d] */
struct bi_head_products_grad_params {
    const struct bi_counts *counts;
    const float *dy, *other;
    float *dx;
    int64_t lddy, ldo, lddx, rows, m, out_rows; /* out_rows: of dx */
    int32_t blocks, n_heads, d, turned;
};

/* The derivatives of grid_logits by s, p and q, m = 2 n_edges + 1:
 *   ds[i, h n + j] = dy[i n + j, h]
 *   dp[i, h m + k] = half the sum of dy[i n + j, h] over j where c(j - i) = k
 *   dq[j, h m + k] = half the sum of dy[i n + j, h] over i where c(i - j) = k
 * dy: [rows n, n_heads]; ds: [rows, n_heads n]; dp, dq: [rows, n_heads m] */
struct bi_grid_logits_grad_params {
    const struct bi_counts *counts;
    const float *dy, *edges;
    float *ds, *dp, *dq;
    int64_t lddy, ldds, lddp, lddq, rows;
    int32_t n, n_heads, n_edges;
};

#endif
