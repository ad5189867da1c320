/* multiquery.h - GPU entries of kernels/multiquery.h, and their grids.
 *
 * multiquery_capped_f16_f16, multiquery_f16_f16, of wide keys multiquery_wide_f16_f16: q, k, v, y
 * f16, bias f32, without a table; a block makes 128 rows of all heads, of wide keys 64.
 * multiquery_near_*: all arrays f32, on matrix units, without a table; a block makes 64 such rows.
 * multiquery_f32, of wide keys multiquery_wide_f32: all arrays f32, a block makes 32 rows of a
 * head. */
#ifndef BI_GPU_MULTIQUERY_ENTRIES_H
#define BI_GPU_MULTIQUERY_ENTRIES_H

#include "../multiquery.h"
#include "grid.h"

/* Blocks of 32 rows along x, which are of one of the rows / n windows each, and heads along y;
 * bucket is not read, here and below. */
static inline void bi_gpu_grid_multiquery_f32(const void *params, const struct bi_counts *bucket,
                                              int32_t grid[2])
{
    const struct bi_multiquery_params *p = (const struct bi_multiquery_params *)params;
    (void)bucket;
    grid[0] = (int32_t)(p->rows / p->n) * bi_gpu_blocks(p->n, 32);
    grid[1] = p->n_heads;
}

/* Blocks of so many rows, of all heads of one of the rows / n windows; grid[1] is 1. */
#define BI_GPU_MULTIQUERY_GRID(name, ROWS)                                                         \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        const struct bi_multiquery_params *p = (const struct bi_multiquery_params *)params;        \
        (void)bucket;                                                                              \
        grid[0] = (int32_t)(p->rows / p->n) * bi_gpu_blocks((int64_t)p->n * p->n_heads, ROWS);     \
        grid[1] = 1;                                                                               \
    }
BI_GPU_MULTIQUERY_GRID(multiquery, 128)
BI_GPU_MULTIQUERY_GRID(multiquery_64, 64)

/* The widest values of kernels on matrix units, but for multiquery_f16_f16. */
enum { BI_GPU_MULTIQUERY_VALUE = 192 };

/* Have groups of 16 keys one bias, and have its places 32 bits? pool is at least 1; whether there
 * is a bias is not asked. */
static inline bool bi_gpu_has_bias_by_16(const struct bi_multiquery_params *p)
{
    const int64_t side = p->n / p->pool;
    return p->pool % 16 == 0 && p->rows / p->n * side * side * p->ldb <= INT32_MAX;
}

/* Do kernels on matrix units take it, of float32 or of float16, but for its widths? */
static inline bool bi_gpu_has_matrix_multiquery(const struct bi_multiquery_params *p)
{
    return !p->table && (!p->bias || bi_gpu_has_bias_by_16(p));
}

/* e^cap is to be a number of f16. */
#define BI_GPU_MULTIQUERY_CAP 10.0f
static inline bool bi_gpu_is_capped_multiquery(const struct bi_multiquery_params *p)
{
    return bi_gpu_has_matrix_multiquery(p) && p->cap > 0 && p->cap <= BI_GPU_MULTIQUERY_CAP &&
           p->d <= BI_MULTIQUERY_KEY_GPU && p->e <= BI_GPU_MULTIQUERY_VALUE;
}
static inline bool bi_gpu_is_plain_multiquery(const struct bi_multiquery_params *p, int32_t d,
                                              int32_t e)
{
    return bi_gpu_has_matrix_multiquery(p) && p->cap <= 0 && p->d <= d && p->e <= e;
}

BI_GPU_TAKES_OF(mq_capped, multiquery, (call->half_in & 1) && bi_gpu_is_capped_multiquery(p))
BI_GPU_TAKES_OF(mq_plain, multiquery,
                (call->half_in & 1) && bi_gpu_is_plain_multiquery(p, BI_MULTIQUERY_KEY_GPU, 128))
BI_GPU_TAKES_OF(mq_wide_half, multiquery,
                (call->half_in & 1) &&
                    bi_gpu_is_plain_multiquery(p, BI_MULTIQUERY_KEY, BI_GPU_MULTIQUERY_VALUE))
BI_GPU_TAKES_OF(mq_near_capped, multiquery,
                call->near_f32 && !(call->half_in & 1) && bi_gpu_is_capped_multiquery(p))
BI_GPU_TAKES_OF(mq_near, multiquery,
                call->near_f32 && !(call->half_in & 1) &&
                    bi_gpu_is_plain_multiquery(p, BI_MULTIQUERY_KEY_GPU, BI_GPU_MULTIQUERY_VALUE))
BI_GPU_TAKES_OF(mq_near_wide, multiquery,
                call->near_f32 && !(call->half_in & 1) &&
                    bi_gpu_is_plain_multiquery(p, BI_MULTIQUERY_KEY, BI_GPU_MULTIQUERY_VALUE))
BI_GPU_TAKES_OF(mq_f32, multiquery, !(call->half_in & 1) && p->d <= BI_MULTIQUERY_KEY_GPU)
BI_GPU_TAKES_OF(mq_wide, multiquery, !(call->half_in & 1) && p->d > BI_MULTIQUERY_KEY_GPU)

/* clang-format off */
#define BI_GPU_ENTRIES_multiquery(E) \
    E(multiquery_capped_f16_f16, multiquery, multiquery, 256, 86032, multiquery, mq_capped) \
    E(multiquery_f16_f16, multiquery, multiquery, 256, 69648, multiquery, mq_plain)         \
    E(multiquery_wide_f16_f16, multiquery, multiquery, 128, 102416, multiquery_64, mq_wide_half) \
    E(multiquery_near_capped_f32, multiquery_near, multiquery, 128, 80384, multiquery_64,  \
      mq_near_capped)                                                                        \
    E(multiquery_near_f32, multiquery_near, multiquery, 128, 80384, multiquery_64, mq_near) \
    E(multiquery_near_wide_f32, multiquery_near, multiquery, 128, 104960, multiquery_64,    \
      mq_near_wide)                                                                          \
    E(multiquery_f32, multiquery_f32, multiquery, 256, 45184, multiquery_f32, mq_f32)        \
    E(multiquery_wide_f32, multiquery_f32, multiquery, 256, 61568, multiquery_f32, mq_wide)
/* clang-format on */

#endif
