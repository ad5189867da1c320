/* list_sums.h - GPU entries of kernels/list_sums.h, and their grids.
 *
 * All arrays but the lists are f32. */
#ifndef BI_GPU_LIST_SUMS_ENTRIES_H
#define BI_GPU_LIST_SUMS_ENTRIES_H

#include "../list_sums.h"
#include "grid.h"

/* Blocks of 32 columns along x, one row of blocks for each list; bucket is not read. */
static inline void bi_gpu_grid_list_sums(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_list_sums_params *p = (const struct bi_list_sums_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->width, 32);
    grid[1] = p->n;
}

/* The same of a tile. */
static inline void bi_gpu_grid_list_add(const void *params, const struct bi_counts *bucket,
                                        int32_t grid[2])
{
    const struct bi_list_add_params *p = (const struct bi_list_add_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->width, 32);
    grid[1] = p->n;
}

BI_GPU_ROWS_GRID(put_listed)

/* clang-format off */
#define BI_GPU_ENTRIES_list_sums(E) \
    E(list_sums_f32, list_sums, list_sums, 256, 2048, list_sums, f32) \
    E(list_add_f32, list_sums, list_add, 256, 2048, list_add, f32)    \
    E(put_listed_f32, list_sums, put_listed, 256, 0, put_listed, f32)
/* clang-format on */

#endif
