/* terms_amx.h - products of floats on AMX tiles, each float as the sum of bfloat16 terms.
 *
 * A float32 is the sum of three bfloat16 terms of falling size, x = x1 + x2 + x3, each the rounded
 * rest of those before it, but for what is below 2^-126. Kernels take three terms or two:
 *     fp32     x1 w3 + x1 w2 + x2 w2 + x2 w1 + x3 w1 + x1 w1
 *     bf16x2   x1 w2 + x1 w1 + x2 w1
 * A step is 32 columns of k. For each step the products in this order are added to a sum, by
 * tile_dot() of tile_amx.h; behind k everything is 0. So a sum depends on its row and column
 * alone. */
#ifndef BI_CPU_TERMS_AMX_H
#define BI_CPU_TERMS_AMX_H

#include "cpu.h"
#include "tile_amx.h"

enum {
    MR = 2 * TILE_ROWS,
    NR = 2 * TILE_COLUMNS,
    TERMS_MAX = 3,
    SUMS_STRIDE = NR * (int)sizeof(float)
};
#ifndef AMX_FETCH
#define AMX_FETCH 1 /* operands of the next step are fetched into the level-1 cache */
#endif

/* ---- terms ---- */

/* x rounded to bfloat16, to nearest even; what is denormal is 0, NaN stays. */
BI_INLINE vf round_term(vf x)
{
    const vi bits = vf_bits(x), high = vi_set1((int32_t)0xffff0000);
    const vi odd = vi_and(vi_sar(bits, 16), vi_set1(1));
    const vf rounded = vi_float_bits(vi_and(vi_add(bits, vi_add(odd, vi_set1(0x7fff))), high));
    const vf quiet = vi_float_bits(vi_and(vi_or(bits, vi_set1(0x400000)), high));
    const vf kept = vf_select(vf_lt(vf_abs(x), vf_set1(0x1p-126f)), vf_zero(), rounded);
    return vf_select(vf_ne(x, x), quiet, kept);
}

/* The terms of n <= 32 floats; what is behind them is 0. */
BI_INLINE void split(uint16_t terms[][TILE_K], const float *x, int n, const int n_terms)
{
    for (int at = 0; at < TILE_K; at += VW) {
        const int left = n - at < 0 ? 0 : n - at;
        vf rest = left >= VW ? vf_load(x + at) : left ? vf_load_n(x + at, left) : vf_zero();
        for (int t = 0; t < n_terms; t++) {
            const vf term = round_term(rest);
            float f[VW];
            vf_store(f, term);
            for (int i = 0; i < VW; i++) {
                uint32_t bits;
                memcpy(&bits, f + i, sizeof bits);
                terms[t][at + i] = (uint16_t)(bits >> 16);
            }
            rest = vf_sub(rest, term);
        }
    }
}

/* 32 floats of a row of x into a row of a tile of each term; n of them are there. */
BI_INLINE void pack_step(char *to, int64_t term_stride, const float *x, int n, const int n_terms)
{
#ifdef __AVX512BF16__
    const int low = n < VW ? n : VW;
    vf a = vf_load_n(x, low), b = n > VW ? vf_load_n(x + VW, n - VW) : vf_zero();
    for (int t = 0; t < n_terms; t++) {
        const __m512i term = (__m512i)_mm512_cvtne2ps_pbh(b, a);
        _mm512_storeu_si512(to + t * term_stride, term);
        if (t + 1 == n_terms)
            break;
        a = vf_sub(a,
                   vi_float_bits(vi_shl(_mm512_cvtepu16_epi32(_mm512_castsi512_si256(term)), 16)));
        b = vf_sub(b, vi_float_bits(
                          vi_shl(_mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(term, 1)), 16)));
    }
#else
    uint16_t terms[TERMS_MAX][TILE_K];
    split(terms, x, n, n_terms);
    for (int t = 0; t < n_terms; t++)
        memcpy(to + t * term_stride, terms[t], sizeof terms[t]);
#endif
}

/* Tiles of 16 rows that `rows` rows of x take. */
BI_INLINE int64_t height_of(int64_t rows)
{
    return (rows + TILE_ROWS - 1) / TILE_ROWS;
}

/* Columns [0, k) of at most MR rows into [step][term][height] tiles; missing rows are 0. */
BI_INLINE void pack_rows_of(char *to, const float *x, int64_t ldx, int64_t rows, int64_t k,
                            const int n_terms)
{
    const int64_t height = height_of(rows), term = height * TILE_SIZE;
    for (int64_t r = 0; r < height * TILE_ROWS; r++) {
        char *row = to + r / TILE_ROWS * TILE_SIZE + r % TILE_ROWS * 64;
        for (int64_t i = 0; i < k; i += TILE_K, row += n_terms * term) {
            if (r < rows)
                pack_step(row, term, x + r * ldx + i, k - i < TILE_K ? (int)(k - i) : TILE_K,
                          n_terms);
            else
                for (int t = 0; t < n_terms; t++)
                    memset(row + t * term, 0, 64);
        }
    }
}

/* ---- a tile of rows times a panel ---- */

struct micro {
    const char *a, *b; /* packed rows and panel, at the block of k */
    int64_t b_term;    /* bytes from a term of the panel to the next */
    int64_t steps;
    float *c;  /* [height * 16, NR] */
    bool more; /* go on from the sums in c, else from 0 */
};

/* Registers 0 to 3 are sums, two beside each other and two below them. */
BI_INLINE void zero_sums(struct tiles *tiles, const int height)
{
    tile_zero(tiles, 0);
    tile_zero(tiles, 1);
    if (height > 1) {
        tile_zero(tiles, 2);
        tile_zero(tiles, 3);
    }
}

