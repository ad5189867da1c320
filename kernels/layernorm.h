/* layernorm.h - y = (x - mean) / sqrt(var + eps) * w + b over the last dimension, or, with rms,
 * y = x / sqrt(mean of squares + eps) * w. */
#ifndef BI_LAYERNORM_PARAMS_H
#define BI_LAYERNORM_PARAMS_H

#include "counts.h"

/* Biased variance, two passes (mean first), sums in an order fixed by the width. With
 * `add` not NULL, sum = x + add is written to `sum` first and normalised instead of x.
 * y and sum may not overlap x. b NULL = none.
 * groups > 1: a row is so many parts of width elements, each normalised for itself; w and b are
 * [groups * width] (queries and keys side by side). Not with add.
 * copy not NULL: y is also written there, in float16 on devices with matrix units (the stream
 * and the operand of the next product), else in float32. Not with groups.
 * table not NULL: each part is heads of head_dim, a power of two from 16 to 128, that are rotated
 * by the position of their token before they are rounded (rope.h); start as there. On a GPU only,
 * with groups. */
struct bi_layernorm_params {
    const struct bi_counts *counts;
    const float *x, *add, *w, *b;
    float *y, *sum;
    void *copy;
    int64_t ldx, lda, ldy, lds, ldc, rows;
    int32_t axis, width, groups, rms; /* groups 0 = 1 */
    float eps;
    int32_t head_dim;
    const float *table;
    const int32_t *start;
};

/* On a GPU a block has eight rows at a time. There are at most so many blocks; where rows are more,
 * they go through them with the weights at hand. */
enum { BI_LAYERNORM_BLOCKS = 512 };

#endif
