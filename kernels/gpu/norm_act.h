/* norm_act.h - GPU entries of kernels/norm_act.h, and their grids.
 *
 * norm_act_a_b: x a, y b, rest f32. */
#ifndef BI_GPU_NORM_ACT_ENTRIES_H
#define BI_GPU_NORM_ACT_ENTRIES_H

#include "../norm_act.h"
#include "grid.h"

/* Eight rows of y to a block, the zero rows before and behind counted; bucket is not read. */
static inline void bi_gpu_grid_norm_act(const void *params, const struct bi_counts *bucket,
                                        int32_t grid[2])
{
    const struct bi_norm_act_params *p = (const struct bi_norm_act_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->rows + 2 * p->pad, 8);
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_norm_act(E) \
    E(norm_act_f32_f32, pairs, norm_act, 256, 0, norm_act, f32_f32) \
    E(norm_act_f32_f16, pairs, norm_act, 256, 0, norm_act, f32_f16) \
    E(norm_act_f16_f16, pairs, norm_act, 256, 0, norm_act, f16_f16)
/* clang-format on */

#endif
