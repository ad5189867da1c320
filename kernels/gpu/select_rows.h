/* select_rows.h - GPU entries of kernels/select_rows.h, and their grids.
 *
 * select_rows_a: x, y a; select_rows_f32_f16: x f32, y f16. */
#ifndef BI_GPU_SELECT_ROWS_ENTRIES_H
#define BI_GPU_SELECT_ROWS_ENTRIES_H

#include "../select_rows.h"
#include "grid.h"

BI_GPU_ROWS_GRID(select_rows)

/* clang-format off */
#define BI_GPU_ENTRIES_select_rows(E) \
    E(select_rows_f32, select_rows, select_rows, 256, 0, select_rows, f32_f32)     \
    E(select_rows_f16, select_rows, select_rows, 256, 0, select_rows, f16)         \
    E(select_rows_f32_f16, select_rows, select_rows, 256, 0, select_rows, f32_f16)
/* clang-format on */

#endif
