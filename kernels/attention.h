/* attention.h - softmax(scale q k^T) v within each sequence, and its parts. */
#ifndef BI_ATTENTION_PARAMS_H
#define BI_ATTENTION_PARAMS_H

#include "counts.h"

/* q, k, v, y: [tokens, n_heads * head_dim], each with its row stride. table: rotate q and k
 * first (rope.h), NULL = do not. bias: [n_heads, 2 reach + 1], added to the score of query i and
 * key j of a sequence is bias[h, reach + clamp(j - i, -reach, reach)], after the scale; NULL =
 * none. Key tiles count from the start of the own sequence, so a row
 * gives the same bits in any batch.
 *
 * Parts, for graphs that want the maps themselves:
 *   scores:  p[t, h, j] = scale * q[t, h, :] . k[start + j, h, :]    j < length of the sequence
 *   relative_bias: y[t, h, j] = p[t, h, j] + bias[h, reach + clamp(j - (t - start), ...)]
 *   softmax: over j < length, in place allowed; p[t, h, j] = 0 for j >= length
 *   mix:     y[t, h, :] = sum_j p[t, h, j] v[start + j, h, :]
 * p: [tokens, n_heads, longest] with ldp = n_heads * longest_of_the_plan between tokens and
 * ldh = longest_of_the_plan between heads. */
struct bi_attention_params {
    const struct bi_counts *counts;
    const int32_t *start; /* [n_seqs + 1] */
    const float *q, *k, *v, *table;
    float *y;
    int64_t ldq, ldk, ldv, ldy;
    int32_t n_heads, head_dim;
    float scale;
    int32_t reach;
    const float *bias;
};

struct bi_relative_bias_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x, *bias;
    float *p;
    int64_t ldp, ldh;
    int32_t n_heads, reach;
};

struct bi_scores_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *q, *k;
    float *p;
    int64_t ldq, ldk, ldp, ldh;
    int32_t n_heads, head_dim;
    float scale;
};

struct bi_softmax_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x;
    float *p;
    int64_t ldp, ldh;
    int32_t n_heads;
};

struct bi_mix_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *p, *v;
    float *y;
    int64_t ldp, ldh, ldv, ldy;
    int32_t n_heads, head_dim;
};

#endif
