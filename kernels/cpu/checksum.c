/* checksum.c - the sums of checksum.h. Whole numbers, so every instruction set gives the same. */
#include "../checksum.h"

#include <string.h>

#include "entries.h"

struct sums {
    uint64_t products, pairs;
};

#if BI_ISA_ID == BI_ISA_ID_avx512
#define LOAD(p) _mm512_loadu_si512(p)
#define ADD32 _mm512_add_epi32
#define ADD64 _mm512_add_epi64
#define MUL _mm512_mul_epu32
#define ODD(v) _mm512_srli_epi64(v, 32)
#define NONE _mm512_setzero_si512()
#elif BI_ISA_ID == BI_ISA_ID_avx2
#define LOAD(p) _mm256_loadu_si256((const vi *)(p))
#define ADD32 _mm256_add_epi32
#define ADD64 _mm256_add_epi64
#define MUL _mm256_mul_epu32
#define ODD(v) _mm256_srli_epi64(v, 32)
#define NONE _mm256_setzero_si256()
#endif

static void add_pair(struct sums *s, uint32_t even, uint32_t odd)
{
    s->products += (uint64_t)even * odd;
    s->pairs += even + ((uint64_t)odd << 32);
}

/* n elements of one block, from an even place on. */
static struct sums sum_block(const uint32_t *key, const float *x, int64_t n)
{
    struct sums s = {0, 0};
    uint32_t w[2];
    int64_t i = 0;
#ifdef LOAD
    uint64_t lanes[2][VW / 2];
    vi products = NONE, pairs = NONE;
    for (; i + VW <= n; i += VW) {
        vi v = ADD32(LOAD(x + i), LOAD(key + i));
        products = ADD64(products, MUL(v, ODD(v)));
        pairs = ADD64(pairs, v);
    }
    memcpy(lanes[0], &products, sizeof lanes[0]);
    memcpy(lanes[1], &pairs, sizeof lanes[1]);
    for (int l = 0; l < VW / 2; l++) {
        s.products += lanes[0][l];
        s.pairs += lanes[1][l];
    }
#endif
    for (; i + 2 <= n; i += 2) {
        memcpy(w, x + i, sizeof w);
        add_pair(&s, w[0] + key[i], w[1] + key[i + 1]);
    }
    if (i < n) {
        memcpy(w, x + i, sizeof w[0]);
        add_pair(&s, w[0] + key[i], key[i + 1]);
    }
    return s;
}

/* n elements from place `first` of the list, an even one. */
static void add_list(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                     int64_t first, int64_t n)
{
    while (n > 0) {
        const int64_t at = first % BI_CHECKSUM_BLOCK;
        const int64_t run = n < BI_CHECKSUM_BLOCK - at ? n : BI_CHECKSUM_BLOCK - at;
        const struct sums s = sum_block(keys->key + at, x, run);
        uint64_t factor[2];
        bi_checksum_factors((uint64_t)(first / BI_CHECKSUM_BLOCK), factor);
        sum[0] += s.products * factor[0];
        sum[1] += s.pairs * factor[1];
        x += run;
        first += run;
        n -= run;
    }
}

void BI_ISA_NAME(checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                           int64_t first, int64_t rows, int64_t width)
{
    if (width % 2 == 0) {
        add_list(sum, keys, x, first * width, rows * width);
        return;
    }
    for (int64_t r = 0; r < rows; r++)
        add_list(sum, keys, x + r * width, (first + r) * (width + 1), width);
}
