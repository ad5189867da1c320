/* attention.h - softmax(scale q k^T) v within each sequence, and its parts. */
#ifndef BI_ATTENTION_PARAMS_H
#define BI_ATTENTION_PARAMS_H

#include "grids.h"

/* q, k, v, y: [rows, n_heads * head_dim], each with its row stride. `axis` counts rows and `seqs`
 * sequences: tokens (TOKENS, SEQS), or rows of grids of tokens (GRID, TOKENS), where row i of a
 * grid, the pairs (i, j), is the sequence of token i. table: rotate q and k
 * first (rope.h), NULL = do not. bias: [n_heads, 2 reach + 1], added to the score of query i and
 * key j of a sequence is bias[h, reach + clamp(j - i, -reach, reach)], after the scale; NULL =
 * none. grid_bias: [pairs of tokens, n_heads], the row of the pair (i, j) of the sequence is added
 * likewise, or, where sequences are rows of a grid, of the grid, as all its rows share it; NULL =
 * none, and only one of the two biases is given. Key tiles count from the start of the own
 * sequence, so a row gives the same bits in any batch.
 *
 * Parts, for graphs that want the maps themselves:
 *   scores:  p[t, h, j] = scale * q[t, h, :] . k[start + j, h, :]    j < length of the sequence
 *   relative_bias: y[t, h, j] = p[t, h, j] + bias[h, reach + clamp(j - (t - start), ...)]
 *   grid_bias:     y[t, h, j] = p[t, h, j] + bias[pair (t - start, j), h]
 *   softmax: over j < length, in place allowed; p[t, h, j] = 0 for j >= length
 *   mix:     y[t, h, :] = sum_j p[t, h, j] v[start + j, h, :]
 * p: [rows, n_heads, longest] with ldp = n_heads * longest_of_the_plan between rows and
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
    const float *bias, *grid_bias;
    int64_t ldgb;              /* from a pair to the next */
    const int32_t *grid_start; /* [n_seqs + 1]; read with grid_bias alone */
    int32_t axis, seqs;        /* they count rows, and sequences */
};

/* Finds the first row of the grid that biases a sequence, given its number and its first row. */
static inline int64_t bi_bias_grid(const struct bi_counts *counts, const int32_t *grid_start,
                                   int axis, int64_t seq, int64_t first)
{
    return axis == BI_AXIS_GRID ? bi_grid_row_of(counts, grid_start, first).grid : grid_start[seq];
}

struct bi_grid_bias_params {
    const struct bi_counts *counts;
    const int32_t *start, *grid_start;
    const float *x, *bias; /* bias: [pairs of tokens, n_heads] */
    float *p;
    int64_t ldp, ldh, ldb;
    int32_t n_heads;
    int32_t axis, seqs; /* they count rows, and sequences */
};

struct bi_relative_bias_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x, *bias;
    float *p;
    int64_t ldp, ldh;
    int32_t n_heads, reach;
    int32_t axis, seqs; /* they count rows, and sequences */
};

struct bi_scores_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *q, *k;
    float *p;
    int64_t ldq, ldk, ldp, ldh;
    int32_t n_heads, head_dim;
    float scale;
    int32_t axis, seqs; /* they count rows, and sequences */
};

struct bi_softmax_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x;
    float *p;
    int64_t ldp, ldh;
    int32_t n_heads;
    int32_t axis, seqs; /* they count rows, and sequences */
};

struct bi_mix_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *p, *v;
    float *y;
    int64_t ldp, ldh, ldv, ldy;
    int32_t n_heads, head_dim;
    int32_t axis, seqs; /* they count rows, and sequences */
};

#endif
