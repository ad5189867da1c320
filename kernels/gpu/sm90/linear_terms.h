/* linear_terms.h - the weight of a linear layer as two terms of float16, for products in float32 on
 * Hopper (linear_terms_sm90.cu).
 *
 * Row w, of k columns, is w = 2^q (large + small): 2^-q brings its largest element to 2^14 and
 * more, but below 2^15; large is that rounded to float16, and small the rest, rounded. In memory a
 * row is c numbers of `large`, c of `small`, c being k and zeros up to a multiple of 64, and 16
 * bytes that begin with q, an int32. Every 32 columns stand in the order of bi_terms_place(). */
#ifndef BI_LINEAR_TERMS_H
#define BI_LINEAR_TERMS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    BI_TERMS_SLICE = 64,
    BI_TERMS_LEAST = 256,      /* rows and columns of a weight that is worth it */
    BI_TERMS_LEAST_UNIT = -126 /* so that its inverse is a float, too */
};

/* Is a weight [n, k] multiplied in terms? A smaller one is not worth their tiles. It depends on
 * nothing else, so that a row has the same bits in any company. */
static inline bool bi_terms_fit(int64_t n, int64_t k)
{
    return n >= BI_TERMS_LEAST && k >= BI_TERMS_LEAST;
}

/* Counts the numbers of a term of a row. */
static inline int64_t bi_terms_columns(int64_t k)
{
    return (k + BI_TERMS_SLICE - 1) / BI_TERMS_SLICE * BI_TERMS_SLICE;
}

/* Float16 from one row to the next. */
static inline int64_t bi_terms_stride(int64_t k)
{
    return 2 * bi_terms_columns(k) + 8;
}

/* Where column k stands in a term: of 32 columns a thread has eight neighbours of x, of which it
 * multiplies four at a time. */
static inline int64_t bi_terms_place(int64_t k)
{
    const int64_t thread = k % 32 / 8, step = k % 8 / 4, i = k % 4;
    return k / 32 * 32 + step * 16 + i / 2 * 8 + thread * 2 + i % 2;
}

/* q of a row whose largest magnitude is this: infinity has 114. */
static inline int32_t bi_terms_unit(float largest)
{
    uint32_t bits;
    __builtin_memcpy(&bits, &largest, sizeof bits);
    const int32_t e = (int32_t)(bits >> 23 & 255) - 127 - 14;
    return e < BI_TERMS_LEAST_UNIT ? (int32_t)BI_TERMS_LEAST_UNIT : e;
}

/* 2^q of -126 <= q <= 127. */
static inline float bi_terms_power(int32_t q)
{
    const uint32_t bits = (uint32_t)(127 + q) << 23;
    float power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return power;
}

#endif
