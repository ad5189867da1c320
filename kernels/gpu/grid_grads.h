/* grid_grads.h - GPU entries of kernels/grid_grads.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_GRID_GRADS_ENTRIES_H
#define BI_GPU_GRID_GRADS_ENTRIES_H

#include "../grid_grads.h"
#include "grid.h"

BI_GPU_ROWS_GRID(grid_logits_grad)

/* Eight rows of the result to a block along x, heads along y; bucket is not read. */
static inline void bi_gpu_grid_head_products_grad(const void *params,
                                                  const struct bi_counts *bucket, int32_t grid[2])
{
    const struct bi_head_products_grad_params *p = (const struct bi_head_products_grad_params *)
        params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->out_rows, 8);
    grid[1] = p->n_heads;
}

/* clang-format off */
#define BI_GPU_ENTRIES_grid_grads(E) \
    E(head_products_grad_f32, grid_grads, head_products_grad, 256, 0, head_products_grad, f32) \
    E(grid_logits_grad_f32, grid_grads, grid_logits_grad, 256, 0, grid_logits_grad, f32)
/* clang-format on */

#endif
