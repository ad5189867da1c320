/* lanes.h - one vector of unsigned 8- or 16-bit integers, whatever the instruction set: the
 * integer sibling of simd.h, which says which set compiles.
 *
 *   types       v8: W8 lanes of uint8_t, v16: W16 lanes of uint16_t
 *   both        load store set1 add sub subs (at 0) max or select eq_bit ge_bit shift last
 *   v8 alone    pick32 (a table of 32 bytes), high (is bit 7 of any lane set), turn16 (16 x 16
 *               bytes transposed); the first two where LANES_PICK32. With VBMI pick64, pick128,
 *               pick256 (tables of so many bytes in vectors), max_signed and or_eq(f, a, b, x):
 *               f + x where a = b, else f
 *
 *   subs(a, b)        max(a - b, 0)
 *   select(m, a, b)   a where m is all ones, b where it is 0
 *   load, store       from and to any address
 *   add, sub          modulo 2^8 or 2^16
 *   eq_bit(a, b, x)   x where a = b, else 0; ge_bit: where a >= b
 *   shift(a, b)       lane l is a[l - 1]; lane 0 is the last lane of b
 *   last(a)           the last lane
 *   high(a)           true where bit 7 of any lane is set
 *   pick32(t, i)      lane l is t[i[l]], i below 32; for a larger one it may be anything. pick64
 *                     and its like leave out the high bits of i
 *   gather16(p, at)   bytes [at, at + 16) of p[0], p[16] ..., one for each 16 lanes
 *   zip_low(a, b)     lanes of a and b by turns, of the lower halves of each 16; zip_high: of the
 *                     upper ones
 *
 * Masks, a truth for each lane, are m8 and m16: equal, least (a >= b), of (a vector whose lanes are
 * all ones or 0), all (x in all lanes), and, or, clear (a without b), pick (a where m, else b), add
 * (a + b where m, else a). */
#ifndef BI_LANES_H
#define BI_LANES_H

#include "simd.h"

#if BI_ISA_ID == BI_ISA_ID_avx512

#define W8 64
#define W16 32
typedef __m512i v8;
typedef __m512i v16;

/* clang-format off */
#define LANES_X86(b, type, whole)                                                          \
    BI_INLINE v##b v##b##_load(const void *p) { return _mm512_loadu_si512(p); }            \
    BI_INLINE void v##b##_store(void *p, v##b a) { _mm512_storeu_si512(p, a); }            \
    BI_INLINE v##b v##b##_set1(type x) { return _mm512_set1_epi##b((int##b##_t)x); }       \
    BI_INLINE v##b v##b##_add(v##b a, v##b c) { return _mm512_add_epi##b(a, c); }          \
    BI_INLINE v##b v##b##_sub(v##b a, v##b c) { return _mm512_sub_epi##b(a, c); }          \
    BI_INLINE v##b v##b##_subs(v##b a, v##b c) { return _mm512_subs_epu##b(a, c); }        \
    BI_INLINE v##b v##b##_max(v##b a, v##b c) { return _mm512_max_epu##b(a, c); }          \
    BI_INLINE v##b v##b##_or(v##b a, v##b c) { return _mm512_or_si512(a, c); }             \
    BI_INLINE v##b v##b##_select(v##b m, v##b a, v##b c)                                   \
    {                                                                                      \
        return _mm512_ternarylogic_epi32(m, a, c, 0xca);                                   \
    }                                                                                      \
    BI_INLINE v##b v##b##_eq_bit(v##b a, v##b c, type x)                                   \
    {                                                                                      \
        return _mm512_maskz_set1_epi##b(_mm512_cmpeq_epi##b##_mask(a, c), (int##b##_t)x);  \
    }                                                                                      \
    BI_INLINE v##b v##b##_ge_bit(v##b a, v##b c, type x)                                   \
    {                                                                                      \
        return _mm512_maskz_set1_epi##b(_mm512_cmpge_epu##b##_mask(a, c), (int##b##_t)x);  \
    }                                                                                      \
    BI_INLINE v##b v##b##_shift(v##b a, v##b c)                                            \
    {                                                                                      \
        return _mm512_alignr_epi8(a, _mm512_alignr_epi64(a, c, 6), 16 - b / 8);            \
    }                                                                                      \
    BI_INLINE type v##b##_last(v##b a)                                                     \
    {                                                                                      \
        return (type)_mm_extract_epi##b(_mm512_extracti32x4_epi32(a, 3), 128 / b - 1);     \
    }
