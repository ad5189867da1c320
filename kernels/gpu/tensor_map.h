/* tensor_map.h - GPU entries of kernels/tensor_map.h, and their grids. All arrays are f32. */
#ifndef BI_GPU_TENSOR_MAP_ENTRIES_H
#define BI_GPU_TENSOR_MAP_ENTRIES_H

#include "../tensor_map.h"
#include "grid.h"

BI_GPU_ROWS_GRID(tensor_map)

/* clang-format off */
#define BI_GPU_ENTRIES_tensor_map(E) \
    E(tensor_map_f32, tensor_map, tensor_map, 256, 0, tensor_map, f32)
/* clang-format on */

#endif
