/* fire.h - GPU entries of kernels/fire.h, and their grids. All is f64 but the forces. */
#ifndef BI_GPU_FIRE_ENTRIES_H
#define BI_GPU_FIRE_ENTRIES_H

#include "../fire.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(fire, p->rows)

/* A block for each frame of the bucket; params are not read. */
static inline void bi_gpu_grid_fire_plan(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    (void)params;
    grid[0] = bucket->n_seqs;
    grid[1] = 1;
}

/* clang-format off */
#define BI_GPU_ENTRIES_fire(E) \
    E(fire_start_f32, fire, fire_start, 256, 0, fire, f32) \
    E(fire_place_f32, fire, fire_place, 256, 0, fire, f32) \
    E(fire_plan_f32, fire, fire_plan, 256, 8320, fire_plan, f32) \
    E(fire_move_f32, fire, fire_move, 256, 0, fire, f32)
/* clang-format on */

#endif
