/* frames.h - GPU entries of kernels/frames.h, and their grids.
 *
 * All inputs are f32; frames_f32: y f32, frames_f32_f16: y f16. */
#ifndef BI_GPU_FRAMES_ENTRIES_H
#define BI_GPU_FRAMES_ENTRIES_H

#include "../frames.h"
#include "grid.h"

BI_GPU_ROWS_GRID(frames)

/* clang-format off */
#define BI_GPU_ENTRIES_frames(E) \
    E(frames_f32, frames, frames, 256, 0, frames, f32_f32) \
    E(frames_f32_f16, frames, frames, 256, 0, frames, f32_f16)
/* clang-format on */

#endif
