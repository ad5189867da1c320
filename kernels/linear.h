/* linear.h - y = act(x w^T + bias) + residual, rows independent of each other. */
#ifndef BI_LINEAR_PARAMS_H
#define BI_LINEAR_PARAMS_H

#include "counts.h"

/* gelu: by erf; gelu_tanh: z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3))); silu: z / (1 + e^-z) */
enum bi_act { BI_ACT_NONE, BI_ACT_GELU, BI_ACT_RELU, BI_ACT_SILU, BI_ACT_GELU_TANH };

/* Sizes of a twin, see below. */
enum { BI_TWIN_TAPS = 5, BI_TWIN_PRODUCTS = 8 };

/* x: [rows, k] with row stride ldx, y: [rows, n]. w: [n, k], in the layout of the backend
 * (the reference: plain row-major). bias [n] and residual [rows, n] may be NULL; residual is
 * added last. y never overlaps x or residual.
 *
 * gated = b > 0: w is two matrices of h = n / 2 rows, gates and values, b rows of one and b of
 * the other in turn (bi_gate_row), and y [rows, h] = act(x gates^T) * (x values^T). There is no
 * bias and no residual then. The block is the backend's: a kernel takes the one that puts a
 * gate and its value into one thread; b = h is the order of two matrices stacked.
 *
 * table not NULL: columns 0 to n_rotated, heads of head_dim, are rotated last by the position of
 * their row in its sequence (rope.h); only where the backend's caps say that it can, without act,
 * residual and gates.
 *
 * twin: x is windows of five taps, ldx = k / 5, and of an even number of rows; w in the layout of
 * the backend is eight products for two rows (linear_twin.h). Only with `norm` below.
 *
 * What follows between convolutions, one of three, only where the backend's caps say that it can,
 * without act, table and gates; s = x w^T + bias + residual, and what is f16 is so of all of x,
 * odd, also:
 *   norm   scale, shift [n] and also [rows, n] = then(scale s + shift), of s before it is rounded
 *          to y; y may be NULL
 *   pairs  also [rows / 2, n] alone: y[i] = s[2 i + 1] and also[i] = s[2 i] - s[2 i + 1], each
 *          rounded once; rows is even. In place of a residual: more_x [rows, more_k] more_w^T +
 *          more_bias, the residual made again where that is less than to read it
 *   pool   odd [rows, n]: z = odd + x sigmoid(x w^T), which is the pooling (pairs.h) of pairs of
 *          rows given as `pairs` has them; y [rows + 2 pad, n] is then(scale z + shift), or z where
 *          scale is NULL, between pad zero rows on each side; n = k, no bias, no residual, pad <=
 *          rows
 * then: quick_gelu or tanh_gelu of norm_act.h.
 *
 * For gradients, only in float32 and where the backend's caps say that it can, without table, gates
 * and what follows between convolutions: `before` [rows, n] is x w^T + bias, of which y is act;
 * slope [rows, n]: the result is times silu'(slope), before the residual.
 *
 * Every element of y is one chain of fused multiply-adds over k = 0, 1, ..., from 0, whatever
 * the number of rows: so a row gives the same bits in any batch. */
struct bi_linear_params {
    const struct bi_counts *counts;
    const float *x, *bias, *residual;
    const void *w;
    float *y;
    int64_t ldx, ldr, ldy;
    int64_t rows; /* at most; see axis */
    int32_t axis, n, k, act;
    int32_t gated;
    int32_t n_rotated, head_dim;
    const float *table;
    const int32_t *start;
    const float *scale, *shift, *odd;
    float *also;
    int64_t ldo, lda; /* row strides of odd, of also */
    int32_t then, pad;
    const float *more_x, *more_bias;
    const void *more_w;
    int64_t ldm; /* row stride of more_x */
    int32_t more_k, twin;
    const float *slope;
    float *before;
    int64_t ldz, ldb; /* row strides of slope, of before */
};

/* Row r of a gated w, 0 to 2 h - 1, as a row of the two matrices of h rows stacked: below h a gate,
 * else a value. The last block of either may be shorter; block is at least 1. */
static inline int64_t bi_gate_row(int64_t r, int64_t h, int64_t block)
{
    const int64_t first = r / (2 * block) * block, left = h - first < block ? h - first : block;
    const int64_t at = r - 2 * first;
    return at < left ? first + at : h + first + at - left;
}

#endif
