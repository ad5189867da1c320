/* rope_table.h - cosine and sine of position times frequency. */
#ifndef BI_ROPE_TABLE_PARAMS_H
#define BI_ROPE_TABLE_PARAMS_H

#include "counts.h"

/* y: [rows, 2 n]: y[p, i] = cos(p f_i), y[p, n + i] = sin(p f_i), i < n. The product is taken
 * in float32, as the references do, then cosf and sinf. */
struct bi_rope_table_params {
    const struct bi_counts *counts;
    const float *inv_freq;
    float *y;
    int64_t rows;
    int32_t n;
};

#endif