BI_INLINE void load_sums(struct tiles *tiles, const float *c, const int height)
{
    tile_load(tiles, 0, c, SUMS_STRIDE);
    tile_load(tiles, 1, c + TILE_COLUMNS, SUMS_STRIDE);
    if (height > 1) {
        tile_load(tiles, 2, c + TILE_ROWS * NR, SUMS_STRIDE);
        tile_load(tiles, 3, c + TILE_ROWS * NR + TILE_COLUMNS, SUMS_STRIDE);
    }
}

BI_INLINE void store_sums(struct tiles *tiles, float *c, const int height)
{
    tile_store(tiles, 0, c, SUMS_STRIDE);
    tile_store(tiles, 1, c + TILE_COLUMNS, SUMS_STRIDE);
    if (height > 1) {
        tile_store(tiles, 2, c + TILE_ROWS * NR, SUMS_STRIDE);
        tile_store(tiles, 3, c + TILE_ROWS * NR + TILE_COLUMNS, SUMS_STRIDE);
    }
}

/* One product of terms for each of the sums; x in 4 and 5, w in 6 and 7. */
BI_INLINE void dots(struct tiles *tiles, const int height)
{
    tile_dot(tiles, 0, 4, 6);
    tile_dot(tiles, 1, 4, 7);
    if (height > 1) {
        tile_dot(tiles, 2, 5, 6);
        tile_dot(tiles, 3, 5, 7);
    }
}

BI_INLINE void load_rows(struct tiles *tiles, const char *a, const int height)
{
    tile_load(tiles, 4, a, 64);
    if (height > 1)
        tile_load(tiles, 5, a + TILE_SIZE, 64);
}

BI_INLINE void load_panel(struct tiles *tiles, const char *b)
{
    tile_load(tiles, 6, b, 64);
    tile_load(tiles, 7, b + TILE_SIZE, 64);
}

/* `size` bytes that the next step reads, `ahead` behind those of this one. */
BI_INLINE void fetch(const char *p, const int ahead, const int size)
{
#if AMX_FETCH
#pragma GCC unroll 64
    for (int i = 0; i < size; i += 64)
        __builtin_prefetch(p + ahead + i, 0, 3);
#else
    (void)p;
    (void)ahead;
    (void)size;
#endif
}

BI_INLINE void micro(const struct micro *m, const int height, const int terms, const int w_terms)
{
    const int a_term = height * TILE_SIZE;
    const int64_t b_term = m->b_term;
    const char *a = m->a, *b = m->b;
    struct tiles tiles;
    tiles_see_memory();
    if (m->more)
        load_sums(&tiles, m->c, height);
    else
        zero_sums(&tiles, height);
    for (int64_t i = 0; i < m->steps; i++, a += terms * a_term, b += 2 * TILE_SIZE) {
        load_rows(&tiles, a, height);
        if (w_terms > 2) {
            load_panel(&tiles, b + 2 * b_term);
            dots(&tiles, height); /* x1 w3 */
            fetch(b + 2 * b_term, 2 * TILE_SIZE, 2 * TILE_SIZE);
        }
        if (w_terms > 1) {
            load_panel(&tiles, b + b_term);
            dots(&tiles, height); /* x1 w2 */
            fetch(b + b_term, 2 * TILE_SIZE, 2 * TILE_SIZE);
        }
        if (terms == 2) {
            load_panel(&tiles, b);
            dots(&tiles, height); /* x1 w1 */
            fetch(b, 2 * TILE_SIZE, 2 * TILE_SIZE);
            load_rows(&tiles, a + a_term, height);
            dots(&tiles, height); /* x2 w1 */
            fetch(a, terms * a_term, terms * a_term);
            continue;
        }
        load_rows(&tiles, a + a_term, height);
        if (w_terms > 1)
            dots(&tiles, height); /* x2 w2 */
        load_panel(&tiles, b);
        dots(&tiles, height); /* x2 w1 */
        fetch(b, 2 * TILE_SIZE, 2 * TILE_SIZE);
        load_rows(&tiles, a + 2 * a_term, height);
        dots(&tiles, height); /* x3 w1 */
        fetch(a, terms * a_term, 2 * a_term);
        load_rows(&tiles, a, height);
        dots(&tiles, height); /* x1 w1 */
        fetch(a + 2 * a_term, terms * a_term, a_term);
    }
    store_sums(&tiles, m->c, height);
}

#define MICRO(height, terms, w_terms)                                                              \
    static                                                                                         \
        __attribute__((noinline)) void micro_##height##_##terms##_##w_terms(const struct micro *m) \
    {                                                                                              \
        micro(m, height, terms, w_terms);                                                          \
    }
#define MICROS(height)                                                                             \
    MICRO(height, 2, 1)                                                                            \
    MICRO(height, 2, 2)                                                                            \
    MICRO(height, 3, 1)                                                                            \
    MICRO(height, 3, 2)                                                                            \
    MICRO(height, 3, 3)
MICROS(1)
MICROS(2)

/* By height - 1, terms of x - 2, terms of w - 1. */
static void (*const micro_kernels[2][2][TERMS_MAX])(const struct micro *) = {
    {{micro_1_2_1, micro_1_2_2, NULL}, {micro_1_3_1, micro_1_3_2, micro_1_3_3}},
    {{micro_2_2_1, micro_2_2_2, NULL}, {micro_2_3_1, micro_2_3_2, micro_2_3_3}},
};

/* attention_amx.c, in two and in three terms */
extern const struct bi_cpu_entry BI_ISA_NAME(attention_2_entry);
extern const struct bi_cpu_entry BI_ISA_NAME(attention_3_entry);

#endif
