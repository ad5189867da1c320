/* alignments.h - GPU entries of kernels/alignments.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_ALIGNMENTS_ENTRIES_H
#define BI_GPU_ALIGNMENTS_ENTRIES_H

#include "../alignments.h"
#include "grid.h"

BI_GPU_ROWS_GRID(outer_sums)
BI_GPU_ROWS_GRID(pair_average)

/* Eight tokens to a block. */
static inline void bi_gpu_grid_pair_softmax(const void *params, const struct bi_counts *bucket,
                                            int32_t grid[2])
{
    (void)params;
    grid[0] = bi_gpu_blocks(bucket->n_tokens, 8);
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_alignments(E) \
    E(outer_sums_f32, alignments, outer_sums, 256, 0, outer_sums, f32)       \
    E(pair_softmax_f32, alignments, pair_softmax, 256, 0, pair_softmax, f32) \
    E(pair_average_f32, alignments, pair_average, 256, 0, pair_average, f32)
/* clang-format on */

#endif
