/* pairs.h - GPU entries of kernels/pairs.h, and their grids.
 *
 * pair_diff_a_b, pair_pool_a_b: x a, y b, rest f32. */
#ifndef BI_GPU_PAIRS_ENTRIES_H
#define BI_GPU_PAIRS_ENTRIES_H

#include "../pairs.h"
#include "grid.h"

BI_GPU_ROWS_GRID(pair_diff)
BI_GPU_ROWS_GRID(pair_pool)

/* clang-format off */
#define BI_GPU_ENTRIES_pairs(E) \
    E(pair_diff_f32_f32, pairs, pair_diff, 256, 0, pair_diff, f32_f32) \
    E(pair_diff_f32_f16, pairs, pair_diff, 256, 0, pair_diff, f32_f16) \
    E(pair_diff_f16_f16, pairs, pair_diff, 256, 0, pair_diff, f16_f16) \
    E(pair_pool_f16_f32, pairs, pair_pool, 256, 0, pair_pool, f16_f32) \
    E(pair_pool_f16_f16, pairs, pair_pool, 256, 0, pair_pool, f16_f16) \
    E(pair_pool_f32_f32, pairs, pair_pool, 256, 0, pair_pool, f32_f32)
/* clang-format on */

#endif
