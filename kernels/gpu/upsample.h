/* upsample.h - GPU entries of kernels/upsample.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_UPSAMPLE_ENTRIES_H
#define BI_GPU_UPSAMPLE_ENTRIES_H

#include "../upsample.h"
#include "grid.h"

BI_GPU_ROWS_GRID(upsample)

/* clang-format off */
#define BI_GPU_ENTRIES_upsample(E) \
    E(upsample_f32, pairs, upsample, 256, 0, upsample, f32)
/* clang-format on */

#endif
