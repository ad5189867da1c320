/* embedding.h - rows of a table by token id, optionally scaled. */
#ifndef BI_EMBEDDING_PARAMS_H
#define BI_EMBEDDING_PARAMS_H

#include "counts.h"

/* y[t, :] = table[ids[t], :] * scale[t]; scale NULL = 1. table: [vocab, width]. */
struct bi_embedding_params {
    const struct bi_counts *counts;
    const float *table, *scale;
    const int32_t *ids;
    float *y;
    int64_t ldy, rows;
    int32_t axis, width, vocab;
};

#endif
