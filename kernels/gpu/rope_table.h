/* rope_table.h - GPU entries of kernels/rope_table.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_ROPE_TABLE_ENTRIES_H
#define BI_GPU_ROPE_TABLE_ENTRIES_H

#include "../rope_table.h"
#include "grid.h"

BI_GPU_ROWS_GRID(rope_table)

/* clang-format off */
#define BI_GPU_ENTRIES_rope_table(E) \
    E(rope_table_f32, rope_table, rope_table, 256, 0, rope_table, f32)
/* clang-format on */

#endif
