/* mul.h - y = a * b, element by element. */
#ifndef BI_MUL_PARAMS_H
#define BI_MUL_PARAMS_H

#include "counts.h"

/* a, b, y: [rows, width]. */
struct bi_mul_params {
    const struct bi_counts *counts;
    const float *a, *b;
    float *y;
    int64_t lda, ldb, ldy, rows;
    int32_t axis, width;
};

#endif
