/* rope.h - GPU entries of kernels/rope.h, and their grids.
 *
 * rope_a: x, y a; rope_f32_f16: x f32, y f16. */
#ifndef BI_GPU_ROPE_ENTRIES_H
#define BI_GPU_ROPE_ENTRIES_H

#include "../rope.h"
#include "grid.h"

/* Eight rows to a block: tokens of the bucket where rows have places in sequences (start), else the
 * rows of the params. */
static inline void bi_gpu_grid_rope(const void *params, const struct bi_counts *bucket,
                                    int32_t grid[2])
{
    const struct bi_rope_params *p = (const struct bi_rope_params *)params;
    grid[0] = bi_gpu_blocks(p->start ? bucket->n_tokens : p->rows, 8);
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_rope(E) \
    E(rope_f32, rope, rope, 256, 0, rope, f32_f32)     \
    E(rope_f16, rope, rope, 256, 0, rope, f16)         \
    E(rope_f32_f16, rope, rope, 256, 0, rope, f32_f16)
/* clang-format on */

#endif
