/* layernorm_grad.h - GPU entries of kernels/layernorm_grad.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_LAYERNORM_GRAD_ENTRIES_H
#define BI_GPU_LAYERNORM_GRAD_ENTRIES_H

#include "../layernorm_grad.h"
#include "grid.h"

BI_GPU_ROWS_GRID(layernorm_grad)

/* clang-format off */
#define BI_GPU_ENTRIES_layernorm_grad(E) \
    E(layernorm_grad_f32, layernorm_grad, layernorm_grad, 256, 0, layernorm_grad, f32)
/* clang-format on */

#endif
