/* embedding_windows.h - GPU entries of kernels/embedding_windows.h, and their grids.
 *
 * embedding_windows_b: y b; table f32. */
#ifndef BI_GPU_EMBEDDING_WINDOWS_ENTRIES_H
#define BI_GPU_EMBEDDING_WINDOWS_ENTRIES_H

#include "../embedding_windows.h"
#include "grid.h"

/* Rows of the params to blocks of 256 threads, as many lanes to a row as its taps * width numbers
 * need; grid[1] is 1, and bucket is not read. */
static inline void bi_gpu_grid_embedding_windows(const void *params, const struct bi_counts *bucket,
                                                 int32_t grid[2])
{
    const struct bi_embedding_windows_params *p;
    p = (const struct bi_embedding_windows_params *)params;
    (void)bucket;
    grid[0] = bi_gpu_blocks(p->rows, 256 / BI_EMBEDDING_WINDOWS_LANES(p->taps * p->width));
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_embedding_windows(E) \
    E(embedding_windows_f32, embedding, embedding_windows, 256, 0, embedding_windows, to_f32) \
    E(embedding_windows_f16, embedding, embedding_windows, 256, 0, embedding_windows, to_f16)
/* clang-format on */

#endif
