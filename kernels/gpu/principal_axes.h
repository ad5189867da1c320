/* principal_axes.h - GPU entries of kernels/principal_axes.h, and their grids.
 *
 * All arrays are f32, and sums are in double. */
#ifndef BI_GPU_PRINCIPAL_AXES_ENTRIES_H
#define BI_GPU_PRINCIPAL_AXES_ENTRIES_H

#include "../principal_axes.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(principal_axes, p->sets * 256)

/* clang-format off */
#define BI_GPU_ENTRIES_principal_axes(E) \
    E(principal_axes_f32, principal_axes, principal_axes, 128, 6240, principal_axes, f32)
/* clang-format on */

#endif
