/* simd.h - one vector of floats, whatever the instruction set.
 *
 * A kernel source is compiled once per instruction set with -DBI_ISA=generic, avx2, avx512 or
 * neon and that set's flags; it says what it does in terms of this file and gives its public
 * functions names by BI_ISA_NAME. Only this file asks which set compiles.
 *
 *   names       BI_ISA_NAME, BI_ISA_STRING
 *   types       vf: VW floats, vi: VW int32, vm: VW truth values
 *   memory      load, store (any 4-byte alignment), load_n, store_n (the first n lanes),
 *               store_half: as float16, to nearest even, NaN kept as a quiet one, 65520 and
 *               more as infinity
 *   arithmetic  add sub mul div fma fnma max min sqrt neg abs
 *   choice      lt le gt ge eq ne, select, mask algebra, the first n lanes
 *   integers    round, conversions, bit patterns, scaling by powers of two
 *   reductions  hsum, hmax: a tree of fixed shape
 *
 * vf_fma rounds once on avx2, avx512 and neon and twice on generic (SSE2 has no fused form):
 * results may differ between instruction sets, never within one. */
#ifndef BI_SIMD_H
#define BI_SIMD_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define BI_ISA_ID_generic 1
#define BI_ISA_ID_avx2 2
#define BI_ISA_ID_avx512 3
#define BI_ISA_ID_neon 4
/* linear_amx.c: the vectors beside the tiles */
#define BI_ISA_ID_amx BI_ISA_ID_avx512
#define BI_ISA_ID_amx_emulated BI_ISA_ID_avx2

#define BI_CAT_(a, b) a##b
#define BI_CAT(a, b) BI_CAT_(a, b)
#define BI_ISA_ID BI_CAT(BI_ISA_ID_, BI_ISA)
#define BI_ISA_NAME(name) BI_CAT(BI_CAT(bi_cpu_##name, _), BI_ISA) /* bi_cpu_<name>_avx512 */
#define BI_STRING_(text) #text
#define BI_STRING(text) BI_STRING_(text)
#define BI_ISA_STRING BI_STRING(BI_ISA)

#define BI_INLINE static inline __attribute__((always_inline, unused))
#define UNROLL _Pragma("GCC unroll 16") /* the loop behind it, whose bounds are constants */

/* VW: lanes. VREGS: vector registers, for the choice of tile sizes. */

#if BI_ISA_ID == BI_ISA_ID_avx512

#include <immintrin.h>

#define VW 16
#define VREGS 32
typedef __m512 vf;
typedef __m512i vi;
typedef __mmask16 vm;

