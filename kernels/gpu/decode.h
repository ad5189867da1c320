/* decode.h - GPU entries of kernels/decode.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_DECODE_ENTRIES_H
#define BI_GPU_DECODE_ENTRIES_H

#include "../decode.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(fill, p->rows * p->width)
BI_GPU_NUMBERS_GRID(put_rows, p->rows * p->width)
BI_GPU_NUMBERS_GRID(next_step, p->rows * 0 + 1)
BI_GPU_NUMBERS_GRID(draw, p->rows * 256)

/* clang-format off */
#define BI_GPU_ENTRIES_decode(E) \
    E(fill_f32, decode, fill, 256, 0, fill, f32)                \
    E(put_rows_f32, decode, put_rows, 256, 0, put_rows, f32)    \
    E(next_step_f32, decode, next_step, 256, 0, next_step, f32) \
    E(draw_f32, decode, draw, 64, 336, draw, f32)
/* clang-format on */

#endif
