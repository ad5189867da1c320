/* grid.h - what grids of GPU entries have in common (gpu_entries.h). */
#ifndef BI_GPU_GRID_H
#define BI_GPU_GRID_H

#include "../counts.h"
#include "call.h"

/* Blocks for n threads or rows, so many of a block: n / per_block rounded up; 0 for 0. A number of
 * blocks above INT32_MAX is not found. */
static inline int32_t bi_gpu_blocks(int64_t n, int64_t per_block)
{
    return (int32_t)((n + per_block - 1) / per_block);
}

/* Eight rows to a block. */
#define BI_GPU_ROWS_GRID(op)                                                                       \
    static inline void bi_gpu_grid_##op(const void *params, const struct bi_counts *bucket,        \
                                        int32_t grid[2])                                           \
    {                                                                                              \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(((const struct bi_##op##_params *)params)->rows, 8);               \
        grid[1] = 1;                                                                               \
    }

/* One number of so many to a thread. */
#define BI_GPU_NUMBERS_GRID(op, numbers)                                                           \
    static inline void bi_gpu_grid_##op(const void *params, const struct bi_counts *bucket,        \
                                        int32_t grid[2])                                           \
    {                                                                                              \
        const struct bi_##op##_params *p = (const struct bi_##op##_params *)params;                \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(numbers, 256);                                                     \
        grid[1] = 1;                                                                               \
    }

/* Tiles of each sequence (gpu_tiles.h), by heads. */
#define BI_GPU_TILES_GRID(name, op, rows)                                                          \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        grid[0] = bi_gpu_blocks(bucket->n_tokens, rows) + bucket->n_seqs;                          \
        grid[1] = ((const struct bi_##op##_params *)params)->n_heads;                              \
    }

/* Eight tokens of the bucket to a block; params is not read. */
static inline void bi_gpu_grid_tokens(const void *params, const struct bi_counts *bucket,
                                      int32_t grid[2])
{
    (void)params;
    grid[0] = bi_gpu_blocks(bucket->n_tokens, 8);
    grid[1] = 1;
}

#endif
