/* halves.h - a float32 operand as two float16 terms, for products near float32. */
#ifndef BI_HALVES_PARAMS_H
#define BI_HALVES_PARAMS_H

#include "counts.h"

/* y [rows, 3 width] = [high | low | high / 2048], high = x rounded to float16, low = x - high
 * rounded to float16. Beside w as [high | high | 2048 low] the product is
 *   x w = high high + low high + high low
 * which leaves out a part in 2^22. The factor keeps the low terms of weights above what some
 * matrix units take for zero. A float32 y holds the same numbers. */
enum { BI_HALVES_TERMS = 3, BI_HALVES_SCALE = 2048 };

struct bi_halves_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, rows;
    int32_t axis, width;
};

#endif
