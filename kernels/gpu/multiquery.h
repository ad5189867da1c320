/* multiquery.h - GPU entries of kernels/multiquery.h, and their grids.
 *
 * All arrays are f32. A block makes 32 rows of a head. */
#ifndef BI_GPU_MULTIQUERY_ENTRIES_H
#define BI_GPU_MULTIQUERY_ENTRIES_H

#include "../multiquery.h"
#include "grid.h"

static inline void bi_gpu_grid_multiquery(const void *params, const struct bi_counts *bucket,
                                          int32_t grid[2])
{
    const struct bi_multiquery_params *p = (const struct bi_multiquery_params *)params;
    (void)bucket;
    grid[0] = (int32_t)(p->rows / p->n) * bi_gpu_blocks(p->n, 32);
    grid[1] = p->n_heads;
}

/* clang-format off */
#define BI_GPU_ENTRIES_multiquery(E) \
    E(multiquery_f32, multiquery, multiquery, 256, 45184, multiquery, f32)
/* clang-format on */

#endif
