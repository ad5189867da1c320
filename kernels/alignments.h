/* alignments.h - rows of alignments, and what they and pairs of tokens say of each other.
 *
 * A sequence of n tokens has an alignment of d rows, the first of which is the sequence itself. Its
 * n d values stand token by token: row aligned_start + i d + s is row s at token i. */
#ifndef BI_ALIGNMENTS_PARAMS_H
#define BI_ALIGNMENTS_PARAMS_H

#include "grids.h"

/* Where the sequences' tokens, pairs and aligned rows begin: [n_seqs + 1] each. */
struct bi_aligned_starts {
    const int32_t *token, *grid, *aligned;
};

/* A sequence: where its tokens, its pairs and its aligned rows begin; n tokens, d rows at each. */
struct bi_aligned {
    int64_t token, grid, row, n, depth;
};

/* Gives the sequence of row r of what begins at `start`, which is one of the three; of a row after
 * the last one it says nothing. There is a sequence. */
static inline struct bi_aligned bi_aligned_of(const struct bi_counts *counts,
                                              const struct bi_aligned_starts *starts,
                                              const int32_t *start, int64_t r)
{
    struct bi_aligned of = {0, 0, 0, 0, 0};
    int32_t seq = 0;
    for (int32_t end = counts->n_seqs; end - seq > 1;) {
        const int32_t middle = seq + (end - seq) / 2;
        if (start[middle] <= r)
            seq = middle;
        else
            end = middle;
    }
    of.token = starts->token[seq];
    of.grid = starts->grid[seq];
    of.row = starts->aligned[seq];
    of.n = starts->token[seq + 1] - of.token;
    if (of.n)
        of.depth = (starts->aligned[seq + 1] - of.row) / of.n;
    return of;
}

/* y[i n + j, u width_b + v] = sum over s of a[i d + s, u] b[j d + s, v], for the pairs (i, j) of
 * each sequence.   a: [.., width], b: [.., width_b], y: [rows, width width_b]
 * A sum is one chain of fused multiply-adds in float32, from 0, for s = 0, 1, ..., d - 1. */
struct bi_outer_sums_params {
    const struct bi_counts *counts;
    struct bi_aligned_starts starts;
    const float *a, *b;
    float *y;
    int64_t lda, ldb, ldy, rows;
    int32_t width, width_b;
};

/* y[i n + j, c] = exp(x[i n + j, c]) / sum over k of exp(x[i n + k, c]): start [n_tokens + 1] has
 * the first pair of each token.   x, y: [.., width] */
struct bi_pair_softmax_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *x;
    float *y;
    int64_t ldx, ldy;
    int32_t width;
};

/* y[i d + s, h width + c] = sum over j of weight[i n + j, h] v[j d + s, h width + c], for the rows
 * s and tokens i of each sequence.   weight: [.., n_heads], v, y: [rows, n_heads width]
 * A sum is one chain of fused multiply-adds in float32, from 0, for j = 0, 1, ..., n - 1. */
struct bi_pair_average_params {
    const struct bi_counts *counts;
    struct bi_aligned_starts starts;
    const float *weight, *v;
    float *y;
    int64_t ldw, ldv, ldy, rows;
    int32_t n_heads, width;
};

#endif
