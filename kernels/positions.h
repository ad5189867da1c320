/* positions.h - a learned row for every place in a sequence. */
#ifndef BI_POSITIONS_PARAMS_H
#define BI_POSITIONS_PARAMS_H

#include "counts.h"

/* y[t, :] = table[first + t - start of t's sequence, :]; the host checks that there are rows. */
struct bi_positions_params {
    const struct bi_counts *counts;
    const int32_t *start;
    const float *table;
    float *y;
    int64_t ldy;
    int32_t width, first;
};

#endif
