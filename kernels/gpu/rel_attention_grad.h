/* rel_attention_grad.h - GPU entries of kernels/rel_attention_grad.h, and their grids.
 *
 * All arrays are f32. A block is a query, or a key, of a head. */
#ifndef BI_GPU_REL_ATTENTION_GRAD_ENTRIES_H
#define BI_GPU_REL_ATTENTION_GRAD_ENTRIES_H

#include "../rel_attention_grad.h"
#include "grid.h"

/* A block for each query of each window along x, heads along y; bucket is not read. */
static inline void bi_gpu_grid_rel_attention_grad(const void *params,
                                                  const struct bi_counts *bucket, int32_t grid[2])
{
    const struct bi_rel_attention_grad_params *p = (const struct bi_rel_attention_grad_params *)
        params;
    (void)bucket;
    grid[0] = p->n_windows * p->n_queries;
    grid[1] = p->n_heads;
}

/* A block for each key of each window along x, heads along y; bucket is not read. */
static inline void bi_gpu_grid_rel_attention_grad_keys(const void *params,
                                                       const struct bi_counts *bucket,
                                                       int32_t grid[2])
{
    const struct bi_rel_attention_grad_keys_params *p =
        (const struct bi_rel_attention_grad_keys_params *)params;
    (void)bucket;
    grid[0] = p->n_windows * p->n;
    grid[1] = p->n_heads;
}

/* clang-format off */
#define BI_GPU_ENTRIES_rel_attention_grad(E) \
    E(rel_attention_grad_f32, rel_attention_grad, rel_attention_grad, 128, 3072, \
      rel_attention_grad, f32) \
    E(rel_attention_grad_keys_f32, rel_attention_grad, rel_attention_grad_keys, 128, 3072, \
      rel_attention_grad_keys, f32)
/* clang-format on */

#endif
