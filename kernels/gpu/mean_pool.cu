/* mean_pool.cu - mean over the residues of each sequence, of the rows or of their norms.
 *
 * A block takes one sequence and POOL_COLUMNS columns. Norms: 256 columns; it first makes mean and
 * scale of 32 rows (gpu_rows.h), then each thread adds one column of those rows, in their order,
 * from the cache. */
#include "lib/gpu_rows.h"

#include "../mean_pool.h"

enum {
    POOL_ROWS = 32,
    POOL_COLUMNS = 64, /* as the grid of gpu_entries.h */
    POOL_SLICES = ROW_THREADS / (POOL_COLUMNS / 4)
};

struct pool_moments {
    moments of[POOL_ROWS];
};
struct pool_sums {
    f32x4 of[POOL_SLICES][POOL_COLUMNS / 4];
};

/* Without norms a thread has four columns of every POOL_SLICES-th row; then the sums of a column,
 * in one order. */
template <typename T> DEV void pool_plain(const struct bi_mean_pool_params &p)
{
    SHARED(pool_sums, s, sizeof(pool_sums));
    const int seq = block_x(), own = thread_id() % (POOL_COLUMNS / 4);
    const int slice = thread_id() / (POOL_COLUMNS / 4), c = block_y() * POOL_COLUMNS + own * 4;
    if (seq >= p.counts->n_seqs)
        return;
    const int64_t first = (int64_t)p.start[seq] + p.n_prefix;
    const int n = (int)((int64_t)p.start[seq + 1] - p.n_suffix - first);
    const T *x = (const T *)p.x + first * p.ldx;
    const bool whole = fours(x, p.ldx) && p.width % 4 == 0;
    f32x4 sum = {0, 0, 0, 0};
#pragma GCC unroll 8
    for (int r = slice; r < n; r += POOL_SLICES)
        sum += load4(x + r * p.ldx, c, p.width, whole);
    s.of[slice][own] = sum;
#pragma GCC unroll 1
    for (int half = POOL_SLICES / 2; half > 0; half /= 2) {
        barrier();
        if (slice < half)
            s.of[slice][own] = sum = sum + s.of[slice + half][own];
    }
    if (slice > 0)
        return;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++)
        if (c + i < p.width)
            p.y[seq * p.ldy + c + i] = n > 0 ? sum[i] * (1.0f / (float)n) : 0;
}

template <typename T> DEV void pool_norms(const struct bi_mean_pool_params &p)
{
    SHARED(pool_moments, s, sizeof(pool_moments));
    const int seq = block_x(), c = block_y() * ROW_THREADS + thread_id();
    if (seq >= p.counts->n_seqs)
        return;
    const int64_t first = (int64_t)p.start[seq] + p.n_prefix;
    const int n = (int)((int64_t)p.start[seq + 1] - p.n_suffix - first);
    const T *x = (const T *)p.x + first * p.ldx;
    const bool whole = fours((const T *)p.x, p.ldx);
    const float w = c < p.width ? p.w[c] : 0, b = p.b && c < p.width ? p.b[c] : 0;
    float sum = 0;

    for (int r0 = 0; r0 < n; r0 += POOL_ROWS) {
        const int rows = n - r0 < POOL_ROWS ? n - r0 : POOL_ROWS;
        barrier(); /* the last ones are used up */
        for (int i = thread_id() / ROW_LANES; i < POOL_ROWS; i += ROWS_PER_BLOCK) {
            const moments m = row_moments(x + (r0 + i) * p.ldx, i < rows ? p.width : 0, whole,
                                          p.eps, p.rms);
            if (thread_id() % ROW_LANES == 0)
                s.of[i] = m;
        }
        barrier();
        for (int i = 0; i < rows && c < p.width; i++) {
            const float v = (float)x[(r0 + i) * p.ldx + c];
            sum += fma_((v - s.of[i].mean) * s.of[i].scale, w, b);
        }
    }
    if (c < p.width)
        p.y[seq * p.ldy + c] = n > 0 ? sum * (1.0f / (float)n) : 0;
}

template <typename T> DEV void pool(const struct bi_mean_pool_params &p)
{
    if (p.w)
        pool_norms<T>(p);
    else
        pool_plain<T>(p);
}

KERNEL(mean_pool_f32, struct bi_mean_pool_params, ROW_THREADS, 4)
{
    pool<float>(p);
}

KERNEL(mean_pool_f16, struct bi_mean_pool_params, ROW_THREADS, 4)
{
    pool<f16>(p);
}
