/* unary.h - GPU entries of kernels/unary.h, and their grids.
 *
 * unary_a: x, y a. */
#ifndef BI_GPU_UNARY_ENTRIES_H
#define BI_GPU_UNARY_ENTRIES_H

#include "../unary.h"
#include "grid.h"

BI_GPU_ROWS_GRID(unary)

/* clang-format off */
#define BI_GPU_ENTRIES_unary(E) \
    E(unary_f32, unary, unary, 256, 0, unary, f32) \
    E(unary_f16, unary, unary, 256, 0, unary, f16)
/* clang-format on */

#endif
