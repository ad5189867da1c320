/* rel_attention_grad.h - derivatives of attention with relative positions (rel_attention.h). */
#ifndef BI_REL_ATTENTION_GRAD_PARAMS_H
#define BI_REL_ATTENTION_GRAD_PARAMS_H

#include "counts.h"

/* The widest heads of keys and of values. */
enum { BI_REL_GRAD_KEY = 128, BI_REL_GRAD_VALUE = 256 };

/* q, k, v, r, u, w, first and scale as in rel_attention.h, which gives logits z[h, i, j]; dy is the
 * derivative of a result by y: [n_queries, n_heads * value_dim]. With
 *   p[h, i, j] = e^(z - top[h, i]) inverse[h, i], the weights,
 *   t[h, i, j] = p (dy[i, h] . v[j, h] - mean[h, i])
 * the derivatives are
 *   dq[i, h] = scale sum_j t (k[j, h] + r[n-1-i+j, h])
 *   dk[j, h] = sum_i t (scale q[i, h] + u[h]),  dv[j, h] = sum_i p dy[i, h]
 * sums: [n_queries, 3 n_heads], top, inverse and mean of each head: the largest logit, 1 / the sum
 * of the exponentials, and sum_j p dy . v.
 * rel_attention_grad writes dq and sums; rel_attention_grad_keys reads sums and writes dk and dv.
 * Neither keeps the weights: they are computed again. r, u and w have no derivative here. */
struct bi_rel_attention_grad_params {
    const struct bi_counts *counts;
    const float *q, *k, *v, *r, *u, *w, *dy;
    float *dq, *sums;
    int64_t ldq, ldk, ldv, ldr, lddy, lddq, lds;
    int32_t n, first, n_queries, n_heads, key_dim, value_dim, n_windows;
    float scale;
};

struct bi_rel_attention_grad_keys_params {
    const struct bi_counts *counts;
    const float *q, *k, *v, *r, *u, *w, *dy, *sums;
    float *dk, *dv;
    int64_t ldq, ldk, ldv, ldr, lddy, lds, lddk, lddv;
    int32_t n, first, n_queries, n_heads, key_dim, value_dim, n_windows;
    float scale;
};

#endif
