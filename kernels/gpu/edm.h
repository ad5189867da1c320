/* edm.h - GPU entries of kernels/edm.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_EDM_ENTRIES_H
#define BI_GPU_EDM_ENTRIES_H

#include "../edm.h"
#include "grid.h"

/* A block for each sequence of the bucket; params are not read. */
static inline void bi_gpu_grid_edm(const void *params, const struct bi_counts *bucket,
                                   int32_t grid[2])
{
    (void)params;
    grid[0] = bucket->n_seqs;
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_edm(E) \
    E(edm_start_f32, edm, edm_start, 256, 0, edm, f32) \
    E(edm_move_f32, edm, edm_move, 256, 18944, edm, f32) \
    E(edm_step_f32, edm, edm_step, 256, 18944, edm, f32)
/* clang-format on */

#endif
