/* linear.h - GPU entries of kernels/linear.h, and their grids.
 *
 * linear_a_b: x and w a, y and residual b; bias f32. linear_f32: all f32, one chain of fused
 * multiply-adds per element. w is [n, k] row-major, not packed. linear_gated_*: w is gates and
 * values in blocks of 16 rows (linear.h); n % 32 == 0. linear_small_*: 64 x 64 tiles (f32: 16 x 16,
 * not gated), for few rows: the same bits as the others.
 *
 * linear_near_f32: all f32 on matrix units, but for what Hopper has entries of its own; errors are
 * as of float32 sums (linear_near.cu); _32 (not gated) makes smaller tiles, and _few tiles of
 * 16 x 16 whose k is shared by the waves of a block, all with the same bits. Whether a product is
 * one of them depends on n and k alone, so a row has the same bits among any others. */
#ifndef BI_GPU_LINEAR_ENTRIES_H
#define BI_GPU_LINEAR_ENTRIES_H

#include "../linear.h"
#include "grid.h"

/* Tiles of y. */
#define BI_GPU_LINEAR_GRID(name, M, N)                                                             \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        const struct bi_linear_params *p = (const struct bi_linear_params *)params;                \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(p->rows, M) * bi_gpu_blocks(p->n, N);                              \
        grid[1] = 1;                                                                               \
    }
BI_GPU_LINEAR_GRID(linear, 128, 128)
BI_GPU_LINEAR_GRID(linear_small, 64, 64)
BI_GPU_LINEAR_GRID(linear_near_32, 32, 32)
BI_GPU_LINEAR_GRID(linear_16, 16, 16)

/* Is it one for portable entries, with x in f16 or not, and gated or not, as half and gated say? A
 * result beside y, or in another place than y, a rotation, rows in twos and a residual that is made
 * again are Hopper's alone, and what gradients ask for is in float32; the type of y is not looked
 * at. */
static inline bool bi_gpu_is_product(const struct bi_call *call, bool half, bool gated)
{
    const struct bi_linear_params *p = (const struct bi_linear_params *)call->params;
    return !p->also && !p->odd && !p->table && !p->twin && !p->more_x &&
           (!half || (!p->before && !p->slope)) && (call->half_in & 1) == half &&
           (p->gated != 0) == gated;
}

/* Few tiles, fewer than two for each multiprocessor, leave most of the chip idle: then the 64 x 64
 * entry, which gives the same bits. Types are not looked at, and no call of the CPU is one. */
static inline bool bi_gpu_is_few(const struct bi_call *call)
{
    const struct bi_linear_params *p = (const struct bi_linear_params *)call->params;
    return bi_gpu_blocks(p->rows, 128) * (int64_t)bi_gpu_blocks(p->n, 128) < 2 * call->units;
}

/* The same in float32, where the small entry reads eight times as much for what it makes: one tile,
 * or fewer than one for four multiprocessors. Never of gates. */
static inline bool bi_gpu_is_few_f32(const struct bi_call *call)
{
    const struct bi_linear_params *p = (const struct bi_linear_params *)call->params;
    const int64_t tiles = bi_gpu_blocks(p->rows, 128) * (int64_t)bi_gpu_blocks(p->n, 128);
    return !p->gated && (tiles <= 1 || 4 * tiles < call->units);
}

/* Products in float32, gated too, that are worth a tile of the matrix unit, which begins with 64
 * columns of each. */
static inline bool bi_gpu_is_near(const struct bi_call *call)
{
    const struct bi_linear_params *p = (const struct bi_linear_params *)call->params;
    return call->near_f32 && p->k >= 64 && p->n >= 64 &&
           (bi_gpu_is_product(call, false, false) || bi_gpu_is_product(call, false, true));
}

/* Are there fewer tiles of y than so many for each multiprocessor? */
static inline bool bi_gpu_is_below(const struct bi_call *call, int32_t tile, int32_t times)
{
    const struct bi_linear_params *p = (const struct bi_linear_params *)call->params;
    return bi_gpu_blocks(p->rows, tile) * (int64_t)bi_gpu_blocks(p->n, tile) <
           (int64_t)times * call->units;
}

BI_GPU_TAKES(product_f16_f16, bi_gpu_is_product(call, true, false) && (call->half_out & 1))
BI_GPU_TAKES(product_f16_f32, bi_gpu_is_product(call, true, false) && !(call->half_out & 1))
BI_GPU_TAKES(few_f16_f16, bi_gpu_takes_product_f16_f16(call) && bi_gpu_is_few(call))
BI_GPU_TAKES(few_f16_f32, bi_gpu_takes_product_f16_f32(call) && bi_gpu_is_few(call))
BI_GPU_TAKES(gates, bi_gpu_is_product(call, true, true) && (call->half_out & 1))
BI_GPU_TAKES(few_gates, bi_gpu_takes_gates(call) && bi_gpu_is_few(call))
BI_GPU_TAKES(near_few_f32, bi_gpu_is_near(call) && bi_gpu_is_product(call, false, false) &&
                               bi_gpu_is_below(call, 16, 4))
BI_GPU_TAKES(near_32_f32, bi_gpu_is_near(call) && bi_gpu_is_product(call, false, false) &&
                              bi_gpu_is_below(call, 64, 1))
BI_GPU_TAKES(near_f32, bi_gpu_is_near(call))
BI_GPU_TAKES(product_f32,
             bi_gpu_is_product(call, false, false) || bi_gpu_is_product(call, false, true))
BI_GPU_TAKES(few_f32, bi_gpu_takes_product_f32(call) && bi_gpu_is_few_f32(call))

/* clang-format off */
#define BI_GPU_ENTRIES_linear(E) \
    E(linear_small_f16_f16, linear, linear, 128, 40960, linear_small, few_f16_f16)     \
    E(linear_f16_f16, linear, linear, 256, 81920, linear, product_f16_f16)             \
    E(linear_small_f16_f32, linear, linear, 128, 40960, linear_small, few_f16_f32)     \
    E(linear_f16_f32, linear, linear, 256, 81920, linear, product_f16_f32)             \
    E(linear_gated_small_f16_f16, linear, linear, 128, 40960, linear_small, few_gates) \
    E(linear_gated_f16_f16, linear, linear, 256, 81920, linear, gates)                 \
    E(linear_near_few_f32, linear_near, linear, 256, 32768, linear_16, near_few_f32) \
    E(linear_near_32_f32, linear_near, linear, 128, 32768, linear_near_32, near_32_f32) \
    E(linear_near_f32, linear_near, linear, 128, 32768, linear_small, near_f32)         \
    E(linear_small_f32, linear_f32, linear, 256, 16896, linear_16, few_f32)     \
    E(linear_f32, linear_f32, linear, 256, 16896, linear, product_f32)
/* clang-format on */

#endif
