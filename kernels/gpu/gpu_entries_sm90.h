/* gpu_entries_sm90.h - the entries of sm90/<op>_sm90.cu: like gpu_entries.h, for Hopper alone.
 *
 * E(name, module, params, threads, shared, tile, kind): params names
 * struct bi_<params>_sm90_params, which begins with tensor maps. tile is bi_gpu_sm90_<tile>, which
 * says what the entries of a tile take, their grid, their time and their maps (gpu/linear_sm90.c,
 * gpu/attention_sm90.c); kind is BI_GPU_KIND_<kind>. Among tiles of equal time the first of the
 * list is taken. They take
 *   linear_sm90_[small_|MxN_]a     x and w f16, y a; act none, gelu, relu; of neither small nor
 *                                  MxN: n % 8 == 0, y, bias, residual and their rows on 16 bytes
 *   linear_sm90_[small_|MxN_]rotated_*  table instead of act and residual, head_dim 16, 32 or 64
 *   linear_sm90_[small_]gated_*    gates in blocks of 16 rows, act silu or gelu_tanh; n % 32 == 0
 *   linear_sm90_[small_|MxN_]normed_f16, paired_f16, pooled_a
 *                                  norm, pairs, pool of linear.h; n % 8 == 0, every array on 16
 *                                  bytes, row strides multiples of 8 elements
 *   linear_sm90_[small_]twin_normed_f16
 *                                  the same of a twin, whose tiles are of 256 rows and 128 columns,
 *                                  small: 64; to bits of its own
 *   linear_sm90_terms_MxN_f32      everything f32, any act, gates in blocks of 16, before, slope; w
 *                                  [n, k] in terms (linear_terms.h), which all are that are large
 *                                  enough (bi_terms_fit); any alignment, to bits of their own
 *   attention_sm90_dN_f16          head_dim N exactly, no table, no bias
 *   rel_attention_sm90_f16         key_dim 64, value_dim 192; u, w too
 * all with bases of 16 bytes, row strides of x, w, q, k, v, r that are multiples of 8 elements;
 * rows of x may overlap, k being a multiple of the stride (windows). small: 64 x 64 tiles instead
 * of 128 x 128. MxN: tiles of M x N, one to a block; n even, and y, bias, residual, table aligned
 * for two; of M 192 rows of y on 16 bytes, which is always written, and no residual is made again.
 * All give the same bits. */
#ifndef BI_GPU_ENTRIES_SM90_H
#define BI_GPU_ENTRIES_SM90_H

#include "sm90/attention_sm90.h"
#include "gpu_entries.h"
#include "sm90/linear_sm90.h"
#include "sm90/rel_attention_sm90.h"

/* A product and what follows it, as its params say (linear.h); for attention the width of heads. */
enum bi_gpu_kind {
    BI_GPU_KIND_NONE,
    BI_GPU_KIND_F16,
    BI_GPU_KIND_F32,
    BI_GPU_KIND_ROTATED,
    BI_GPU_KIND_GATED,
    BI_GPU_KIND_NORMED,
    BI_GPU_KIND_PAIRED,
    BI_GPU_KIND_POOL_F16,
    BI_GPU_KIND_POOL_F32,
    BI_GPU_KIND_TWIN,
    BI_GPU_KIND_D16 = 16,
    BI_GPU_KIND_D32 = 32,
    BI_GPU_KIND_D64 = 64,
    BI_GPU_KIND_D128 = 128
};

extern const struct bi_gpu_sm90 bi_gpu_sm90_128x128, bi_gpu_sm90_small, bi_gpu_sm90_128x64,
    bi_gpu_sm90_64x64, bi_gpu_sm90_32x64, bi_gpu_sm90_32x32, bi_gpu_sm90_192x96,
    bi_gpu_sm90_192x192, bi_gpu_sm90_twin, bi_gpu_sm90_low_twin, bi_gpu_sm90_terms_128x160,
    bi_gpu_sm90_terms_128x128, bi_gpu_sm90_terms_64x64, bi_gpu_sm90_terms_64x32, bi_gpu_sm90_heads,
    bi_gpu_sm90_wide_heads, bi_gpu_sm90_rel_heads;

