/* halves.h - GPU entries of kernels/halves.h, and their grids.
 *
 * halves_f32_f16: x f32, y f16. */
#ifndef BI_GPU_HALVES_ENTRIES_H
#define BI_GPU_HALVES_ENTRIES_H

#include "../halves.h"
#include "grid.h"

BI_GPU_ROWS_GRID(halves)

/* clang-format off */
#define BI_GPU_ENTRIES_halves(E) \
    E(halves_f32_f16, halves, halves, 256, 0, halves, f32_f16)
/* clang-format on */

#endif
