/* triangle.h - GPU entries of kernels/triangle.h, and their grids.
 *
 * triangle_a: a, b a; y f32. */
#ifndef BI_GPU_TRIANGLE_ENTRIES_H
#define BI_GPU_TRIANGLE_ENTRIES_H

#include "../triangle.h"
#include "grid.h"

enum { BI_TRIANGLE_SIDE = 16, BI_TRIANGLE_CHANNELS = 32 };

/* 16 by 16 pairs of a sequence to a block, as many as the longest one has, along x; 32 channels
 * along y. */
static inline void bi_gpu_grid_triangle(const void *params, const struct bi_counts *bucket,
                                        int32_t grid[2])
{
    const struct bi_triangle_params *p = (const struct bi_triangle_params *)params;
    const int32_t side = bi_gpu_blocks(bucket->longest, BI_TRIANGLE_SIDE);
    grid[0] = bucket->n_seqs * side * side;
    grid[1] = bi_gpu_blocks(p->width, BI_TRIANGLE_CHANNELS);
}

/* clang-format off */
#define BI_GPU_ENTRIES_triangle(E) \
    E(triangle_f32, triangle, triangle, 256, 32768, triangle, f32) \
    E(triangle_f16, triangle, triangle, 256, 32768, triangle, f16_f32)
/* clang-format on */

#endif
