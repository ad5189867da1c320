/* sequence_windows.h - GPU entries of kernels/sequence_windows.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_SEQUENCE_WINDOWS_ENTRIES_H
#define BI_GPU_SEQUENCE_WINDOWS_ENTRIES_H

#include "../sequence_windows.h"
#include "grid.h"

/* clang-format off */
#define BI_GPU_ENTRIES_sequence_windows(E) \
    E(sequence_windows_f32, sequence_windows, sequence_windows, 256, 0, tokens, f32)
/* clang-format on */

#endif
