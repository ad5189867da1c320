/* depthwise.h - GPU entries of kernels/depthwise.h, and their grids.
 *
 * depthwise_f32_b: x f32, y b, rest f32. */
#ifndef BI_GPU_DEPTHWISE_ENTRIES_H
#define BI_GPU_DEPTHWISE_ENTRIES_H

#include "../depthwise.h"
#include "grid.h"

BI_GPU_ROWS_GRID(depthwise)

/* clang-format off */
#define BI_GPU_ENTRIES_depthwise(E) \
    E(depthwise_f32_f32, pairs, depthwise, 256, 0, depthwise, f32_f32) \
    E(depthwise_f32_f16, pairs, depthwise, 256, 0, depthwise, f32_f16)
/* clang-format on */

#endif
