/* gpu_entries_sm90.h - the entries of kernels/<op>_sm90.cu: like gpu_entries.h, for Hopper alone.
 *
 * E(name, module, params, threads, shared, grid): params names struct bi_<params>_sm90_params, which
 * begins with `maps` tensor maps; bi_gpu_grid_<grid> is given the params behind them. Blocks of
 * attention and of linears, but for MxN, stay on their multiprocessor: launch at most as many as there
 * are. They take
 *   linear_sm90_[small_|MxN_]a          x and w f16, y a; act none, gelu, relu; of neither small nor MxN: n % 8 == 0,
 *                                  y, bias, residual and their rows on 16 bytes
 *   linear_sm90_[small_|MxN_]rotated_*  table instead of act and residual, head_dim 16, 32 or 64
 *   linear_sm90_[small_]gated_*    gates in blocks of 16 rows, act silu or gelu_tanh; n % 32 == 0
 *   linear_sm90_[small_|MxN_]normed_f16, paired_f16, pooled_a  norm, pairs, pool of linear.h; n % 8 == 0, every
 *                                  array on 16 bytes, row strides multiples of 8 elements
 *   linear_sm90_[small_]twin_normed_f16  the same of a twin, whose tiles are of 256 rows and 128 columns,
 *                                  small: 64; to bits of its own
 *   attention_sm90_dN_f16          head_dim N exactly, no table, no bias
 *   rel_attention_sm90_f16         key_dim 64, value_dim 192; u, w too
 * all with bases of 16 bytes, row strides of x, w, q, k, v, r that are multiples of 8 elements; rows
 * of x may overlap, k being a multiple of the stride (windows). small: 64 x 64 tiles instead of 128 x 128.
 * MxN: tiles of M x N, one to a block; n even, and y, bias, residual, table aligned for two; of M 192 rows of y
 * on 16 bytes, which is always written, and no residual is made again.
 * All give the same bits. */
#ifndef BI_GPU_ENTRIES_SM90_H
#define BI_GPU_ENTRIES_SM90_H

#include "attention_sm90.h"
#include "gpu_entries.h"
#include "linear_sm90.h"
#include "rel_attention_sm90.h"

/* Tiles of all heads. */
#define BI_GPU_ALL_TILES_GRID(name, rows)                                                          \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        grid[0] = (bi_gpu_blocks(bucket->n_tokens, rows) + bucket->n_seqs) *                       \
                  ((const struct bi_attention_params *)params)->n_heads;                           \
        grid[1] = 1;                                                                               \
    }
