/* window_attention.h - GPU entries of kernels/window_attention.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_WINDOW_ATTENTION_ENTRIES_H
#define BI_GPU_WINDOW_ATTENTION_ENTRIES_H

#include "../window_attention.h"
#include "grid.h"

/* Tiles of 32 rows of each sequence (gpu_tiles.h), by heads. */
static inline void bi_gpu_grid_window_attention(const void *params, const struct bi_counts *bucket,
                                                int32_t grid[2])
{
    const struct bi_window_attention_params *p = (const struct bi_window_attention_params *)params;
    grid[0] = bi_gpu_blocks(p->rows, 32) + bucket->n_seqs;
    grid[1] = p->n_heads;
}

/* clang-format off */
#define BI_GPU_ENTRIES_window_attention(E) \
    E(window_attention_f32, window_attention, window_attention, 256, 29440, window_attention, f32)
/* clang-format on */

#endif