/* clang-format off */
/* Constants, memory, the first lanes. */
BI_INLINE vf vf_set1(float x) { return _mm512_set1_ps(x); }
BI_INLINE vf vf_zero(void) { return _mm512_setzero_ps(); }
BI_INLINE vf vf_load(const float *p) { return _mm512_loadu_ps(p); }
BI_INLINE void vf_store(float *p, vf a) { _mm512_storeu_ps(p, a); }
BI_INLINE void vf_store_half(uint16_t *p, vf a)
{
    _mm256_storeu_si256((__m256i *)p,
                        _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
BI_INLINE vm vm_first(int n) { return (vm)((1u << n) - 1); } /* 0 <= n <= VW */
BI_INLINE vf vf_load_n(const float *p, int n) { return _mm512_maskz_loadu_ps(vm_first(n), p); }
BI_INLINE void vf_store_n(float *p, vf a, int n) { _mm512_mask_storeu_ps(p, vm_first(n), a); }

/* Arithmetic, lane by lane. */
BI_INLINE vf vf_add(vf a, vf b) { return _mm512_add_ps(a, b); }
BI_INLINE vf vf_sub(vf a, vf b) { return _mm512_sub_ps(a, b); }
BI_INLINE vf vf_mul(vf a, vf b) { return _mm512_mul_ps(a, b); }
BI_INLINE vf vf_div(vf a, vf b) { return _mm512_div_ps(a, b); }
BI_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
BI_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm512_fnmadd_ps(a, b, c); }
BI_INLINE vf vf_max(vf a, vf b) { return _mm512_max_ps(a, b); }
BI_INLINE vf vf_min(vf a, vf b) { return _mm512_min_ps(a, b); }
BI_INLINE vf vf_sqrt(vf a) { return _mm512_sqrt_ps(a); }

/* Truth values, and choice by them. */
BI_INLINE vm vf_lt(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
BI_INLINE vm vf_le(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
BI_INLINE vm vf_eq(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
BI_INLINE vm vf_ne(vf a, vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
BI_INLINE vf vf_select(vm m, vf a, vf b) { return _mm512_mask_blend_ps(m, b, a); }
BI_INLINE vm vm_and(vm a, vm b) { return a & b; }
BI_INLINE vm vm_or(vm a, vm b) { return a | b; }
BI_INLINE vm vm_not(vm a) { return (vm)~a; }
BI_INLINE int vm_any(vm a) { return a != 0; }

/* Bits and integers, lane by lane. */
BI_INLINE vi vf_bits(vf a) { return _mm512_castps_si512(a); }
BI_INLINE vf vi_float_bits(vi a) { return _mm512_castsi512_ps(a); }
BI_INLINE vi vi_set1(int32_t x) { return _mm512_set1_epi32(x); }
BI_INLINE vi vi_add(vi a, vi b) { return _mm512_add_epi32(a, b); }
BI_INLINE vi vi_sub(vi a, vi b) { return _mm512_sub_epi32(a, b); }
BI_INLINE vi vi_and(vi a, vi b) { return _mm512_and_si512(a, b); }
BI_INLINE vi vi_or(vi a, vi b) { return _mm512_or_si512(a, b); }
BI_INLINE vi vi_xor(vi a, vi b) { return _mm512_xor_si512(a, b); }
#define vi_shl(a, n) _mm512_slli_epi32((a), (n))
#define vi_sar(a, n) _mm512_srai_epi32((a), (n))
BI_INLINE vi vf_to_int(vf a) { return _mm512_cvtps_epi32(a); }
BI_INLINE vf vi_to_float(vi a) { return _mm512_cvtepi32_ps(a); }
BI_INLINE vf vf_round(vf a) { return _mm512_roundscale_ps(a, 8); }
BI_INLINE vf vf_scale2(vf a, vf n) { return _mm512_scalef_ps(a, n); }

/* Sum and maximum of all lanes. */
BI_INLINE float vf_hsum(vf a)
{
    __m256 b = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}
BI_INLINE float vf_hmax(vf a)
{
    __m256 b = _mm256_max_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_shuffle_ps(c, c, 1)));
}
/* clang-format on */

#elif BI_ISA_ID == BI_ISA_ID_avx2

#include <immintrin.h>

#define VW 8
#define VREGS 16
typedef __m256 vf;
typedef __m256i vi;
typedef __m256i vm;

/* clang-format off */
/* Constants, memory, the first lanes. */
BI_INLINE vf vf_set1(float x) { return _mm256_set1_ps(x); }
BI_INLINE vf vf_zero(void) { return _mm256_setzero_ps(); }
BI_INLINE vf vf_load(const float *p) { return _mm256_loadu_ps(p); }
BI_INLINE void vf_store(float *p, vf a) { _mm256_storeu_ps(p, a); }
BI_INLINE void vf_store_half(uint16_t *p, vf a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}
BI_INLINE vm vm_first(int n) /* 0 <= n <= VW */
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
BI_INLINE vf vf_load_n(const float *p, int n)
{
    return n >= VW ? vf_load(p) : _mm256_maskload_ps(p, vm_first(n));
}
BI_INLINE void vf_store_n(float *p, vf a, int n) /* masked stores are microcode on some */
{
    if (n >= VW)
        vf_store(p, a);
    else
        _mm256_maskstore_ps(p, vm_first(n), a);
}

/* Arithmetic, lane by lane. */
BI_INLINE vf vf_add(vf a, vf b) { return _mm256_add_ps(a, b); }
BI_INLINE vf vf_sub(vf a, vf b) { return _mm256_sub_ps(a, b); }
BI_INLINE vf vf_mul(vf a, vf b) { return _mm256_mul_ps(a, b); }
BI_INLINE vf vf_div(vf a, vf b) { return _mm256_div_ps(a, b); }
BI_INLINE vf vf_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
BI_INLINE vf vf_fnma(vf a, vf b, vf c) { return _mm256_fnmadd_ps(a, b, c); }
BI_INLINE vf vf_max(vf a, vf b) { return _mm256_max_ps(a, b); }
BI_INLINE vf vf_min(vf a, vf b) { return _mm256_min_ps(a, b); }
BI_INLINE vf vf_sqrt(vf a) { return _mm256_sqrt_ps(a); }

/* Truth values, and choice by them. */
BI_INLINE vm vf_lt(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
BI_INLINE vm vf_le(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_LE_OQ)); }
BI_INLINE vm vf_eq(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)); }
BI_INLINE vm vf_ne(vf a, vf b) { return _mm256_castps_si256(_mm256_cmp_ps(a, b, _CMP_NEQ_UQ)); }
BI_INLINE vf vf_select(vm m, vf a, vf b) { return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(m)); }
BI_INLINE vm vm_and(vm a, vm b) { return _mm256_and_si256(a, b); }
BI_INLINE vm vm_or(vm a, vm b) { return _mm256_or_si256(a, b); }
BI_INLINE vm vm_not(vm a) { return _mm256_xor_si256(a, _mm256_set1_epi32(-1)); }
BI_INLINE int vm_any(vm a) { return _mm256_movemask_ps(_mm256_castsi256_ps(a)) != 0; }