/* clang-format off */
#define BI_GPU_ENTRIES_SM90(E) \
    E(linear_sm90_f16, linear_followed_sm90, followed, 384, 231680, 128x128, F16)                 \
    E(linear_sm90_f32, linear_followed_sm90, followed, 384, 231808, 128x128, F32)                 \
    E(linear_sm90_rotated_f16, linear_sm90, linear, 384, 229488, 128x128, ROTATED)                \
    E(linear_sm90_gated_f16, linear_sm90, linear, 384, 229488, 128x128, GATED)                    \
    E(linear_sm90_normed_f16, linear_followed_sm90, followed, 384, 229504, 128x128, NORMED)       \
    E(linear_sm90_paired_f16, linear_followed_sm90, followed, 384, 231680, 128x128, PAIRED)       \
    E(linear_sm90_pooled_f16, linear_followed_sm90, followed, 384, 231664, 128x128, POOL_F16)     \
    E(linear_sm90_pooled_f32, linear_followed_sm90, followed, 384, 231664, 128x128, POOL_F32)     \
    E(linear_sm90_small_f16, linear_sm90, linear, 384, 229584, small, F16)                        \
    E(linear_sm90_small_f32, linear_sm90, linear, 384, 229584, small, F32)                        \
    E(linear_sm90_small_rotated_f16, linear_sm90, linear, 384, 229584, small, ROTATED)            \
    E(linear_sm90_small_gated_f16, linear_sm90, linear, 384, 229584, small, GATED)                \
    E(linear_sm90_small_normed_f16, linear_followed_sm90, followed, 384, 229616, small, NORMED)   \
    E(linear_sm90_small_paired_f16, linear_followed_sm90, followed, 384, 214320, small, PAIRED)   \
    E(linear_sm90_small_pooled_f16, linear_followed_sm90, followed, 384, 230704, small, POOL_F16) \
    E(linear_sm90_small_pooled_f32, linear_followed_sm90, followed, 384, 230704, small, POOL_F32) \
    E(linear_sm90_128x64_f16, linear_small_sm90, linear, 288, 196736, 128x64, F16)                \
    E(linear_sm90_128x64_f32, linear_small_sm90, linear, 288, 196736, 128x64, F32)                \
    E(linear_sm90_128x64_rotated_f16, linear_small_sm90, linear, 288, 196736, 128x64, ROTATED)    \
    E(linear_sm90_64x64_f16, linear_small_sm90, linear, 160, 98400, 64x64, F16)                   \
    E(linear_sm90_64x64_f32, linear_small_sm90, linear, 160, 98400, 64x64, F32)                   \
    E(linear_sm90_64x64_rotated_f16, linear_small_sm90, linear, 160, 98400, 64x64, ROTATED)       \
    E(linear_sm90_32x64_f16, linear_small_sm90, linear, 160, 98432, 32x64, F16)                   \
    E(linear_sm90_32x64_f32, linear_small_sm90, linear, 160, 98432, 32x64, F32)                   \
    E(linear_sm90_32x64_rotated_f16, linear_small_sm90, linear, 160, 98432, 32x64, ROTATED)       \
    E(linear_sm90_32x32_f16, linear_small_sm90, linear, 160, 98496, 32x32, F16)                   \
    E(linear_sm90_32x32_f32, linear_small_sm90, linear, 160, 98496, 32x32, F32)                   \
    E(linear_sm90_192x96_f16, linear_wide_sm90, linear, 512, 221280, 192x96, F16)                 \
    E(linear_sm90_192x96_f32, linear_wide_sm90, linear, 512, 221280, 192x96, F32)                 \
    E(linear_sm90_192x96_pooled_f16, linear_wide_sm90, linear, 512, 221280, 192x96, POOL_F16)     \
    E(linear_sm90_192x96_pooled_f32, linear_wide_sm90, linear, 512, 221280, 192x96, POOL_F32)     \
    E(linear_sm90_192x192_f16, linear_wide_sm90, linear, 512, 196672, 192x192, F16)               \
    E(linear_sm90_192x192_normed_f16, linear_wide_sm90, linear, 512, 196672, 192x192, NORMED)     \
    E(linear_sm90_192x192_paired_f16, linear_wide_sm90, linear, 512, 196672, 192x192, PAIRED)     \
    E(linear_sm90_twin_normed_f16, linear_twin_sm90, followed, 384, 220304, twin, TWIN)           \
    E(linear_sm90_small_twin_normed_f16, linear_twin_sm90, followed, 384, 218848, low_twin, TWIN) \
    E(linear_sm90_terms_128x160_f32, linear_terms_sm90, linear, 384, 231984, terms_128x160, NONE) \
    E(linear_sm90_terms_128x128_f32, linear_terms_sm90, linear, 384, 206896, terms_128x128, NONE) \
    E(linear_sm90_terms_64x64_f32, linear_terms_sm90, linear, 256, 102960, terms_64x64, NONE)     \
    E(linear_sm90_terms_64x32_f32, linear_terms_sm90, linear, 256, 102720, terms_64x32, NONE)     \
    E(attention_sm90_d16_f16, attention_sm90, attention, 512, 55584, heads, D16)                  \
    E(attention_sm90_d32_f16, attention_sm90, attention, 512, 110880, heads, D32)                 \
    E(attention_sm90_d64_f16, attention_sm90, attention, 512, 221472, heads, D64)                 \
    E(attention_sm90_d128_f16, attention_sm90, attention, 384, 163936, wide_heads, D128)          \
    E(rel_attention_sm90_f16, rel_attention_sm90, rel_attention, 384, 205472, rel_heads, NONE)
/* clang-format on */

#define BI_GPU_ONE(...) +1
enum { BI_GPU_N_ENTRIES = 0 BI_GPU_ENTRIES_SM90(BI_GPU_ONE) BI_GPU_ENTRIES(BI_GPU_ONE) };
#undef BI_GPU_ONE

#endif
