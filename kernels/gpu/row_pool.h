/* row_pool.h - GPU entries of kernels/row_pool.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_ROW_POOL_ENTRIES_H
#define BI_GPU_ROW_POOL_ENTRIES_H

#include "../row_pool.h"
#include "grid.h"

BI_GPU_ROWS_GRID(row_pool)

/* clang-format off */
#define BI_GPU_ENTRIES_row_pool(E) \
    E(row_pool_f32, row_pool, row_pool, 256, 0, row_pool, f32)
/* clang-format on */

#endif
