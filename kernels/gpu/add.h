/* add.h - GPU entries of kernels/add.h, and their grids.
 *
 * add_a: a, b, y a. */
#ifndef BI_GPU_ADD_ENTRIES_H
#define BI_GPU_ADD_ENTRIES_H

#include "../add.h"
#include "grid.h"

BI_GPU_ROWS_GRID(add)

/* clang-format off */
#define BI_GPU_ENTRIES_add(E) \
    E(add_f32, add, add, 256, 0, add, f32) \
    E(add_f16, add, add, 256, 0, add, f16)
/* clang-format on */

#endif
