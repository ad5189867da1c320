/* dropout_norm.h - GPU entries of kernels/dropout_norm.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_DROPOUT_NORM_ENTRIES_H
#define BI_GPU_DROPOUT_NORM_ENTRIES_H

#include "../dropout_norm.h"
#include "grid.h"

BI_GPU_ROWS_GRID(dropout_norm)

/* clang-format off */
#define BI_GPU_ENTRIES_dropout_norm(E) \
    E(dropout_norm_f32, dropout_norm, dropout_norm, 256, 0, dropout_norm, f32)
/* clang-format on */

#endif
