/* attention.h - GPU entries of kernels/attention.h, and their grids.
 *
 * attention_dN_a: q, k, v, y a; table f32; head widths up to N; softmax in f32. Take the smallest N
 * that does: f16 16, 32, 64, 128; f32 64, 128, 256. attention_bias_*: with a bias by place; the f32
 * entries take one, too. attention_grid_*: with a bias by pairs, as the f32 entries do.
 * attention_near_dN_f32: all arrays f32, without a bias, on matrix units that take f32 or terms of
 * it; N 32, 48, 64, 80, 128. scores_a: q, k a; p f32. mix_a: p f32; v, y a. */
#ifndef BI_GPU_ATTENTION_ENTRIES_H
#define BI_GPU_ATTENTION_ENTRIES_H

#include "../attention.h"
#include "grid.h"

/* Tiles of each sequence (gpu_tiles.h), by heads; params say what counts rows and sequences. */
#define BI_GPU_AXES_GRID(name, op, rows)                                                           \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        const struct bi_##op##_params *p = (const struct bi_##op##_params *)params;                \
        grid[0] = bi_gpu_blocks(bi_live_rows(bucket, p->axis, 0), rows) +                          \
                  (int32_t)bi_live_rows(bucket, p->seqs, 0);                                       \
        grid[1] = p->n_heads;                                                                      \
    }
BI_GPU_AXES_GRID(attention, attention, 64)

/* Eight rows, each of a row of the bucket and a head, to a block: grid[1] is 1. */
static inline void bi_gpu_grid_relative_bias(const void *params, const struct bi_counts *bucket,
                                             int32_t grid[2])
{
    const struct bi_relative_bias_params *p = (const struct bi_relative_bias_params *)params;
    grid[0] = bi_gpu_blocks(bi_live_rows(bucket, p->axis, 0) * p->n_heads, 8);
    grid[1] = 1;
}

/* The same. */
static inline void bi_gpu_grid_grid_bias(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_grid_bias_params *p = (const struct bi_grid_bias_params *)params;
    grid[0] = bi_gpu_blocks(bi_live_rows(bucket, p->axis, 0) * p->n_heads, 8);
    grid[1] = 1;
}

/* The same. */
static inline void bi_gpu_grid_softmax(const void *params, const struct bi_counts *bucket,
                                       int32_t grid[2])
{
    const struct bi_softmax_params *p = (const struct bi_softmax_params *)params;
    grid[0] = bi_gpu_blocks(bi_live_rows(bucket, p->axis, 0) * p->n_heads, 8);
    grid[1] = 1;
}

BI_GPU_AXES_GRID(attention_f32, attention, 32)
BI_GPU_AXES_GRID(attention_128, attention, 128)
BI_GPU_AXES_GRID(scores, scores, 32)
BI_GPU_AXES_GRID(mix, mix, 32)

/* Head widths that an entry takes; entries stand in the order of theirs. */
#define BI_GPU_HALF_WIDTH(width)                                                                   \
    BI_GPU_TAKES_OF(d##width##_f16, attention,                                                     \
                    (call->half_in & 1) && !p->bias && !p->grid_bias && p->head_dim <= width)
#define BI_GPU_GRID_WIDTH(width)                                                                   \
    BI_GPU_TAKES_OF(grid_d##width##_f16, attention,                                                \
                    (call->half_in & 1) && p->grid_bias && p->head_dim <= width)
#define BI_GPU_BIAS_WIDTH(width)                                                                   \
    BI_GPU_TAKES_OF(bias_d##width##_f16, attention,                                                \
                    (call->half_in & 1) && p->bias && p->head_dim <= width)
#define BI_GPU_FULL_WIDTH(width)                                                                   \
    BI_GPU_TAKES_OF(d##width##_f32, attention, !(call->half_in & 1) && p->head_dim <= width)
/* Narrow heads leave matrix units little to do, and stay chains. */
enum { BI_GPU_NEAR_HEAD = 16 };
#define BI_GPU_NEAR_WIDTH(width)                                                                   \
    BI_GPU_TAKES_OF(near_d##width##_f32, attention,                                                \
                    call->near_f32 && !(call->half_in & 1) && !p->bias && !p->grid_bias &&         \
                        p->head_dim >= BI_GPU_NEAR_HEAD && p->head_dim <= width)
BI_GPU_HALF_WIDTH(16)
BI_GPU_HALF_WIDTH(32)
BI_GPU_HALF_WIDTH(64)
BI_GPU_HALF_WIDTH(128)
BI_GPU_GRID_WIDTH(32)
BI_GPU_GRID_WIDTH(64)
BI_GPU_BIAS_WIDTH(64)
BI_GPU_BIAS_WIDTH(128)
BI_GPU_NEAR_WIDTH(32)
BI_GPU_NEAR_WIDTH(48)
BI_GPU_NEAR_WIDTH(64)
BI_GPU_NEAR_WIDTH(80)
BI_GPU_NEAR_WIDTH(128)
BI_GPU_FULL_WIDTH(64)
BI_GPU_FULL_WIDTH(128)
BI_GPU_FULL_WIDTH(256)

/* clang-format off */
#define BI_GPU_ENTRIES_attention(E) \
    E(attention_bias_d64_f16, attention, attention, 128, 18432, attention, bias_d64_f16)   \
    E(attention_bias_d128_f16, attention, attention, 128, 17408, attention, bias_d128_f16) \
    E(attention_grid_d32_f16, attention, attention, 128, 26880, attention, grid_d32_f16)   \
    E(attention_grid_d64_f16, attention, attention, 128, 35072, attention, grid_d64_f16)   \
    E(attention_d16_f16, attention, attention, 128, 6144, attention, d16_f16)              \
    E(attention_d32_f16, attention, attention, 128, 10240, attention, d32_f16)             \
    E(attention_d64_f16, attention, attention, 128, 18432, attention, d64_f16)             \
    E(attention_d128_f16, attention, attention, 128, 17408, attention, d128_f16)           \
    E(relative_bias_f32, relative_bias, relative_bias, 256, 0, relative_bias, f32)         \
    E(grid_bias_f32, grid_bias, grid_bias, 256, 0, grid_bias, f32)                         \
    E(softmax_f32, softmax, softmax, 256, 0, softmax, f32)                                 \
    E(attention_near_d32_f32, attention_near, attention, 128, 27648, attention_128, near_d32_f32) \
    E(attention_near_d48_f32, attention_near, attention, 128, 39936, attention_128, near_d48_f32) \
    E(attention_near_d64_f32, attention_near, attention, 128, 52224, attention_128, near_d64_f32) \
    E(attention_near_d80_f32, attention_near, attention, 128, 54528, attention, near_d80_f32) \
    E(attention_near_d128_f32, attention_near, attention, 128, 85248, attention, near_d128_f32) \
    E(attention_d64_f32, attention_f32, attention, 256, 20864, attention_f32, d64_f32)     \
    E(attention_d128_f32, attention_f32, attention, 256, 20864, attention_f32, d128_f32)   \
    E(attention_d256_f32, attention_f32, attention, 256, 20864, attention_f32, d256_f32)   \
    E(scores_f32, scores, scores, 256, 20864, scores, f32)                                 \
    E(scores_f16, scores, scores, 256, 20864, scores, f16)                                 \
    E(mix_f32, mix, mix, 256, 20864, mix, second_f32)                                      \
    E(mix_f16, mix, mix, 256, 20864, mix, second_f16)
/* clang-format on */

#endif
