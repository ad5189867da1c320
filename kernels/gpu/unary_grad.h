/* unary_grad.h - GPU entries of kernels/unary_grad.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_UNARY_GRAD_ENTRIES_H
#define BI_GPU_UNARY_GRAD_ENTRIES_H

#include "../unary_grad.h"
#include "grid.h"

BI_GPU_ROWS_GRID(unary_grad)

/* clang-format off */
#define BI_GPU_ENTRIES_unary_grad(E) \
    E(unary_grad_f32, unary_grad, unary_grad, 256, 0, unary_grad, f32)
/* clang-format on */

#endif
