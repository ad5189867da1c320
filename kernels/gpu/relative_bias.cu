/* relative_bias.cu - scores plus a bias by place; a row of a head is 32 threads. */
#include "lib/gpu_rows.h"

#include "../attention.h"
#include "lib/gpu_tiles.h"

KERNEL(relative_bias_f32, struct bi_relative_bias_params, ROW_THREADS, 4)
{
    const int64_t at = my_row(), t = at / p.n_heads;
    const int head = (int)(at % p.n_heads);
    if (t >= bi_live_rows(p.counts, p.axis, 0))
        return;
    const int s = sequence_of((int)bi_live_rows(p.counts, p.seqs, 0), p.start, t);
    const int i = (int)(t - p.start[s]), length = p.start[s + 1] - p.start[s];
    const float *bias = p.bias + head * (2 * p.reach + 1) + p.reach;
    const int64_t row = t * p.ldp + head * p.ldh;
    for (int j = thread_id() % ROW_LANES; j < length; j += ROW_LANES) {
        const int near = j - i < -p.reach ? -p.reach : j - i > p.reach ? p.reach : j - i;
        p.p[row + j] = p.x[row + j] + bias[near];
    }
}
