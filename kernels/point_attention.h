/* point_attention.h - attention within each sequence whose queries and keys are also points in
 * space (invariant point attention of AlphaFold 2). */
#ifndef BI_POINT_ATTENTION_PARAMS_H
#define BI_POINT_ATTENTION_PARAMS_H

#include "grids.h"

/* Upper limits of kernels. */
enum {
    BI_POINT_HEAD = 32,   /* C */
    BI_POINT_KEYS = 8,    /* P */
    BI_POINT_VALUES = 64, /* C + 3 V */
    BI_POINT_BINS = 128,
    BI_POINT_PAIR = 128 /* D */
};

/* q, k, v: [T, H C]. points: [T, 3 H P] of queries, more: [T, 3 H (P + V)] of keys and values;
 * columns are all x, then all y, then all z, each by heads, and of `more` by heads P of keys and
 * V of values. They lie in the frame of their residue, frame [T, 7] (rigid.h; NULL: the identity),
 * R_i and t_i, and are moved to space: a_ihp, b_jhp and c_jhp below. w: [H]. start: [S + 1].
 * bias: [G, H] and pair: [G, D] have a row for each pair of tokens, grid_start: [S + 1].
 *   logit[h, i, j] = (3 C)^-1/2 q[i, h] . k[j, h] + 3^-1/2 bias[ij, h]
 *                    - softplus(w[h]) / 2 (27 P / 2)^-1/2 sum_p |a_ihp - b_jhp|^2
 *   W = softmax over the keys j of the sequence
 * A row of y [T, H (C + 4 V + n_bins + D)] is
 *   H C       sum_j W v[j, h]
 *   3 H V     all x, all y, all z of P_ihp = R_i^T (sum_j W c_jhp - t_i)
 *   H V       sqrt(|P_ihp|^2 + eps)
 *   H n_bins  the sum of W over the keys j whose number[j] - number[i] is the bin modulo n_bins
 *   H D       or, where there are values of pairs, sum_j W pair[ij]
 * n_bins 0: number, int32 [T], is not read. bias and pair may each be NULL. Where both are, and
 * where n_bins is not 0, grid_start is NULL. Keys are summed in their order, in tiles counted from
 * the start of the sequence. */
/* Biases of pairs are multiplied by 3^-1/2. */
static const float bi_point_bias_scale = 0.577350269f;

struct bi_point_attention_params {
    const struct bi_counts *counts;
    const float *q, *k, *v, *points, *more, *frame, *w;
    const int32_t *start, *number, *grid_start;
    const float *bias, *pair;
    float *y;
    int64_t ldq, ldk, ldv, ldp, ldm, ldf, ldb, ldz, ldy; /* ldb: of bias, ldz: of pair */
    int32_t n_heads, head_dim, n_keys, n_values, n_bins; /* H C P V */
    int32_t width;                 /* D; 0 where there is no pair, and n_bins is 0 where there is */
    float scale, by_distance, eps; /* (3 C)^-1/2, (27 P / 2)^-1/2 / 2 */
};

#endif
