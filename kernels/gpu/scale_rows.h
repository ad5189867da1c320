/* scale_rows.h - GPU entries of kernels/scale_rows.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_SCALE_ROWS_ENTRIES_H
#define BI_GPU_SCALE_ROWS_ENTRIES_H

#include "../scale_rows.h"
#include "grid.h"

BI_GPU_ROWS_GRID(scale_rows)

/* clang-format off */
#define BI_GPU_ENTRIES_scale_rows(E) \
    E(scale_rows_f32, scale_rows, scale_rows, 256, 0, scale_rows, f32)
/* clang-format on */

#endif
