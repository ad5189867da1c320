/* block_attention.h - GPU entries of kernels/block_attention.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_BLOCK_ATTENTION_ENTRIES_H
#define BI_GPU_BLOCK_ATTENTION_ENTRIES_H

#include "../block_attention.h"
#include "grid.h"

/* Blocks of each sequence (gpu_tiles.h), by heads. */
static inline void bi_gpu_grid_block_attention(const void *params, const struct bi_counts *bucket,
                                               int32_t grid[2])
{
    const struct bi_block_attention_params *p = (const struct bi_block_attention_params *)params;
    grid[0] = bi_gpu_blocks(p->rows, BI_BLOCK_QUERIES) + bucket->n_seqs;
    grid[1] = p->n_heads;
}

/* clang-format off */
#define BI_GPU_ENTRIES_block_attention(E) \
    E(block_attention_f32, block_attention, block_attention, 256, 29440, block_attention, f32)
/* clang-format on */

#endif
