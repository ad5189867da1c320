/* align.h - GPU entries of kernels/align.h, and their grids.
 *
 * align_*_LxR_lM: groups of L lanes with R rows each, up to M letters (align.h); scores of pairs
 * in 16 bits: global, with free ends, with flags for align_walk. align_long*: one pair by strips of
 * 128 rows, in 32 bits. */
#ifndef BI_GPU_ALIGN_ENTRIES_H
#define BI_GPU_ALIGN_ENTRIES_H

#include "../align.h"
#include "grid.h"

/* A block takes the jobs of as many groups of lanes as it has. */
#define BI_GPU_ALIGN_GRID(lanes)                                                                   \
    static inline void bi_gpu_grid_align##lanes(const void *params,                                \
                                                const struct bi_counts *bucket, int32_t grid[2])   \
    {                                                                                              \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(((const struct bi_align_params *)params)->n_jobs,                  \
                                BI_ALIGN_GPU_THREADS / lanes);                                     \
        grid[1] = 1;                                                                               \
    }
BI_GPU_ALIGN_GRID(8)
BI_GPU_ALIGN_GRID(16)
BI_GPU_ALIGN_GRID(32)

enum bi_gpu_align_makes { BI_GPU_ALIGN_SCORES, BI_GPU_ALIGN_ENDS, BI_GPU_ALIGN_TRACE };

/* Entries for one pair by strips, and for the walk through flags. */
#define BI_GPU_ALIGN_LONG "align_long"
#define BI_GPU_ALIGN_LONG_TRACE "align_long_trace"
#define BI_GPU_ALIGN_WALK "align_walk"

/* As many blocks as tasks: waves take tasks until none is left, and those that find none leave.
 * bucket is not read, here and in the next one. */
static inline void bi_gpu_grid_align_long(const void *params, const struct bi_counts *bucket,
                                          int32_t grid[2])
{
    (void)bucket;
    grid[0] = ((const struct bi_align_long_params *)params)->n_tasks;
    grid[1] = 1;
}

/* As many blocks as trails, of which each wave has one; waves beyond them leave. */
static inline void bi_gpu_grid_align_walk(const void *params, const struct bi_counts *bucket,
                                          int32_t grid[2])
{
    (void)bucket;
    grid[0] = ((const struct bi_align_walk_params *)params)->n_trails;
    grid[1] = 1;
}

/* clang-format off */
/* Entries for pairs in 16 bits, one for each shape: the columns of E (gpu_entries.h), then lanes of
 * a group, rows of a lane, most letters, and what it makes (enum bi_gpu_align_makes). */
#define BI_GPU_ALIGN_SHAPES(S, E) \
    S(E, align_8x8_l8, align, align, 64, 8192, align8, named, 8, 8, 8, SCORES) \
    S(E, align_16x16_l8, align, align, 64, 16384, align16, named, 16, 16, 8, SCORES) \
    S(E, align_32x13_l8, align, align, 64, 16384, align32, named, 32, 13, 8, SCORES) \
    S(E, align_16x8_l22, align, align, 64, 22528, align16, named, 16, 8, 22, SCORES) \
    S(E, align_16x16_l22, align, align, 64, 45056, align16, named, 16, 16, 22, SCORES) \
    S(E, align_32x13_l22, align, align, 64, 45056, align32, named, 32, 13, 22, SCORES) \
    S(E, align_16x16_l32, align, align, 64, 65536, align16, named, 16, 16, 32, SCORES) \
    S(E, align_ends_16x16_l8, align_ends, align, 64, 16384, align16, named, 16, 16, 8, ENDS) \
    S(E, align_ends_16x16_l32, align_ends, align, 64, 65536, align16, named, 16, 16, 32, ENDS) \
    S(E, align_trace_16x8_l8, align_trace, align, 64, 8192, align16, named, 16, 8, 8, TRACE) \
    S(E, align_trace_16x8_l32, align_trace, align, 64, 32768, align16, named, 16, 8, 32, TRACE)
#define BI_GPU_ALIGN_ROW(E, name, module, params, threads, shared, grid, takes, ...) \
    E(name, module, params, threads, shared, grid, takes)

#define BI_GPU_ENTRIES_align(E) \
    BI_GPU_ALIGN_SHAPES(BI_GPU_ALIGN_ROW, E)                                 \
    E(align_long, align_long, align_long, 64, 4096, align_long, named)       \
    E(align_long_trace, align_long, align_long, 64, 4096, align_long, named) \
    E(align_walk, align_walk, align_walk, 64, 0, align_walk, named)
/* clang-format on */

#endif
