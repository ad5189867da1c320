/* multiquery.h - GPU entries of kernels/multiquery.h, and their grids.
 *
 * multiquery_f32, of wide keys multiquery_wide_f32: all arrays f32, a block makes 32 rows of a
 * head. multiquery_capped_f16_f16, multiquery_f16_f32: q, k, v f16, y as its name ends, bias f32,
 * without a table; a block makes 128 rows of all heads. */
#ifndef BI_GPU_MULTIQUERY_ENTRIES_H
#define BI_GPU_MULTIQUERY_ENTRIES_H

#include "../multiquery.h"
#include "grid.h"

/* Blocks of 32 rows along x, which are of one of the rows / n windows each, and heads along y;
 * bucket is not read, here and in the next one. */
static inline void bi_gpu_grid_multiquery_f32(const void *params, const struct bi_counts *bucket,
                                              int32_t grid[2])
{
    const struct bi_multiquery_params *p = (const struct bi_multiquery_params *)params;
    (void)bucket;
    grid[0] = (int32_t)(p->rows / p->n) * bi_gpu_blocks(p->n, 32);
    grid[1] = p->n_heads;
}

/* Blocks of 128 rows, of all heads of one of the rows / n windows; grid[1] is 1. */
static inline void bi_gpu_grid_multiquery(const void *params, const struct bi_counts *bucket,
                                          int32_t grid[2])
{
    const struct bi_multiquery_params *p = (const struct bi_multiquery_params *)params;
    (void)bucket;
    grid[0] = (int32_t)(p->rows / p->n) * bi_gpu_blocks((int64_t)p->n * p->n_heads, 128);
    grid[1] = 1;
}

/* Have groups of 16 keys one bias, and have its places 32 bits? pool is at least 1; whether there
 * is a bias is not asked. */
static inline bool bi_gpu_has_bias_by_16(const struct bi_multiquery_params *p)
{
    const int64_t side = p->n / p->pool;
    return p->pool % 16 == 0 && p->rows / p->n * side * side * p->ldb <= INT32_MAX;
}

/* e^cap is to be a number of f16. */
#define BI_GPU_MULTIQUERY_CAP 10.0f
BI_GPU_TAKES_OF(multiquery_f16, multiquery,
                (call->half_in & 1) && p->d <= BI_MULTIQUERY_KEY_GPU && !p->table &&
                    (!p->bias || bi_gpu_has_bias_by_16(p)))
BI_GPU_TAKES_OF(mq_capped, multiquery,
                bi_gpu_takes_multiquery_f16(call) && p->cap > 0 &&
                    p->cap <= BI_GPU_MULTIQUERY_CAP && p->e <= 192)
BI_GPU_TAKES_OF(mq_plain, multiquery,
                bi_gpu_takes_multiquery_f16(call) && p->cap <= 0 && p->e <= 128)

BI_GPU_TAKES_OF(mq_f32, multiquery, !(call->half_in & 1) && p->d <= BI_MULTIQUERY_KEY_GPU)
BI_GPU_TAKES_OF(mq_wide, multiquery, !(call->half_in & 1) && p->d > BI_MULTIQUERY_KEY_GPU)

/* clang-format off */
#define BI_GPU_ENTRIES_multiquery(E) \
    E(multiquery_capped_f16_f16, multiquery, multiquery, 256, 86032, multiquery, mq_capped) \
    E(multiquery_f16_f32, multiquery, multiquery, 256, 69648, multiquery, mq_plain)         \
    E(multiquery_f32, multiquery_f32, multiquery, 256, 45184, multiquery_f32, mq_f32)        \
    E(multiquery_wide_f32, multiquery_f32, multiquery, 256, 61568, multiquery_f32, mq_wide)
/* clang-format on */

#endif
