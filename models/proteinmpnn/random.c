/* random.c - see random.h. */
#include "random.h"

#include <math.h>

static const double two_pi = 6.283185307179586476925;

/* 53 bits of two numbers, the first of them on top. */
static double next_unit(struct bi_random *r)
{
    uint64_t high = bi_mt19937(r);
    return (double)((high << 32 | bi_mt19937(r)) & 0x1fffffffffffffu) * 0x1p-53;
}

static void transform(float *d) /* 16 uniform numbers to normal ones */
{
    for (int j = 0; j < 8; j++) {
        float radius = sqrtf(-2 * logf(1 - d[j])), angle = (float)(two_pi * (double)d[j + 8]);
        d[j] = radius * cosf(angle);
        d[j + 8] = radius * sinf(angle);
    }
}

static void few_normals(struct bi_random *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double radius, angle, u1;
        if (r->has_spare) {
            r->has_spare = false;
            x[i] = (float)r->spare;
            continue;
        }
        u1 = next_unit(r);
        radius = sqrt(-2 * log1p(-next_unit(r)));
        angle = two_pi * u1;
        r->spare = radius * sin(angle);
        r->has_spare = true;
        x[i] = (float)(radius * cos(angle));
    }
}

/* Words 0 and 1 of an element of CUDA's generator. */
static void cuda_words(const struct bi_random *r, uint64_t index, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)(r->offset / 4), (uint32_t)(r->offset / 4 >> 32),
                                 (uint32_t)index, 0};
    bi_philox(r->seed, counter, out);
}

static void cuda_normals(struct bi_random *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t w[4];
        cuda_words(r, i, w);
        float u = (float)w[0] * 2.3283064e-10f + 2.3283064e-10f / 2;
        float v = (float)w[1] * (2.3283064e-10f * 6.2831855f) + 2.3283064e-10f * 6.2831855f / 2;
        x[i] = sqrtf(-2 * logf(u)) * sinf(v);
    }
    r->offset += 4;
}

void bi_random_normal(struct bi_random *r, float *x, size_t n)
{
    if (r->kind == BI_RNG_TORCH_CUDA) {
        cuda_normals(r, x, n);
        return;
    }
    if (n < 16) {
        few_normals(r, x, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(bi_mt19937(r) & 0xffffffu) * 0x1p-24f;
    for (size_t i = 0; i + 16 <= n; i += 16)
        transform(x + i);
    if (n % 16) {
        for (size_t i = n - 16; i < n; i++)
            x[i] = (float)(bi_mt19937(r) & 0xffffffu) * 0x1p-24f;
        transform(x + n - 16);
    }
}

/* One number of CUDA's generator, in float32 arithmetic or in float64. */
static double cuda_exponential(const uint32_t words[4], bool single)
{
    if (single) {
        float u = (float)words[0] * 2.3283064e-10f + 2.3283064e-10f / 2;
        return u >= 1 - 0x1p-24f ? 0x1p-24 : (double)-logf(u);
    }
    double u = (double)((uint64_t)words[0] ^ (uint64_t)words[1] << 21) * 0x1p-53 + 0x1p-54;
    return u >= 1 - 0x1p-53 ? 0x1p-53 : -log(u);
}

/* The seed of MKL's generator: PyTorch takes 64 bits for a tensor of float64, whose lower half,
 * the second number, is all that MKL keeps. */
static uint64_t mkl_seed(struct bi_random *r, bool single)
{
    uint64_t seed = bi_mt19937(r);
    if (!single)
        seed = bi_mt19937(r);
    seed %= 2147483647u;
    return seed ? seed : 1;
}

/* In float32 a state near the largest is 1 and its logarithm 0: never less than the smallest normal
 * number comes out, as dividing by it must choose its symbol. */
static double mkl_exponential(uint64_t state, bool single)
{
    double x = single ? -log((double)((float)state * 0x1p-31f))
                      : -log((double)state / 2147483647.0);
    return !single ? x : x > 0x1p-126 ? (double)(float)x : 0x1p-126;
}

void bi_random_exponential(struct bi_random *r, double *x, size_t n, bool single)
{
    if (r->kind == BI_RNG_TORCH_CUDA) {
        for (size_t i = 0; i < n; i++) {
            uint32_t w[4];
            cuda_words(r, i, w);
            x[i] = cuda_exponential(w, single);
        }
        r->offset += 4;
    } else if (r->kind == BI_RNG_TORCH_MKL) { /* MKL's MCG31m1, seeded anew by every call */
        uint64_t state = mkl_seed(r, single);
        for (size_t i = 0; i < n; i++) {
            x[i] = mkl_exponential(state, single);
            state = 1132489760u * state % 2147483647u;
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            x[i] = -log1p(-next_unit(r));
            x[i] = single ? (double)(float)x[i] : x[i];
        }
    }
}
