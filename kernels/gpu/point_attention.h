/* point_attention.h - GPU entries of kernels/point_attention.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_POINT_ATTENTION_ENTRIES_H
#define BI_GPU_POINT_ATTENTION_ENTRIES_H

#include "../point_attention.h"
#include "grid.h"

BI_GPU_TILES_GRID(point_attention, point_attention, 32)

/* clang-format off */
#define BI_GPU_ENTRIES_point_attention(E) \
    E(point_attention_f32, point_attention, point_attention, 256, 44032, point_attention, f32)
/* clang-format on */

#endif