LANES_X86(8, uint8_t, 64)
LANES_X86(16, uint16_t, 64)
#undef LANES_X86

typedef __mmask64 m8;
typedef __mmask32 m16;
#define LANES_MASKS(b)                                                                     \
    BI_INLINE m##b m##b##_equal(v##b a, v##b c) { return _mm512_cmpeq_epi##b##_mask(a, c); }   \
    BI_INLINE m##b m##b##_least(v##b a, v##b c) { return _mm512_cmpge_epu##b##_mask(a, c); }   \
    BI_INLINE m##b m##b##_of(v##b a) { return _mm512_movepi##b##_mask(a); }                \
    BI_INLINE m##b m##b##_all(bool x) { return x ? ~(m##b)0 : 0; }                         \
    BI_INLINE m##b m##b##_and(m##b a, m##b c) { return a & c; }                            \
    BI_INLINE m##b m##b##_or(m##b a, m##b c) { return a | c; }                             \
    BI_INLINE m##b m##b##_clear(m##b a, m##b c) { return a & ~c; }                         \
    BI_INLINE v##b m##b##_pick(m##b m, v##b a, v##b c)                                     \
    {                                                                                      \
        return _mm512_mask_blend_epi##b(m, c, a);                                          \
    }                                                                                      \
    BI_INLINE v##b m##b##_add(m##b m, v##b a, v##b c)                                      \
    {                                                                                      \
        return _mm512_mask_add_epi##b(a, m, a, c);                                         \
    }
LANES_MASKS(8)
LANES_MASKS(16)
#undef LANES_MASKS
/* clang-format on */

#define LANES_PICK32 1
/* pick32, high, gather16, zip_low and zip_high: as the list above says. */
BI_INLINE v8 v8_pick32(const uint8_t *table, v8 index)
{
    const v8 low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)table));
    const v8 high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(table + 16)));
    const __mmask64 upper = _mm512_test_epi8_mask(index, _mm512_set1_epi8(16));
    return _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, index), upper, high, index);
}
BI_INLINE bool v8_high(v8 a)
{
    return _mm512_movepi8_mask(a) != 0;
}
/* 16 bytes at `at` from p[0], p[16], p[32], p[48] */
BI_INLINE v8 v8_gather16(const uint8_t *const *p, int64_t at)
{
    v8 a = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(p[0] + at)));
    a = _mm512_mask_broadcast_i32x4(a, 0x00f0, _mm_loadu_si128((const __m128i *)(p[16] + at)));
    a = _mm512_mask_broadcast_i32x4(a, 0x0f00, _mm_loadu_si128((const __m128i *)(p[32] + at)));
    return _mm512_mask_broadcast_i32x4(a, 0xf000, _mm_loadu_si128((const __m128i *)(p[48] + at)));
}
#if defined __AVX512VBMI__ /* tables in registers */
BI_INLINE v8 v8_max_signed(v8 a, v8 b)
{
    return _mm512_max_epi8(a, b);
}
BI_INLINE v8 v8_or_eq(v8 f, v8 a, v8 b, v8 x)
{
    return _mm512_mask_add_epi8(f, _mm512_cmpeq_epi8_mask(a, b), f, x);
}
BI_INLINE v8 v8_pick64(v8 table, v8 index)
{
    return _mm512_permutexvar_epi8(index, table);
}
BI_INLINE v8 v8_pick128(const v8 *table, v8 index)
{
    return _mm512_permutex2var_epi8(table[0], index, table[1]);
}
BI_INLINE v8 v8_pick256(const v8 *table, v8 index)
{
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), v8_pick128(table, index),
                                  v8_pick128(table + 2, index));
}
#endif
BI_INLINE v8 v8_zip_low(v8 a, v8 b)
{
    return _mm512_unpacklo_epi8(a, b);
}
BI_INLINE v8 v8_zip_high(v8 a, v8 b)
{
    return _mm512_unpackhi_epi8(a, b);
}

#elif BI_ISA_ID == BI_ISA_ID_avx2

#define W8 32
#define W16 16
typedef __m256i v8;
typedef __m256i v16;

