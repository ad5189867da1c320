/* grids.h - GPU entries of kernels/grids.h, and their grids.
 *
 * turn_a: x, y a. All other arrays are f32. */
#ifndef BI_GPU_GRIDS_ENTRIES_H
#define BI_GPU_GRIDS_ENTRIES_H

#include "../grids.h"
#include "grid.h"

BI_GPU_ROWS_GRID(symmetrise)
BI_GPU_ROWS_GRID(outer_add)
BI_GPU_ROWS_GRID(turn)
BI_GPU_ROWS_GRID(grid_logits)

/* 32 rows of a head by 32 of w to a block, all from one of `blocks`, along x; heads along y. */
static inline void bi_gpu_grid_head_products(const void *params, const struct bi_counts *bucket,
                                             int32_t grid[2])
{
    const struct bi_head_products_params *p = (const struct bi_head_products_params *)params;
    (void)bucket;
    grid[0] = p->blocks * bi_gpu_blocks(p->rows / p->blocks, 32) * bi_gpu_blocks(p->m, 32);
    grid[1] = p->n_heads;
}

/* clang-format off */
#define BI_GPU_ENTRIES_grids(E) \
    E(symmetrise_f32, grids, symmetrise, 256, 0, symmetrise, f32)    \
    E(outer_add_f32, grids, outer_add, 256, 0, outer_add, f32)       \
    E(turn_f32, grids, turn, 256, 0, turn, f32)                      \
    E(turn_f16, grids, turn, 256, 0, turn, f16)                      \
    E(grid_logits_f32, grids, grid_logits, 256, 0, grid_logits, f32) \
    E(head_products_f32, grids, head_products, 256, 20864, head_products, f32)
/* clang-format on */

#endif
