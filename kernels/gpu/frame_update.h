/* frame_update.h - GPU entries of kernels/frame_update.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_FRAME_UPDATE_ENTRIES_H
#define BI_GPU_FRAME_UPDATE_ENTRIES_H

#include "../frame_update.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(frame_update, p->rows)

/* clang-format off */
#define BI_GPU_ENTRIES_frame_update(E) \
    E(frame_update_f32, frame_update, frame_update, 256, 0, frame_update, f32)
/* clang-format on */

#endif
