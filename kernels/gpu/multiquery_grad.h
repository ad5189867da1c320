/* multiquery_grad.h - GPU entries of kernels/multiquery_grad.h, and their grids.
 *
 * All arrays are f32. A block is a query of a head, a key, or a row of places of a head. */
#ifndef BI_GPU_MULTIQUERY_GRAD_ENTRIES_H
#define BI_GPU_MULTIQUERY_GRAD_ENTRIES_H

#include "../multiquery_grad.h"
#include "grid.h"

/* A block for each row (a query) along x, heads along y; bucket is not read in any of the three. */
static inline void bi_gpu_grid_multiquery_grad(const void *params, const struct bi_counts *bucket,
                                               int32_t grid[2])
{
    const struct bi_multiquery_grad_params *p = (const struct bi_multiquery_grad_params *)params;
    (void)bucket;
    grid[0] = (int32_t)p->of.rows;
    grid[1] = p->of.n_heads;
}

/* A block for each row (a key), of all heads; grid[1] is 1. */
static inline void bi_gpu_grid_multiquery_grad_keys(const void *params,
                                                    const struct bi_counts *bucket, int32_t grid[2])
{
    (void)bucket;
    grid[0] = (int32_t)((const struct bi_multiquery_grad_params *)params)->of.rows;
    grid[1] = 1;
}

/* A block for each row of places, rows / pool of them, along x, heads along y. */
static inline void bi_gpu_grid_multiquery_grad_bias(const void *params,
                                                    const struct bi_counts *bucket, int32_t grid[2])
{
    const struct bi_multiquery_grad_params *p = (const struct bi_multiquery_grad_params *)params;
    (void)bucket;
    grid[0] = (int32_t)(p->of.rows / p->of.pool);
    grid[1] = p->of.n_heads;
}

BI_GPU_TAKES_OF(mg_f32, multiquery_grad, !(call->half_in & 1) && p->of.d <= BI_MULTIQUERY_KEY_GPU)

/* clang-format off */
#define BI_GPU_ENTRIES_multiquery_grad(E) \
    E(multiquery_grad_f32, multiquery_grad, multiquery_grad, 128, 2560, multiquery_grad, mg_f32) \
    E(multiquery_grad_keys_f32, multiquery_grad, multiquery_grad_keys, 128, 2560, \
      multiquery_grad_keys, mg_f32) \
    E(multiquery_grad_bias_f32, multiquery_grad, multiquery_grad_bias, 128, 2560, \
      multiquery_grad_bias, mg_f32)
/* clang-format on */

#endif
