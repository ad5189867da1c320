/* mean_pool.cu - mean over the residues of each sequence, of the rows or of their norms.
 *
 * A block takes one sequence and 256 columns, one per thread, and adds rows in their order.
 * Norms: the block first makes mean and scale of 32 rows (gpu_rows.h), then adds those rows
 * from the cache. */
#include "gpu_rows.h"

#include "mean_pool.h"

enum { POOL_ROWS = 32 };

struct pool_moments {
    moments of[POOL_ROWS];
};

template <typename T> DEV void pool(const struct bi_mean_pool_params &p)
{
    SHARED(pool_moments, s, sizeof(pool_moments));
    const int seq = block_x(), c = block_y() * ROW_THREADS + thread_id();
    if (seq >= p.counts->n_seqs)
        return;
    const int64_t first = (int64_t)p.start[seq] + p.n_prefix;
    const int n = (int)((int64_t)p.start[seq + 1] - p.n_suffix - first);
    const T *x = (const T *)p.x + first * p.ldx;
    const bool whole = fours((const T *)p.x, p.ldx);
    const float w = p.w && c < p.width ? p.w[c] : 1, b = p.w && p.b && c < p.width ? p.b[c] : 0;
    float sum = 0;

    for (int r0 = 0; r0 < n; r0 += POOL_ROWS) {
        const int rows = n - r0 < POOL_ROWS ? n - r0 : POOL_ROWS;
        if (p.w) {
            barrier(); /* the last ones are used up */
            for (int i = thread_id() / ROW_LANES; i < POOL_ROWS; i += ROWS_PER_BLOCK) {
                const moments m = row_moments(x + (r0 + i) * p.ldx, i < rows ? p.width : 0,
                                              whole, p.eps, p.rms);
                if (thread_id() % ROW_LANES == 0)
                    s.of[i] = m;
            }
            barrier();
        }
        for (int i = 0; i < rows && c < p.width; i++) {
            const float v = (float)x[(r0 + i) * p.ldx + c];
            sum += p.w ? fma_((v - s.of[i].mean) * s.of[i].scale, w, b) : v;
        }
    }
    if (c < p.width)
        p.y[seq * p.ldy + c] = n > 0 ? sum * (1.0f / (float)n) : 0;
}

KERNEL(mean_pool_f32, struct bi_mean_pool_params, ROW_THREADS, 4)
{
    pool<float>(p);
}

KERNEL(mean_pool_f16, struct bi_mean_pool_params, ROW_THREADS, 4)
{
    pool<f16>(p);
}
