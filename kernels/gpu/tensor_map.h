/* tensor_map.h - GPU entries of kernels/tensor_map.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_TENSOR_MAP_ENTRIES_H
#define BI_GPU_TENSOR_MAP_ENTRIES_H

#include "../tensor_map.h"
#include "grid.h"

BI_GPU_ROWS_GRID(tensor_map)

/* Eight atoms to a block; bucket is not read. */
static inline void bi_gpu_grid_tensor_pair(const void *params, const struct bi_counts *bucket,
                                           int32_t grid[2])
{
    bi_gpu_grid_tensor_map(((const struct bi_tensor_pair_params *)params)->of, bucket, grid);
}

/* clang-format off */
#define BI_GPU_ENTRIES_tensor_map(E) \
    E(tensor_map_f32, tensor_map, tensor_map, 256, 0, tensor_map, f32) \
    E(tensor_pair_f32, tensor_map, tensor_pair, 256, 0, tensor_pair, f32)
/* clang-format on */

#endif
