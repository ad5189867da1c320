/* positions.h - GPU entries of kernels/positions.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_POSITIONS_ENTRIES_H
#define BI_GPU_POSITIONS_ENTRIES_H

#include "../positions.h"
#include "grid.h"

/* clang-format off */
#define BI_GPU_ENTRIES_positions(E) \
    E(positions_f32, positions, positions, 256, 0, tokens, f32)
/* clang-format on */

#endif