/* Bits and integers, lane by lane. */
BI_INLINE vi vf_bits(vf a) { return _mm256_castps_si256(a); }
BI_INLINE vf vi_float_bits(vi a) { return _mm256_castsi256_ps(a); }
BI_INLINE vi vi_set1(int32_t x) { return _mm256_set1_epi32(x); }
BI_INLINE vi vi_add(vi a, vi b) { return _mm256_add_epi32(a, b); }
BI_INLINE vi vi_sub(vi a, vi b) { return _mm256_sub_epi32(a, b); }
BI_INLINE vi vi_and(vi a, vi b) { return _mm256_and_si256(a, b); }
BI_INLINE vi vi_or(vi a, vi b) { return _mm256_or_si256(a, b); }
BI_INLINE vi vi_xor(vi a, vi b) { return _mm256_xor_si256(a, b); }
#define vi_shl(a, n) _mm256_slli_epi32((a), (n))
#define vi_sar(a, n) _mm256_srai_epi32((a), (n))
BI_INLINE vi vf_to_int(vf a) { return _mm256_cvtps_epi32(a); }
BI_INLINE vf vi_to_float(vi a) { return _mm256_cvtepi32_ps(a); }
BI_INLINE vf vf_round(vf a) { return _mm256_round_ps(a, 8); }

/* Sum and maximum of all lanes. */
BI_INLINE float vf_hsum(vf a)
{
    __m128 c = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    c = _mm_add_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
}
BI_INLINE float vf_hmax(vf a)
{
    __m128 c = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    c = _mm_max_ps(c, _mm_movehl_ps(c, c));
    return _mm_cvtss_f32(_mm_max_ss(c, _mm_shuffle_ps(c, c, 1)));
}
/* clang-format on */

#elif BI_ISA_ID == BI_ISA_ID_neon

#include <arm_neon.h>

#define VW 4
#define VREGS 32
typedef float32x4_t vf;
typedef int32x4_t vi;
typedef uint32x4_t vm;

/* clang-format off */
/* Constants, memory, the first lanes. */
BI_INLINE vf vf_set1(float x) { return vdupq_n_f32(x); }
BI_INLINE vf vf_zero(void) { return vdupq_n_f32(0); }
BI_INLINE vf vf_load(const float *p) { return vld1q_f32(p); }
BI_INLINE void vf_store(float *p, vf a) { vst1q_f32(p, a); }
BI_INLINE void vf_store_half(uint16_t *p, vf a)
{
    vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a)));
}
BI_INLINE vm vm_first(int n) /* 0 <= n <= VW */
{
    static const int32_t lane[4] = {0, 1, 2, 3};
    return vcltq_s32(vld1q_s32(lane), vdupq_n_s32(n));
}

