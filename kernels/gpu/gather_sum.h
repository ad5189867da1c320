/* gather_sum.h - GPU entries of kernels/gather_sum.h, and their grids.
 *
 * x f32; gather_sum_f32: y f32, gather_sum_f32_f16: y f16. */
#ifndef BI_GPU_GATHER_SUM_ENTRIES_H
#define BI_GPU_GATHER_SUM_ENTRIES_H

#include "../gather_sum.h"
#include "grid.h"

BI_GPU_ROWS_GRID(gather_sum)

/* clang-format off */
#define BI_GPU_ENTRIES_gather_sum(E) \
    E(gather_sum_f32, gather_sum, gather_sum, 256, 0, gather_sum, f32_f32) \
    E(gather_sum_f32_f16, gather_sum, gather_sum, 256, 0, gather_sum, f32_f16)
/* clang-format on */

#endif
