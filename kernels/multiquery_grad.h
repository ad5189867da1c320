/* multiquery_grad.h - derivatives of attention of which all heads share keys and values. */
#ifndef BI_MULTIQUERY_GRAD_PARAMS_H
#define BI_MULTIQUERY_GRAD_PARAMS_H

#include "multiquery.h"

enum { BI_MULTIQUERY_GRAD_POOL = 128 }; /* rows of a place of the bias at most */

/* The member `of` has what multiquery.h computes y from, which is not read; dy is the derivative
 * of a result by y: [rows, n_heads e]. With l[h, i, j] = cap tanh(z / cap) or z, and
 *   p[h, i, j] = e^(l - top[i, h]) inverse[i, h], the weights,
 *   t[h, i, j] = p (dy[i, h] . v[j] - mean[i, h]) (1 - (l / cap)^2), the last factor 1 without cap,
 * the derivatives are
 *   dq'[i, h] = scale sum_j t k'[j]
 *   dk'[j] = scale sum_h sum_i t q'[i, h],  dv[j] = sum_h sum_i p dy[i, h]
 *   dbias[I side + J, h] = the sum of t over the rows i of I and the rows j of J
 * where dq and dk are dq' and dk' rotated back, by the transposed rotation.
 * sums [rows, 3 n_heads]: top, inverse and mean of each head: the largest l, 1 / the sum of the
 * exponentials, and sum_j p dy . v.
 * multiquery_grad writes dq and sums; multiquery_grad_keys reads sums and writes dk and dv;
 * multiquery_grad_bias reads sums and writes dbias. What an entry does not write is NULL. None
 * keeps the weights: they are computed again. */
struct bi_multiquery_grad_params {
    struct bi_multiquery_params of;
    const float *dy;
    float *sums, *dq, *dk, *dv, *dbias;
    int64_t lddy, lds, lddq, lddk, lddv, lddb;
};

#define bi_multiquery_grad_keys_params bi_multiquery_grad_params
#define bi_multiquery_grad_bias_params bi_multiquery_grad_params

#endif
