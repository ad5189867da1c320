/* rel_attention.h - attention over one sequence with relative positions (Transformer-XL). */
#ifndef BI_REL_ATTENTION_PARAMS_H
#define BI_REL_ATTENTION_PARAMS_H

#include "counts.h"

/* q: [n_queries, n_heads * key_dim], queries of tokens first, first + 1, ...
 * k: [n, n_heads * key_dim], v: [n, n_heads * value_dim], y: [n_queries, n_heads * value_dim]
 * r: [2 n - 1, n_heads * key_dim], row n - 1 + d for keys d behind the query; u, w:
 * [n_heads * key_dim], one row.
 *   logit[h, i, j] = (scale q[i, h] + u[h]) . k[j, h] + (scale q[i, h] + w[h]) . r[n-1-i+j, h]
 *   y[i, h] = sum_j softmax_j(logit) v[j, h]
 * n_windows sequences of n keys and n_queries queries each lie one behind the other.
 * Of r each tile of queries reads the band it meets; the table of all 2 n - 1 relative logits
 * is never made. Only q is scaled. */
struct bi_rel_attention_params {
    const struct bi_counts *counts;
    const float *q, *k, *v, *r, *u, *w;
    float *y;
    int64_t ldq, ldk, ldv, ldr, ldy;
    int32_t n, first, n_queries, n_heads, key_dim, value_dim, n_windows;
    float scale;
};

#endif
