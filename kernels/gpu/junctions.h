/* junctions.h - GPU entries of kernels/junctions.h, and their grids.
 *
 * All arrays of numbers are f32. */
#ifndef BI_GPU_JUNCTIONS_ENTRIES_H
#define BI_GPU_JUNCTIONS_ENTRIES_H

#include "../junctions.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(top_rows, p->n_classes * 256)
BI_GPU_NUMBERS_GRID(find_sites, BI_JUNCTION_CLASSES * p->k)
BI_GPU_ROWS_GRID(rope_at)

/* Tiles of 32 x 32 of the k x k pairs along x, tracks of both kinds along y; bucket is not read. */
static inline void bi_gpu_grid_junctions(const void *params, const struct bi_counts *bucket,
                                         int32_t grid[2])
{
    const struct bi_junctions_params *p = (const struct bi_junctions_params *)params;
    const int32_t tiles = bi_gpu_blocks(p->k, 32);
    (void)bucket;
    grid[0] = tiles * tiles;
    grid[1] = p->n_tracks[0] + p->n_tracks[1];
}

/* clang-format off */
#define BI_GPU_ENTRIES_junctions(E) \
    E(top_rows_f32, junctions, top_rows, 256, 2056, top_rows, f32)    \
    E(find_sites_f32, junctions, find_sites, 256, 0, find_sites, f32) \
    E(rope_at_f32, junctions, rope_at, 256, 0, rope_at, to_f32)       \
    E(junctions_f32, junctions, junctions, 256, 16640, junctions, f32)
/* clang-format on */

#endif
