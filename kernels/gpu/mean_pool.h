/* mean_pool.h - GPU entries of kernels/mean_pool.h, and their grids.
 *
 * mean_pool_a: x a; w, b, y f32. */
#ifndef BI_GPU_MEAN_POOL_ENTRIES_H
#define BI_GPU_MEAN_POOL_ENTRIES_H

#include "../mean_pool.h"
#include "grid.h"

/* Sequences of the bucket along x, blocks of columns along y: 256 of them where there are weights
 * of a norm (w), else 64. */
static inline void bi_gpu_grid_mean_pool(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_mean_pool_params *p = (const struct bi_mean_pool_params *)params;
    grid[0] = bucket->n_seqs;
    grid[1] = bi_gpu_blocks(p->width, p->w ? 256 : 64);
}

/* clang-format off */
#define BI_GPU_ENTRIES_mean_pool(E) \
    E(mean_pool_f32, mean_pool, mean_pool, 256, 4096, mean_pool, f32) \
    E(mean_pool_f16, mean_pool, mean_pool, 256, 4096, mean_pool, f16)
/* clang-format on */

#endif