/* clang-format off */
#define LANES_X86(b, type)                                                                 \
    BI_INLINE v##b v##b##_load(const void *p)                                              \
    {                                                                                      \
        return _mm256_loadu_si256((const __m256i *)p);                                     \
    }                                                                                      \
    BI_INLINE void v##b##_store(void *p, v##b a) { _mm256_storeu_si256((__m256i *)p, a); } \
    BI_INLINE v##b v##b##_add(v##b a, v##b c) { return _mm256_add_epi##b(a, c); }          \
    BI_INLINE v##b v##b##_sub(v##b a, v##b c) { return _mm256_sub_epi##b(a, c); }          \
    BI_INLINE v##b v##b##_subs(v##b a, v##b c) { return _mm256_subs_epu##b(a, c); }        \
    BI_INLINE v##b v##b##_max(v##b a, v##b c) { return _mm256_max_epu##b(a, c); }          \
    BI_INLINE v##b v##b##_or(v##b a, v##b c) { return _mm256_or_si256(a, c); }             \
    BI_INLINE v##b v##b##_select(v##b m, v##b a, v##b c)                                   \
    {                                                                                      \
        return _mm256_blendv_epi8(c, a, m);                                                \
    }                                                                                      \
    BI_INLINE v##b v##b##_and(v##b a, v##b c) { return _mm256_and_si256(a, c); }           \
    BI_INLINE v##b v##b##_equal(v##b a, v##b c) { return _mm256_cmpeq_epi##b(a, c); }      \
    BI_INLINE v##b v##b##_shift(v##b a, v##b c)                                            \
    {                                                                                      \
        return _mm256_alignr_epi8(a, _mm256_permute2x128_si256(c, a, 0x21), 16 - b / 8);   \
    }                                                                                      \
    BI_INLINE type v##b##_last(v##b a)                                                     \
    {                                                                                      \
        return (type)_mm_extract_epi##b(_mm256_extracti128_si256(a, 1), 128 / b - 1);      \
    }
LANES_X86(8, uint8_t)
LANES_X86(16, uint16_t)
#undef LANES_X86
/* clang-format on */
/* set1 and what follows: as the list above says. */
BI_INLINE v8 v8_set1(uint8_t x)
{
    return _mm256_set1_epi8((int8_t)x);
}
BI_INLINE v16 v16_set1(uint16_t x)
{
    return _mm256_set1_epi16((int16_t)x);
}

#define LANES_PICK32 1
/* pick32, high: as the list above says. */
BI_INLINE v8 v8_pick32(const uint8_t *table, v8 index)
{
    const v8 low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)table));
    const v8 high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16)));
    return _mm256_blendv_epi8(_mm256_shuffle_epi8(low, index), _mm256_shuffle_epi8(high, index),
                              _mm256_slli_epi16(index, 3)); /* bit 4 becomes the sign */
}
BI_INLINE bool v8_high(v8 a)
{
    return _mm256_movemask_epi8(a) != 0;
}
/* 16 bytes at `at` from p[0], p[16] */
BI_INLINE v8 v8_gather16(const uint8_t *const *p, int64_t at)
{
    return _mm256_inserti128_si256(
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(p[0] + at))),
        _mm_loadu_si128((const __m128i *)(p[16] + at)), 1);
}
BI_INLINE v8 v8_zip_low(v8 a, v8 b)
{
    return _mm256_unpacklo_epi8(a, b);
}
BI_INLINE v8 v8_zip_high(v8 a, v8 b)
{
    return _mm256_unpackhi_epi8(a, b);
}

#elif BI_ISA_ID == BI_ISA_ID_neon

#define W8 16
#define W16 8
typedef uint8x16_t v8;
typedef uint16x8_t v16;

