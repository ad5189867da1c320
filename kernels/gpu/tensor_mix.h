/* tensor_mix.h - GPU entries of kernels/tensor_mix.h, and their grids: those of linear layers in
 * float32 (linear.h), whose bits they give, but for layers that Hopper multiplies in terms. Tiles
 * of the three parts follow each other. */
#ifndef BI_GPU_TENSOR_MIX_ENTRIES_H
#define BI_GPU_TENSOR_MIX_ENTRIES_H

#include "../tensor_mix.h"
#include "grid.h"

/* Counts the tiles of all three parts, of `tile` rows and columns; by p->rows, which may be more
 * atoms than a batch has. */
static inline int64_t bi_gpu_mix_tiles(const struct bi_tensor_mix_params *p, int32_t tile)
{
    return ((int64_t)bi_gpu_blocks(p->rows, tile) + bi_gpu_blocks(3 * p->rows, tile) +
            bi_gpu_blocks(5 * p->rows, tile)) *
           bi_gpu_blocks(p->n, tile);
}

#define BI_GPU_MIX_GRID(name, tile)                                                                \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        (void)bucket;                                                                              \
        grid[0] = (int32_t)bi_gpu_mix_tiles((const struct bi_tensor_mix_params *)params, tile);    \
        grid[1] = 1;                                                                               \
    }
BI_GPU_MIX_GRID(tensor_mix, 128)
BI_GPU_MIX_GRID(tensor_mix_64, 64)
BI_GPU_MIX_GRID(tensor_mix_32, 32)
BI_GPU_MIX_GRID(tensor_mix_16, 16)

BI_GPU_TAKES_OF(near_mix, tensor_mix, call->near_f32 && p->k >= 64 && p->n >= 64)
BI_GPU_TAKES_OF(near_mix_32, tensor_mix,
                bi_gpu_takes_near_mix(call) && bi_gpu_mix_tiles(p, 64) < (int64_t)call->units)
BI_GPU_TAKES_OF(few_mix, tensor_mix, 4 * bi_gpu_mix_tiles(p, 128) < (int64_t)call->units)

/* clang-format off */
#define BI_GPU_ENTRIES_tensor_mix(E) \
    E(tensor_mix_near_32_f32, linear_near, tensor_mix, 128, 32768, tensor_mix_32, near_mix_32) \
    E(tensor_mix_near_f32, linear_near, tensor_mix, 128, 32768, tensor_mix_64, near_mix)       \
    E(tensor_mix_small_f32, linear_f32, tensor_mix, 256, 16896, tensor_mix_16, few_mix)        \
    E(tensor_mix_f32, linear_f32, tensor_mix, 256, 16896, tensor_mix, f32)
/* clang-format on */

#endif
