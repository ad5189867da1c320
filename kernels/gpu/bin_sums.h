/* bin_sums.h - GPU entries of kernels/bin_sums.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_BIN_SUMS_ENTRIES_H
#define BI_GPU_BIN_SUMS_ENTRIES_H

#include "../bin_sums.h"
#include "grid.h"

/* Blocks of 32 columns along x, windows along y; bucket is not read. */
static inline void bi_gpu_grid_bin_sums(const void *params, const struct bi_counts *bucket,
                                        int32_t grid[2])
{
    const struct bi_bin_sums_params *p = (const struct bi_bin_sums_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->width, 32);
    grid[1] = p->n_windows;
}

/* Blocks of 32 columns. */
static inline void bi_gpu_grid_bin_add(const void *params, const struct bi_counts *bucket,
                                       int32_t grid[2])
{
    (void)bucket;
    grid[0] = bi_gpu_blocks(((const struct bi_bin_add_params *)params)->width, 32);
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_bin_sums(E) \
    E(bin_sums_f32, bin_sums, bin_sums, 256, 4096, bin_sums, f32) \
    E(bin_add_f32, bin_sums, bin_add, 256, 4096, bin_add, f32)
/* clang-format on */

#endif