/* Arithmetic, lane by lane. */
BI_INLINE vf vf_add(vf a, vf b) { return vaddq_f32(a, b); }
BI_INLINE vf vf_sub(vf a, vf b) { return vsubq_f32(a, b); }
BI_INLINE vf vf_mul(vf a, vf b) { return vmulq_f32(a, b); }
BI_INLINE vf vf_div(vf a, vf b) { return vdivq_f32(a, b); }
BI_INLINE vf vf_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
BI_INLINE vf vf_fnma(vf a, vf b, vf c) { return vfmsq_f32(c, a, b); }
BI_INLINE vf vf_max(vf a, vf b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
BI_INLINE vf vf_min(vf a, vf b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
BI_INLINE vf vf_sqrt(vf a) { return vsqrtq_f32(a); }

/* Truth values, and choice by them. */
BI_INLINE vm vf_lt(vf a, vf b) { return vcltq_f32(a, b); }
BI_INLINE vm vf_le(vf a, vf b) { return vcleq_f32(a, b); }
BI_INLINE vm vf_eq(vf a, vf b) { return vceqq_f32(a, b); }
BI_INLINE vm vf_ne(vf a, vf b) { return vmvnq_u32(vceqq_f32(a, b)); }
BI_INLINE vf vf_select(vm m, vf a, vf b) { return vbslq_f32(m, a, b); }
BI_INLINE vm vm_and(vm a, vm b) { return vandq_u32(a, b); }
BI_INLINE vm vm_or(vm a, vm b) { return vorrq_u32(a, b); }
BI_INLINE vm vm_not(vm a) { return vmvnq_u32(a); }
BI_INLINE int vm_any(vm a) { return vmaxvq_u32(a) != 0; }

/* Bits and integers, lane by lane. */
BI_INLINE vi vf_bits(vf a) { return vreinterpretq_s32_f32(a); }
BI_INLINE vf vi_float_bits(vi a) { return vreinterpretq_f32_s32(a); }
BI_INLINE vi vi_set1(int32_t x) { return vdupq_n_s32(x); }
BI_INLINE vi vi_add(vi a, vi b) { return vaddq_s32(a, b); }
BI_INLINE vi vi_sub(vi a, vi b) { return vsubq_s32(a, b); }
BI_INLINE vi vi_and(vi a, vi b) { return vandq_s32(a, b); }
BI_INLINE vi vi_or(vi a, vi b) { return vorrq_s32(a, b); }
BI_INLINE vi vi_xor(vi a, vi b) { return veorq_s32(a, b); }
#define vi_shl(a, n) vshlq_n_s32((a), (n))
#define vi_sar(a, n) vshrq_n_s32((a), (n))
BI_INLINE vi vf_to_int(vf a) { return vcvtnq_s32_f32(a); }
BI_INLINE vf vi_to_float(vi a) { return vcvtq_f32_s32(a); }
BI_INLINE vf vf_round(vf a) { return vrndnq_f32(a); }

/* Sum and maximum of all lanes. */
BI_INLINE float vf_hsum(vf a)
{
    float32x2_t c = vadd_f32(vget_low_f32(a), vget_high_f32(a));
    return vget_lane_f32(c, 0) + vget_lane_f32(c, 1);
}
BI_INLINE float vf_hmax(vf a)
{
    float x = vgetq_lane_f32(a, 0) > vgetq_lane_f32(a, 2) ? vgetq_lane_f32(a, 0)
                                                          : vgetq_lane_f32(a, 2);
    float y = vgetq_lane_f32(a, 1) > vgetq_lane_f32(a, 3) ? vgetq_lane_f32(a, 1)
                                                          : vgetq_lane_f32(a, 3);
    return x > y ? x : y;
}
/* clang-format on */

#elif BI_ISA_ID == BI_ISA_ID_generic

/* Compiler vectors of 16 bytes: SSE2 on x86-64, whatever fits elsewhere. */

#define VW 4
#define VREGS 16
typedef float vf __attribute__((vector_size(16)));
typedef int32_t vi __attribute__((vector_size(16)));
typedef vi vm;

/* Constants, memory, the first lanes. */
BI_INLINE vf vf_set1(float x)
{
    return (vf){x, x, x, x};
}
BI_INLINE vf vf_zero(void)
{
    return (vf){0, 0, 0, 0};
}
BI_INLINE vf vf_load(const float *p)
{
    vf a;
    memcpy(&a, p, sizeof a);
    return a;
}
BI_INLINE void vf_store(float *p, vf a)
{
    memcpy(p, &a, sizeof a);
}
BI_INLINE void vf_store_half(uint16_t *p, vf a)
{
    for (int i = 0; i < VW; i++) {
        const uint32_t bits = (uint32_t)((vi)a)[i], sign = bits >> 16 & 0x8000,
                       x = bits & 0x7fffffff;
        uint32_t half = (x + 0xfff + (x >> 13 & 1) - 0x38000000) >> 13;
        if (x > 0x7f800000) { /* NaN */
            half = 0x7e00 | (x >> 13 & 0x3ff);
        } else if (x >= 0x477ff000) { /* rounds to beyond 65504 */
            half = 0x7c00;
        } else if (x < 0x38800000) { /* below 2^-14: the last place of [0.5, 1) is 2^-24 */
            float grid;
            memcpy(&grid, &x, sizeof grid);
            grid += 0.5f;
            memcpy(&half, &grid, sizeof half);
            half -= 0x3f000000;
        }
        p[i] = (uint16_t)(sign | half);
    }
}
/* clang-format off */
BI_INLINE vm vm_first(int n) { return (vi){0, 1, 2, 3} < (vi){n, n, n, n}; } /* 0 <= n <= VW */

/* Arithmetic, lane by lane. */
BI_INLINE vf vf_add(vf a, vf b) { return a + b; }
BI_INLINE vf vf_sub(vf a, vf b) { return a - b; }
BI_INLINE vf vf_mul(vf a, vf b) { return a * b; }
BI_INLINE vf vf_div(vf a, vf b) { return a / b; }
BI_INLINE vf vf_fma(vf a, vf b, vf c) { return a * b + c; }
BI_INLINE vf vf_fnma(vf a, vf b, vf c) { return c - a * b; }
BI_INLINE vm vf_lt(vf a, vf b) { return a < b; }
BI_INLINE vm vf_le(vf a, vf b) { return a <= b; }
BI_INLINE vm vf_eq(vf a, vf b) { return a == b; }
BI_INLINE vm vf_ne(vf a, vf b) { return a != b; }
BI_INLINE vf vf_select(vm m, vf a, vf b) { return (vf)((m & (vi)a) | (~m & (vi)b)); }
BI_INLINE vf vf_max(vf a, vf b) { return vf_select(a > b, a, b); }
BI_INLINE vf vf_min(vf a, vf b) { return vf_select(a < b, a, b); }
BI_INLINE vf vf_sqrt(vf a)
{
    return (vf){sqrtf(a[0]), sqrtf(a[1]), sqrtf(a[2]), sqrtf(a[3])};
}
BI_INLINE vm vm_and(vm a, vm b) { return a & b; }
BI_INLINE vm vm_or(vm a, vm b) { return a | b; }
BI_INLINE vm vm_not(vm a) { return ~a; }
BI_INLINE int vm_any(vm a) { return (a[0] | a[1] | a[2] | a[3]) != 0; }

/* Bits and integers, lane by lane. */
BI_INLINE vi vf_bits(vf a) { return (vi)a; }
BI_INLINE vf vi_float_bits(vi a) { return (vf)a; }
BI_INLINE vi vi_set1(int32_t x) { return (vi){x, x, x, x}; }
BI_INLINE vi vi_add(vi a, vi b) { return a + b; }
BI_INLINE vi vi_sub(vi a, vi b) { return a - b; }
BI_INLINE vi vi_and(vi a, vi b) { return a & b; }
BI_INLINE vi vi_or(vi a, vi b) { return a | b; }
BI_INLINE vi vi_xor(vi a, vi b) { return a ^ b; }
#define vi_shl(a, n) ((a) << (n))
#define vi_sar(a, n) ((a) >> (n))
/* clang-format on */
/* Adding 1.5 * 2^23 leaves the rounded integer in the low bits of the sum. */
/* clang-format off */
/* Conversions. */
BI_INLINE vf vf_round(vf a) { return (a + 12582912.0f) - 12582912.0f; }
BI_INLINE vi vf_to_int(vf a) { return (vi)(a + 12582912.0f) - 0x4b400000; }
BI_INLINE vf vi_to_float(vi a) { return (vf){(float)a[0], (float)a[1], (float)a[2], (float)a[3]}; }

/* Sum and maximum of all lanes. */
BI_INLINE float vf_hsum(vf a) { return (a[0] + a[2]) + (a[1] + a[3]); }
BI_INLINE float vf_hmax(vf a)
{
    float x = a[0] > a[2] ? a[0] : a[2], y = a[1] > a[3] ? a[1] : a[3];
    return x > y ? x : y;
}
/* clang-format on */

#else
#error "compile with -DBI_ISA=generic, avx2, avx512 or neon"
#endif

/* These rules hold for every set, lane by lane where nothing else is said:
 *   vf_set1(x), vi_set1(x): x in all lanes; vf_zero(): 0
 *   vf_load(p): p[0] ... p[VW - 1]; vf_store(p, a): the reverse
 *   vm_first(n): true in the first n lanes, 0 <= n <= VW; vm_any(a): not 0 where any lane is true
 *   vf_select(m, a, b): a where m is true, else b
 *   vf_bits, vi_float_bits: the same bits as integers, and as floats
 *   vi_shl, vi_sar: shifts by a constant, the second one with the sign
 *   vf_to_int, vi_to_float: conversions of values
 *   vf_hsum, vf_hmax: the sum, and the largest, of all lanes, in one order for each set; with a
 *   NaN among the lanes hmax may give it or another lane
 *   vf_fma(a, b, c) = a b + c, vf_fnma(a, b, c) = c - a b
 *   vf_max(a, b) = a > b ? a : b, so b when either is NaN, and when they are equal (+0 and -0);
 *   vf_min likewise
 *   vf_lt, vf_le, vf_eq are false and vf_ne is true for NaN
 *   vf_round, vf_to_int: to nearest, ties to even, for |a| < 2^22; beyond it sets differ
 *   vf_load_n: lanes n ... VW-1 are zero and their memory is not read; vf_store_n: nor is it
 *   written; 0 <= n <= VW
 *   vf_scale2(a, n) = a 2^n for integral n, also to zero, denormals and infinity, |n| <= 252,
 *   one rounding as long as |a| is in [0.5, 2]; NaN, infinity and 0 in a stay */

#if BI_ISA_ID == BI_ISA_ID_neon || BI_ISA_ID == BI_ISA_ID_generic
/* The first n lanes from memory, and to it; as said above. */
BI_INLINE vf vf_load_n(const float *p, int n)
{
    float a[VW] = {0};
    if (n >= VW)
        return vf_load(p);
    for (int i = 0; i < n; i++)
        a[i] = p[i];
    return vf_load(a);
}
BI_INLINE void vf_store_n(float *p, vf v, int n)
{
    float a[VW];
    if (n >= VW) {
        vf_store(p, v);
        return;
    }
    vf_store(a, v);
    for (int i = 0; i < n; i++)
        p[i] = a[i];
}
#endif

#if BI_ISA_ID != BI_ISA_ID_avx512
/* a 2^n; as said above. */
BI_INLINE vf vf_scale2(vf a, vf n)
{
    vi e = vf_to_int(n), half = vi_sar(e, 1), rest = vi_sub(e, half);
    a = vf_mul(a, vi_float_bits(vi_shl(vi_add(half, vi_set1(127)), 23)));
    return vf_mul(a, vi_float_bits(vi_shl(vi_add(rest, vi_set1(127)), 23)));
}
#endif

/* a 2^n where the result is a normal number and -126 <= n <= 127; NaN in a stays. Elsewhere sets
 * differ. */
BI_INLINE vf vf_scale2_normal(vf a, vf n)
{
#if BI_ISA_ID == BI_ISA_ID_avx512
    return vf_scale2(a, n);
#else
    vi e = vi_shl(vi_add(vf_to_int(n), vi_set1(127)), 23);
    return vf_mul(a, vi_float_bits(e));
#endif
}

/* clang-format off */
/* a > b, a >= b, is a NaN, |a|, -a; the comparisons are false for NaN. */
BI_INLINE vm vf_gt(vf a, vf b) { return vf_lt(b, a); }
BI_INLINE vm vf_ge(vf a, vf b) { return vf_le(b, a); }
BI_INLINE vm vf_isnan(vf a) { return vf_ne(a, a); }
BI_INLINE vf vf_abs(vf a) { return vi_float_bits(vi_and(vf_bits(a), vi_set1(0x7fffffff))); }
BI_INLINE vf vf_neg(vf a) { return vi_float_bits(vi_xor(vf_bits(a), vi_set1(INT32_MIN))); }
/* |a| with the sign of b, also of -0 and NaN */
BI_INLINE vf vf_copysign(vf a, vf b)
{
    return vi_float_bits(vi_or(vi_and(vf_bits(a), vi_set1(0x7fffffff)),
                               vi_and(vf_bits(b), vi_set1(INT32_MIN))));
}
/* clang-format on */

#endif
