/* random.c - see random.h. */
#include "random.h"

#include <math.h>

/* ---- Philox4x32-10 ---- */

void bi_philox(uint64_t key, const uint32_t counter[4], uint32_t out[4])
{
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    for (int i = 0; i < 10; i++) {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        c0 = (uint32_t)(b >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)b;
        c2 = (uint32_t)(a >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* ---- mt19937 ---- */

uint32_t bi_mt19937(struct bi_random *r)
{
    uint32_t y;
    if (r->at == 624) {
        for (int i = 0; i < 624; i++) {
            uint32_t v = (r->state[i] & 0x80000000u) | (r->state[(i + 1) % 624] & 0x7fffffffu);
            r->state[i] = r->state[(i + 397) % 624] ^ v >> 1 ^ (v & 1 ? 0x9908b0dfu : 0);
        }
        r->at = 0;
    }
    y = r->state[r->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

void bi_random_start(struct bi_random *r, enum bi_rng kind, uint64_t seed, uint64_t skip)
{
    *r = (struct bi_random){.kind = kind, .seed = seed, .at = 624};
    r->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < 624; i++)
        r->state[i] = 1812433253u * (r->state[i - 1] ^ r->state[i - 1] >> 30) + i;
    if (kind == BI_RNG_TORCH || kind == BI_RNG_TORCH_MKL)
        while (skip--)
            bi_mt19937(r);
}

static const double two_pi = 6.283185307179586476925;

/* ---- our own ---- */

/* Two numbers in (0, 1). */
static void units_at(const struct bi_random *r, uint32_t stream, uint32_t sample, uint32_t index,
                     double u[2])
{
    const uint32_t counter[4] = {index, sample, stream, 0};
    uint32_t w[4];
    bi_philox(r->seed, counter, w);
    for (int i = 0; i < 2; i++)
        u[i] = ((double)(((uint64_t)w[2 * i] << 32 | w[2 * i + 1]) >> 12) + 0.5) * 0x1p-52;
}

double bi_random_normal_at(const struct bi_random *r, uint32_t stream, uint32_t sample,
                           uint32_t index)
{
    double u[2];
    units_at(r, stream, sample, index, u);
    return sqrt(-2 * log(u[0])) * cos(two_pi * u[1]);
}

double bi_random_exponential_at(const struct bi_random *r, uint32_t stream, uint32_t sample,
                                uint32_t index)
{
    double u[2];
    units_at(r, stream, sample, index, u);
    return -log(u[0]);
}
