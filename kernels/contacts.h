/* contacts.h - attention maps to contact logits, one layer. */
#ifndef BI_CONTACTS_PARAMS_H
#define BI_CONTACTS_PARAMS_H

#include "counts.h"

/* Per sequence with n residues (tokens without n_prefix first and n_suffix last ones) and per
 * head, A = the softmax map over residues only: M = A + A^T, r = row sums of M, t = sum of r,
 * F = M - r r^T / t. y[i, j] = before[i, j] + sum_h w[h] F_h[i, j], heads in order.
 * y, before: [tokens, longest] with row stride ldy / ldb; row of residue i is token
 * start + n_prefix + i, column j is residue j. Other entries of y are zero. before may be
 * NULL (zeros). w: [n_heads].
 *
 * sums: [tokens, 2 n_heads], memory of kernels that work in several launches; undefined afterwards.
 *
 * contacts: p as in attention.h. attention_contacts: computes the maps itself, one head at a
 * time, so that no [heads, tokens, tokens] is ever stored. */
struct bi_contacts_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *p, *w, *before;
    float *y, *sums;
    int64_t ldp, ldh, ldb, ldy;
    int32_t n_heads, n_prefix, n_suffix;
};

struct bi_attention_contacts_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *q, *k, *table, *w, *before;
    float *y, *sums;
    int64_t ldq, ldk, ldb, ldy;
    int32_t n_heads, head_dim, n_prefix, n_suffix;
    float scale;
};

#endif