BI_GPU_ALL_TILES_GRID(attention_sm90, 64)
BI_GPU_ALL_TILES_GRID(attention_sm90_wide, 128)
static inline void bi_gpu_grid_rel_attention_sm90(const void *params,
                                                  const struct bi_counts *bucket, int32_t grid[2])
{
    const struct bi_rel_attention_params *p = (const struct bi_rel_attention_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->n_queries, 128) * p->n_heads * p->n_windows;
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_SM90(E)                                                           \
    E(linear_sm90_f16,               linear_followed_sm90, linear_followed, 384, 231680, linear)  \
    E(linear_sm90_f32,               linear_followed_sm90, linear_followed, 384, 231808, linear)  \
    E(linear_sm90_rotated_f16,       linear_sm90,    linear,    384, 229488, linear)     \
    E(linear_sm90_gated_f16,         linear_sm90,    linear,    384, 229488, linear)     \
    E(linear_sm90_small_f16,         linear_sm90,    linear,    384, 229584, linear_small)\
    E(linear_sm90_small_f32,         linear_sm90,    linear,    384, 229584, linear_small)\
    E(linear_sm90_small_rotated_f16, linear_sm90,    linear,    384, 229584, linear_small)\
    E(linear_sm90_small_gated_f16,   linear_sm90,    linear,    384, 229584, linear_small)\
    E(linear_sm90_normed_f16,        linear_followed_sm90, linear_followed, 384, 229504, linear)  \
    E(linear_sm90_paired_f16,        linear_followed_sm90, linear_followed, 384, 231680, linear)  \
    E(linear_sm90_pooled_f16,        linear_followed_sm90, linear_followed, 384, 231664, linear)  \
    E(linear_sm90_pooled_f32,        linear_followed_sm90, linear_followed, 384, 231664, linear)  \
    E(linear_sm90_twin_normed_f16,   linear_twin_sm90, linear_followed, 384, 220304, linear_256x128)\
    E(linear_sm90_small_twin_normed_f16, linear_twin_sm90, linear_followed, 384, 218848, linear_256x64)\
    E(linear_sm90_small_normed_f16,  linear_followed_sm90, linear_followed, 384, 229616, linear_small)\
    E(linear_sm90_small_paired_f16,  linear_followed_sm90, linear_followed, 384, 214320, linear_small)\
    E(linear_sm90_small_pooled_f16,  linear_followed_sm90, linear_followed, 384, 230704, linear_small)\
    E(linear_sm90_small_pooled_f32,  linear_followed_sm90, linear_followed, 384, 230704, linear_small)\
    E(linear_sm90_192x96_f16,          linear_wide_sm90, linear, 512, 221280, linear_192x96)\
    E(linear_sm90_192x96_f32,          linear_wide_sm90, linear, 512, 221280, linear_192x96)\
    E(linear_sm90_192x96_pooled_f16,   linear_wide_sm90, linear, 512, 221280, linear_192x96)\
    E(linear_sm90_192x96_pooled_f32,   linear_wide_sm90, linear, 512, 221280, linear_192x96)\
    E(linear_sm90_192x192_f16,         linear_wide_sm90, linear, 512, 196672, linear_192x192)\
    E(linear_sm90_192x192_normed_f16,  linear_wide_sm90, linear, 512, 196672, linear_192x192)\
    E(linear_sm90_192x192_paired_f16,  linear_wide_sm90, linear, 512, 196672, linear_192x192)\
    E(linear_sm90_128x64_f16,        linear_small_sm90, linear, 288, 196736, linear_128x64)\
    E(linear_sm90_128x64_f32,        linear_small_sm90, linear, 288, 196736, linear_128x64)\
    E(linear_sm90_128x64_rotated_f16, linear_small_sm90, linear, 288, 196736, linear_128x64)\
    E(linear_sm90_64x64_f16,         linear_small_sm90, linear, 160, 98400,  linear_small)\
    E(linear_sm90_64x64_f32,         linear_small_sm90, linear, 160, 98400,  linear_small)\
    E(linear_sm90_64x64_rotated_f16, linear_small_sm90, linear, 160, 98400,  linear_small)\
    E(linear_sm90_32x64_f16,         linear_small_sm90, linear, 160, 98432,  linear_32x64)\
    E(linear_sm90_32x64_f32,         linear_small_sm90, linear, 160, 98432,  linear_32x64)\
    E(linear_sm90_32x64_rotated_f16, linear_small_sm90, linear, 160, 98432,  linear_32x64)\
    E(linear_sm90_32x32_f16,         linear_small_sm90, linear, 160, 98496,  linear_32x32)\
    E(linear_sm90_32x32_f32,         linear_small_sm90, linear, 160, 98496,  linear_32x32)\
    E(attention_sm90_d16_f16,        attention_sm90, attention, 512, 55584,  attention_sm90)\
    E(attention_sm90_d32_f16,        attention_sm90, attention, 512, 110880, attention_sm90)\
    E(attention_sm90_d64_f16,        attention_sm90, attention, 512, 221472, attention_sm90)\
    E(attention_sm90_d128_f16,       attention_sm90, attention, 384, 163936, attention_sm90_wide)\
    E(rel_attention_sm90_f16,        rel_attention_sm90, rel_attention, 384, 205472, rel_attention_sm90)
/* clang-format on */

#define BI_GPU_ENTRY_SM90(name, module, params, threads, shared, grid)                             \
    {#name,                                                                                        \
     #module,                                                                                      \
     threads,                                                                                      \
     shared,                                                                                       \
     bi_gpu_grid_##grid,                                                                           \
     offsetof(struct bi_##params##_sm90_params, params),                                           \
     sizeof(struct bi_##params##_sm90_params)},

#endif
