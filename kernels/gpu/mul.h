/* mul.h - GPU entries of kernels/mul.h, and their grids.
 *
 * mul_a: a, b, y a. */
#ifndef BI_GPU_MUL_ENTRIES_H
#define BI_GPU_MUL_ENTRIES_H

#include "../mul.h"
#include "grid.h"

BI_GPU_ROWS_GRID(mul)

/* clang-format off */
#define BI_GPU_ENTRIES_mul(E) \
    E(mul_f32, mul, mul, 256, 0, mul, f32) \
    E(mul_f16, mul, mul, 256, 0, mul, f16)
/* clang-format on */

#endif
