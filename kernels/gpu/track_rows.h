/* track_rows.h - GPU entries of kernels/track_rows.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_TRACK_ROWS_ENTRIES_H
#define BI_GPU_TRACK_ROWS_ENTRIES_H

#include "../track_rows.h"
#include "grid.h"

BI_GPU_ROWS_GRID(add_narrow)
BI_GPU_ROWS_GRID(join_columns)
BI_GPU_ROWS_GRID(mean_rows)
BI_GPU_ROWS_GRID(row_softmax)
BI_GPU_ROWS_GRID(unclip)

/* clang-format off */
#define BI_GPU_ENTRIES_track_rows(E) \
    E(add_narrow_f32, track_rows, add_narrow, 256, 0, add_narrow, f32)    \
    E(join_columns_f32, track_rows, join_columns, 256, 0, join_columns, f32) \
    E(mean_rows_f32, track_rows, mean_rows, 256, 0, mean_rows, f32)       \
    E(row_softmax_f32, track_rows, row_softmax, 256, 0, row_softmax, f32) \
    E(unclip_f32, track_rows, unclip, 256, 0, unclip, f32)
/* clang-format on */

#endif
