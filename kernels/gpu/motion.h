/* motion.h - GPU entries of kernels/motion.h, and their grids. All is f64 but the forces. */
#ifndef BI_GPU_MOTION_ENTRIES_H
#define BI_GPU_MOTION_ENTRIES_H

#include "../motion.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(motion, p->rows)

/* clang-format off */
#define BI_GPU_ENTRIES_motion(E) \
    E(motion_start_f32, motion, motion_start, 256, 0, motion, f32) \
    E(motion_move_f32, motion, motion_move, 256, 0, motion, f32) \
    E(motion_kick_f32, motion, motion_kick, 256, 0, motion, f32)
/* clang-format on */

#endif
