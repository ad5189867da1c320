/* block_attention.h - attention of blocks of rows to the rows around them, with a bias by pairs. */
#ifndef BI_BLOCK_ATTENTION_PARAMS_H
#define BI_BLOCK_ATTENTION_PARAMS_H

#include "counts.h"

enum {
    BI_BLOCK_QUERIES = 32, /* rows of a block, counted from the first one of their sequence */
    BI_BLOCK_KEYS = 128,   /* places of keys, the block's own rows in their middle */
    BI_BLOCK_BEFORE = (BI_BLOCK_KEYS - BI_BLOCK_QUERIES) / 2,
    BI_BLOCK_HEAD = 64 /* the widest head */
};

/* Heads h of q, k, v, y: [rows, n_heads d]; bias: [BI_BLOCK_KEYS rows, n_heads]. Row i of a
 * sequence has the key that bi_block_key() says at each of its places j where that is a row of the
 * sequence:
 *   y[i, h] = sum_j softmax_j(scale q[i, h] . k[key of j, h] + bias[BI_BLOCK_KEYS i + j, h])
 *             v[key of j, h]
 * where the bias counts i from the first row of all sequences. Rows of the bias that have no key
 * are not read. start: [n_seqs + 1]. */
struct bi_block_attention_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *q, *k, *v, *bias;
    float *y;
    int64_t ldq, ldk, ldv, ldb, ldy, rows;
    int32_t n_heads, head_dim;
    float scale;
};

/* The row at place j of row i, both counted in their sequence: below 0 or from its end on there is
 * none. */
static inline int64_t bi_block_key(int64_t i, int64_t j)
{
    return i / BI_BLOCK_QUERIES * BI_BLOCK_QUERIES - BI_BLOCK_BEFORE + j;
}

#endif
