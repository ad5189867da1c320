/* layernorm.h - GPU entries of kernels/layernorm.h, and their grids.
 *
 * layernorm_a_b: x, add, sum a, y b; w, b f32; copy f16. layernorm_rotated_a_b: with a table, and
 * no other is. layernorm_wide_a_b: faster for widths from 1,281 to 1,536. */
#ifndef BI_GPU_LAYERNORM_ENTRIES_H
#define BI_GPU_LAYERNORM_ENTRIES_H

#include "../layernorm.h"
#include "grid.h"

/* Eight rows to a block; groups of a row are rows here. At most BI_LAYERNORM_BLOCKS, which then go
 * on to further rows. */
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

/* Are x and what is normed of it f16, as half_x and half_y say? Of a sum that is stored, too, y is
 * the second output. */
static inline bool bi_gpu_is_norm(const struct bi_call *call, bool half_x, bool half_y)
{
    const struct bi_layernorm_params *p = (const struct bi_layernorm_params *)call->params;
    return (call->half_in & 1) == half_x && (call->half_out >> (p->sum ? 1 : 0) & 1) == half_y;
}
BI_GPU_TAKES_OF(norm_rotated, layernorm, p->table &&bi_gpu_is_norm(call, true, true))
BI_GPU_TAKES_OF(norm_f32_f32, layernorm, !p->table && bi_gpu_is_norm(call, false, false))
BI_GPU_TAKES_OF(norm_f32_f16, layernorm, !p->table && bi_gpu_is_norm(call, false, true))
/* Sums are float32. */
BI_GPU_TAKES_OF(norm_f16_f16, layernorm, !p->table && !p->add && bi_gpu_is_norm(call, true, true))
BI_GPU_TAKES_OF(norm_wide, layernorm,
                bi_gpu_takes_norm_f32_f16(call) && p->width > 1280 && p->width <= 1536)

/* clang-format off */
#define BI_GPU_ENTRIES_layernorm(E) \
    E(layernorm_rotated_f16_f16, layernorm, layernorm, 256, 10240, layernorm, norm_rotated) \
    E(layernorm_wide_f32_f16, layernorm, layernorm, 256, 12288, layernorm, norm_wide)       \
    E(layernorm_f32_f16, layernorm, layernorm, 256, 10240, layernorm, norm_f32_f16)         \
    E(layernorm_f16_f16, layernorm, layernorm, 256, 10240, layernorm, norm_f16_f16)         \
    E(layernorm_f32_f32, layernorm, layernorm, 256, 10240, layernorm, norm_f32_f32)
/* clang-format on */

#endif
