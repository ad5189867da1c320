/* align_vbmi.c - many pairs in 8-bit lanes whose S2 come from tables in registers, not from
 * profiles (align_many.h): AVX-512 with VBMI. */
#include "align.h"
#include "entries.h"
#include "lanes.h"

#define LANES_LOOKUP 1
#define LANE 8
#include "align_lanes.h"

/* A bit for each code of these sequences: seen[k] has those of codes 8 k to 8 k + 7. */
static uint32_t letters_of(const uint8_t *const *sequence, const int64_t *length, int32_t n)
{
#define BITS(at) [at] = 1, 2, 4, 8, 16, 32, 64, 128
    static const uint8_t bits[4][64] = {{BITS(0)}, {BITS(8)}, {BITS(16)}, {BITS(24)}};
#undef BITS
    v8 bit[4], seen[4];
    uint32_t used = 0;
    for (int k = 0; k < 4; k++) {
        bit[k] = v8_load(bits[k]);
        seen[k] = v8_set1(0);
    }
    for (int32_t l = 0; l < n; l++)
        for (int64_t at = 0; at < length[l]; at += W8) {
            const int64_t left = length[l] - at;
            const __mmask64 some = left < W8 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
            const v8 code = _mm512_maskz_loadu_epi8(some, sequence[l] + at);
            for (int k = 0; k < 4; k++)
                seen[k] = v8_or(seen[k], _mm512_maskz_permutexvar_epi8(some, code, bit[k]));
        }
    for (int k = 0; k < 4; k++) {
        uint64_t all = (uint64_t)_mm512_reduce_or_epi64(seen[k]);
        all |= all >> 32;
        all |= all >> 16;
        used |= (uint32_t)((all | all >> 8) & 0xff) << (8 * k);
    }
    return used;
}

/* Whether so many letters fit the tables of many8(). */
static bool is_few(const struct bi_align_many *a)
{
    const int letters = __builtin_popcount(a->used);
    return letters <= MANY_SQUARE || (letters <= MANY_TRIANGLE && a->symmetric);
}

/* Whether what many8() compares, and keeps, fits signed bytes: down to M - g, which is -3 g at
 * least, up to U - g, where U is H[i][j] - H[i-1][j] + o and one more residue of the query may
 * bring max(S) and spare a gap of one. */
static bool is_small(const struct bi_align_many *a)
{
    const uint8_t *s2 = a->table;
    const int gap = a->open - a->extend;
    int high = 0;
    for (int t = 0; t < a->letters; t++)
        for (int q = 0; q < a->letters; q++)
            high = s2[t * BI_ALIGN_LETTERS + q] > high ? s2[t * BI_ALIGN_LETTERS + q] : high;
    return 3 * gap <= 128 && high - gap <= 127;
}

bool bi_cpu_align_many_vbmi(struct bi_align_many *a)
{
    if (a->kind == BI_ALIGN_TWO || !is_small(a))
        return false;
    if (!is_few(a)) /* all pairs of a call together may have more than these have */
        a->used = letters_of(a->query, a->n, a->n_pairs) | letters_of(a->target, a->m, a->n_pairs);
    if (!is_few(a))
        return false;
    many8(a);
    return true;
}
