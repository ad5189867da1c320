/* add.h - y = a + b, b of the same shape, one row, or one number. */
#ifndef BI_ADD_PARAMS_H
#define BI_ADD_PARAMS_H

#include "counts.h"

enum bi_broadcast { BI_BROADCAST_NONE, BI_BROADCAST_ROW, BI_BROADCAST_SCALAR };

struct bi_add_params {
    const struct bi_counts *counts;
    const float *a, *b;
    float *y;
    int64_t lda, ldb, ldy, rows;
    int32_t axis, width, broadcast;
};

#endif
