/* layernorm.h - GPU entries of kernels/layernorm.h, and their grids.
 *
 * layernorm_a_b: x, add, sum a, y b; w, b f32; copy f16. layernorm_rotated_a_b: with a table, and
 * no other is. layernorm_wide_a_b: faster for widths from 1,281 to 1,536. */
#ifndef BI_GPU_LAYERNORM_ENTRIES_H
#define BI_GPU_LAYERNORM_ENTRIES_H

#include "../layernorm.h"
#include "grid.h"

/* Groups of a row are rows here. */
static inline void bi_gpu_grid_layernorm(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_layernorm_params *p = (const struct bi_layernorm_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->rows * (p->groups > 1 ? p->groups : 1), 8);
    if (grid[0] > BI_LAYERNORM_BLOCKS)
        grid[0] = BI_LAYERNORM_BLOCKS;
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_layernorm(E) \
    E(layernorm_f32_f16, layernorm, layernorm, 256, 10240, layernorm)         \
    E(layernorm_wide_f32_f16, layernorm, layernorm, 256, 12288, layernorm)    \
    E(layernorm_f16_f16, layernorm, layernorm, 256, 10240, layernorm)         \
    E(layernorm_rotated_f16_f16, layernorm, layernorm, 256, 10240, layernorm) \
    E(layernorm_f32_f32, layernorm, layernorm, 256, 10240, layernorm)
/* clang-format on */

#endif
