/* linear.h - GPU entries of kernels/linear.h, and their grids.
 *
 * linear_a_b: x and w a, y and residual b; bias f32. linear_f32: all f32, one chain of fused
 * multiply-adds per element. w is [n, k] row-major, not packed. linear_gated_*: w is gates and
 * values in blocks of 16 rows (linear.h); n % 32 == 0. linear_small_*: 64 x 64 tiles (f32: 16 x 16,
 * not gated), for few rows: the same bits as the others. */
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
BI_GPU_LINEAR_GRID(linear_192x192, 192, 192)
BI_GPU_LINEAR_GRID(linear_256x128, 256, 128)
BI_GPU_LINEAR_GRID(linear_256x64, 256, 64)
BI_GPU_LINEAR_GRID(linear_192x96, 192, 96)
BI_GPU_LINEAR_GRID(linear_128x64, 128, 64)
BI_GPU_LINEAR_GRID(linear_32x64, 32, 64)
BI_GPU_LINEAR_GRID(linear_32x32, 32, 32)
BI_GPU_LINEAR_GRID(linear_small_f32, 16, 16)

/* clang-format off */
#define BI_GPU_ENTRIES_linear(E) \
    E(linear_f16_f16, linear, linear, 256, 81920, linear)                   \
    E(linear_f16_f32, linear, linear, 256, 81920, linear)                   \
    E(linear_small_f16_f16, linear, linear, 128, 40960, linear_small)       \
    E(linear_small_f16_f32, linear, linear, 128, 40960, linear_small)       \
    E(linear_gated_f16_f16, linear, linear, 256, 81920, linear)             \
    E(linear_gated_small_f16_f16, linear, linear, 128, 40960, linear_small) \
    E(linear_f32, linear_f32, linear, 256, 16896, linear)                   \
    E(linear_small_f32, linear_f32, linear, 256, 16896, linear_small_f32)
/* clang-format on */

#endif
