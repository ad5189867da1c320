/* embedding_windows.h - table rows of the ids around every place, side by side. */
#ifndef BI_EMBEDDING_WINDOWS_PARAMS_H
#define BI_EMBEDDING_WINDOWS_PARAMS_H

#include "counts.h"

/* y[r, t width + c] = table[ids[r + t - pad], c], 0 where that is none of the n ids.
 * table: [vocab, width], ids: [n], y: [rows, taps width], rows = n + 2 pad - taps + 1. */
struct bi_embedding_windows_params {
    const struct bi_counts *counts;
    const float *table;
    const int32_t *ids;
    float *y;
    int64_t ldy, rows, n;
    int32_t axis, width, taps, pad, vocab;
};

/* Threads that a GPU gives to a row of so many columns, for four of them at a time. */
#define BI_EMBEDDING_WINDOWS_LANES(columns)                                                        \
    ((columns) > 64   ? 32                                                                         \
     : (columns) > 32 ? 16                                                                         \
     : (columns) > 16 ? 8                                                                          \
     : (columns) > 8  ? 4                                                                          \
     : (columns) > 4  ? 2                                                                          \
                      : 1)

#endif
