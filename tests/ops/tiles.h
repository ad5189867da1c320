/* tiles.h - one float of a tile instruction and the terms of a float, in plain C and number by
 * number, for tests of kernels/cpu/tile_amx.h and linear_amx.c. */
#ifndef TEST_TILES_H
#define TEST_TILES_H

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float of_bfloat16(uint16_t x)
{
    return float_of((uint32_t)x << 16);
}

/* A denormal number is 0 of the same sign. */
static inline float flushed(float x)
{
    return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/* a b + c rounded once, with denormals flushed before and behind. A result that only rounding to a
 * denormal's coarser places would lift to FLT_MIN counts as denormal, as on the chip. */
static inline float tile_fma(float a, float b, float c)
{
    a = flushed(a), b = flushed(b), c = flushed(c);
    const float sum = fmaf(a, b, c);
    if (fabsf(sum) == FLT_MIN && isfinite(a) && isfinite(b))
        return fabsf(fmaf(ldexpf(a, 60), b, ldexpf(c, 60))) < ldexpf(FLT_MIN, 60)
                   ? copysignf(0, sum)
                   : sum;
    return flushed(sum);
}

/* c + the products of 16 pairs: element [m][n] of TDPBF16PS. a, b: the pairs, b's with a stride. */
static inline float tile_element(float c, const uint16_t *a, const uint16_t *b, int stride)
{
    float even = 0, odd = 0;
    for (int i = 0; i < 16; i++) {
        even = tile_fma(of_bfloat16(a[2 * i]), of_bfloat16(b[i * stride]), even);
        odd = tile_fma(of_bfloat16(a[2 * i + 1]), of_bfloat16(b[i * stride + 1]), odd);
    }
    return flushed(flushed(c) + flushed(even + odd));
}

/* x rounded to bfloat16, to nearest even. */
static inline uint16_t to_bfloat16(float x)
{
    const uint32_t bits = bits_of(flushed(x));
    return (uint16_t)(isnan(x) ? bits >> 16 | 0x40 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The terms of x: each is the rounded rest of those before it. */
static inline void terms_of_float(uint16_t *terms, float x, int n)
{
    for (int t = 0; t < n; t++) {
        terms[t] = to_bfloat16(x);
        x -= of_bfloat16(terms[t]);
    }
}

#endif
