/* tensor_mix.h - products of matrices of atoms (tensor_map.h) with a weight for each of their three
 * parts, which mix channels: three linear layers in one launch. */
#ifndef BI_TENSOR_MIX_PARAMS_H
#define BI_TENSOR_MIX_PARAMS_H

#include "linear.h"

/* y_k = x_k w_k^T + residual_k, bit for bit as linear layers have it (linear.h). x: [N, k],
 * [3 N, k], [5 N, k], y and residual, which may be NULL, as many rows of n numbers; dense. */
struct bi_tensor_mix_params {
    const struct bi_counts *counts;
    const float *x[3], *residual[3];
    const void *w[3]; /* [n, k] each, in the layout of the backend */
    float *y[3];
    int64_t rows; /* atoms, by BI_AXIS_TOKENS */
    int32_t n, k;
};

/* Part 0, 1 or 2 as a linear layer, without bias and act: its rows are 1, 3 or 5 times those of p
 * and follow the counts of its own axis. */
static inline struct bi_linear_params bi_tensor_mix_part(const struct bi_tensor_mix_params *p,
                                                         int part)
{
    struct bi_linear_params l;
    __builtin_memset(&l, 0, sizeof l);
    l.counts = p->counts;
    l.x = part == 0 ? p->x[0] : part == 1 ? p->x[1] : p->x[2];
    l.residual = part == 0 ? p->residual[0] : part == 1 ? p->residual[1] : p->residual[2];
    l.w = part == 0 ? p->w[0] : part == 1 ? p->w[1] : p->w[2];
    l.y = part == 0 ? p->y[0] : part == 1 ? p->y[1] : p->y[2];
    l.ldx = p->k;
    l.ldr = l.ldy = p->n;
    l.rows = (2 * part + 1) * p->rows;
    l.axis = part == 0 ? BI_AXIS_TOKENS : part == 1 ? BI_AXIS_VECTORS : BI_AXIS_TENSORS;
    l.n = p->n;
    l.k = p->k;
    return l;
}

#endif
