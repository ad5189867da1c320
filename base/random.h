/* random.h - streams of random numbers: our own, and generators that PyTorch's are made of.
 *
 *   BI_RNG_NATIVE     Philox4x32-10, addressed by what a number is for (stream, sample, position),
 *                     so that neither batches nor the order of records nor threads show
 *   BI_RNG_TORCH      PyTorch's CPU generator (mt19937) and its randn and exponential_ as builds
 *                     without MKL's exponentials have them (up to 1.12, from 2.5, without MKL)
 *   BI_RNG_TORCH_MKL  the same with MKL's exponentials (1.13 to 2.4 with MKL)
 *   BI_RNG_TORCH_CUDA PyTorch's CUDA generator */
#ifndef BI_RANDOM_H
#define BI_RANDOM_H

#include "base.h"

enum bi_rng { BI_RNG_NATIVE, BI_RNG_TORCH, BI_RNG_TORCH_MKL, BI_RNG_TORCH_CUDA };

/* A stream of random numbers; bi_random_start() fills it. */
struct bi_random {
    enum bi_rng kind;
    uint64_t seed;
    uint32_t state[624];
    int at;
    bool has_spare; /* randn of fewer than 16 keeps one */
    double spare;
    uint64_t offset; /* CUDA's counter */
};

/* Fills *r, for numbers from the first one on; mt19937 takes the lower 32 bits of the seed. skip:
 * 32-bit numbers given away before the first is used (TORCH and TORCH_MKL; others ignore it). */
void bi_random_start(struct bi_random *r, enum bi_rng kind, uint64_t seed, uint64_t skip);
/* The next 32 bits of mt19937, as r of any kind has it, once started. */
uint32_t bi_mt19937(struct bi_random *r);

/* NATIVE: one number of its own place, the same whenever it is asked for; r is only read. normal:
 * of mean 0 and variance 1; exponential: of mean 1, above 0. */
double bi_random_normal_at(const struct bi_random *r, uint32_t stream, uint32_t sample,
                           uint32_t index);
double bi_random_exponential_at(const struct bi_random *r, uint32_t stream, uint32_t sample,
                                uint32_t index);
/* Philox4x32-10: four random words for each key and counter; out may be the counter. */
void bi_philox(uint64_t key, const uint32_t counter[4], uint32_t out[4]);

#endif