/* clang-format off */
#define LANES_NEON(b, type, n)                                                             \
    BI_INLINE v##b v##b##_load(const void *p)                                              \
    {                                                                                      \
        return vreinterpretq_u##b##_u8(vld1q_u8((const uint8_t *)p));                      \
    }                                                                                      \
    BI_INLINE void v##b##_store(void *p, v##b a)                                           \
    {                                                                                      \
        vst1q_u8((uint8_t *)p, vreinterpretq_u8_u##b(a));                                  \
    }                                                                                      \
    BI_INLINE v##b v##b##_set1(type x) { return vdupq_n_u##b(x); }                         \
    BI_INLINE v##b v##b##_add(v##b a, v##b c) { return vaddq_u##b(a, c); }                 \
    BI_INLINE v##b v##b##_sub(v##b a, v##b c) { return vsubq_u##b(a, c); }                 \
    BI_INLINE v##b v##b##_subs(v##b a, v##b c) { return vqsubq_u##b(a, c); }               \
    BI_INLINE v##b v##b##_max(v##b a, v##b c) { return vmaxq_u##b(a, c); }                 \
    BI_INLINE v##b v##b##_or(v##b a, v##b c) { return vorrq_u##b(a, c); }                  \
    BI_INLINE v##b v##b##_select(v##b m, v##b a, v##b c) { return vbslq_u##b(m, a, c); }   \
    BI_INLINE v##b v##b##_and(v##b a, v##b c) { return vandq_u##b(a, c); }                 \
    BI_INLINE v##b v##b##_equal(v##b a, v##b c) { return vceqq_u##b(a, c); }               \
    BI_INLINE v##b v##b##_shift(v##b a, v##b c) { return vextq_u##b(c, a, n - 1); }        \
    BI_INLINE type v##b##_last(v##b a) { return vgetq_lane_u##b(a, n - 1); }
#define vreinterpretq_u8_u8(a) (a)
LANES_NEON(8, uint8_t, 16)
LANES_NEON(16, uint16_t, 8)
#undef vreinterpretq_u8_u8
#undef LANES_NEON
/* clang-format on */

#define LANES_PICK32 1
/* pick32, high, gather16, zip_low and zip_high: as the list above says. */
BI_INLINE v8 v8_pick32(const uint8_t *table, v8 index)
{
    const uint8x16x2_t both = {{vld1q_u8(table), vld1q_u8(table + 16)}};
    return vqtbl2q_u8(both, index);
}
/* clang-format off */
BI_INLINE bool v8_high(v8 a) { return vmaxvq_u8(a) >= 0x80; }
BI_INLINE v8 v8_gather16(const uint8_t *const *p, int64_t at) { return vld1q_u8(p[0] + at); }
BI_INLINE v8 v8_zip_low(v8 a, v8 b) { return vzip1q_u8(a, b); }
BI_INLINE v8 v8_zip_high(v8 a, v8 b) { return vzip2q_u8(a, b); }
/* clang-format on */

#else /* compiler vectors of 16 bytes */

#define W8 16
#define W16 8
typedef uint8_t v8 __attribute__((vector_size(16)));
typedef uint16_t v16 __attribute__((vector_size(16)));

/* clang-format off */
#define LANES_GENERIC(b, type, n)                                                          \
    BI_INLINE v##b v##b##_load(const void *p)                                              \
    {                                                                                      \
        v##b a;                                                                            \
        memcpy(&a, p, sizeof a);                                                           \
        return a;                                                                          \
    }                                                                                      \
    BI_INLINE void v##b##_store(void *p, v##b a) { memcpy(p, &a, sizeof a); }              \
    BI_INLINE v##b v##b##_set1(type x) { return (v##b){0} + x; }                           \
    BI_INLINE v##b v##b##_add(v##b a, v##b c) { return a + c; }                            \
    BI_INLINE v##b v##b##_sub(v##b a, v##b c) { return a - c; }                            \
    BI_INLINE v##b v##b##_or(v##b a, v##b c) { return a | c; }                             \
    BI_INLINE v##b v##b##_and(v##b a, v##b c) { return a & c; }                            \
    BI_INLINE v##b v##b##_equal(v##b a, v##b c) { return (v##b)(a == c); }                 \
    BI_INLINE v##b v##b##_select(v##b m, v##b a, v##b c) { return (m & a) | (~m & c); }    \
    BI_INLINE v##b v##b##_max(v##b a, v##b c)                                              \
    {                                                                                      \
        return v##b##_select((v##b)(a > c), a, c);                                         \
    }                                                                                      \
    BI_INLINE v##b v##b##_subs(v##b a, v##b c) { return (v##b)(a > c) & (a - c); }         \
    BI_INLINE type v##b##_last(v##b a) { return a[n - 1]; }
LANES_GENERIC(8, uint8_t, 16)
LANES_GENERIC(16, uint16_t, 8)
#undef LANES_GENERIC
/* clang-format on */

/* shift, gather16, zip_low and zip_high: as the list above says. */
BI_INLINE v8 v8_shift(v8 a, v8 b)
{
    return __builtin_shufflevector(b, a, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29,
                                   30);
}
BI_INLINE v16 v16_shift(v16 a, v16 b)
{
    return __builtin_shufflevector(b, a, 7, 8, 9, 10, 11, 12, 13, 14);
}
BI_INLINE v8 v8_gather16(const uint8_t *const *p, int64_t at)
{
    return v8_load(p[0] + at);
}
BI_INLINE v8 v8_zip_low(v8 a, v8 b)
{
    return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
BI_INLINE v8 v8_zip_high(v8 a, v8 b)
{
    return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15,
                                   31);
}

#endif

#if BI_ISA_ID != BI_ISA_ID_avx512
#define LANES_BITS(b, type)                                                                        \
    BI_INLINE v##b v##b##_eq_bit(v##b a, v##b c, type x)                                           \
    {                                                                                              \
        return v##b##_and(v##b##_equal(a, c), v##b##_set1(x));                                     \
    }                                                                                              \
    BI_INLINE v##b v##b##_ge_bit(v##b a, v##b c, type x)                                           \
    {                                                                                              \
        return v##b##_and(v##b##_equal(v##b##_max(a, c), a), v##b##_set1(x));                      \
    }
LANES_BITS(8, uint8_t)
LANES_BITS(16, uint16_t)
#undef LANES_BITS

typedef v8 m8;
typedef v16 m16;
/* clang-format off */
#define LANES_MASKS(b, type)                                                                       \
    BI_INLINE m##b m##b##_equal(v##b a, v##b c) { return v##b##_equal(a, c); }                     \
    BI_INLINE m##b m##b##_least(v##b a, v##b c) { return v##b##_equal(v##b##_max(a, c), a); }      \
    BI_INLINE m##b m##b##_of(v##b a) { return a; }                                                 \
    BI_INLINE m##b m##b##_all(bool x) { return v##b##_set1((type)(x ? -1 : 0)); }                  \
    BI_INLINE m##b m##b##_and(m##b a, m##b c) { return v##b##_and(a, c); }                         \
    BI_INLINE m##b m##b##_or(m##b a, m##b c) { return v##b##_or(a, c); }                           \
    BI_INLINE m##b m##b##_clear(m##b a, m##b c) { return v##b##_select(c, v##b##_set1(0), a); }    \
    BI_INLINE v##b m##b##_pick(m##b m, v##b a, v##b c) { return v##b##_select(m, a, c); }          \
    BI_INLINE v##b m##b##_add(m##b m, v##b a, v##b c) { return v##b##_add(a, v##b##_and(m, c)); }
LANES_MASKS(8, uint8_t)
LANES_MASKS(16, uint16_t)
#undef LANES_MASKS
/* clang-format on */
#endif

/* to[k * W8 + l] is byte at + k of p[l], for 16 steps k and all W8 lanes, each of which has a
 * pointer: each 16 bytes of a vector hold one lane's 16 steps; four rounds of interleaving halves
 * turn them round. */
BI_INLINE void v8_turn16(uint8_t *to, const uint8_t *const *p, int64_t at)
{
    v8 a[16], b[16];
    for (int k = 0; k < 16; k++)
        a[k] = v8_gather16(p + k, at);
    for (int round = 0; round < 2; round++) {
        for (int k = 0; k < 8; k++) {
            b[2 * k] = v8_zip_low(a[k], a[k + 8]);
            b[2 * k + 1] = v8_zip_high(a[k], a[k + 8]);
        }
        for (int k = 0; k < 8; k++) {
            a[2 * k] = v8_zip_low(b[k], b[k + 8]);
            a[2 * k + 1] = v8_zip_high(b[k], b[k + 8]);
        }
    }
    for (int k = 0; k < 16; k++)
        v8_store(to + k * W8, a[k]);
}
/* The same for W16 lanes of 16 bits, which are rare enough for a plain loop. */
BI_INLINE void v16_turn16(uint16_t *to, const uint16_t *const *p, int64_t at)
{
    for (int k = 0; k < 16; k++)
        for (int l = 0; l < W16; l++)
            to[k * W16 + l] = p[l][at + k];
}

#endif
