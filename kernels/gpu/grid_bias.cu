/* grid_bias.cu - scores plus a bias by pairs; a row of a head is 32 threads. */
#include "lib/gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "../attention.h"
#pragma clang force_cuda_host_device end
#include "lib/gpu_tiles.h"

KERNEL(grid_bias_f32, struct bi_grid_bias_params, ROW_THREADS, 4)
{
    const int64_t at = my_row(), t = at / p.n_heads;
    const int head = (int)(at % p.n_heads);
    if (t >= bi_live_rows(p.counts, p.axis, 0))
        return;
    const int s = sequence_of((int)bi_live_rows(p.counts, p.seqs, 0), p.start, t);
    const int64_t length = p.start[s + 1] - p.start[s];
    const int64_t grid = bi_bias_grid(p.counts, p.grid_start, p.axis, s, p.start[s]);
    const float *bias = p.bias + (grid + (t - p.start[s]) * length) * p.ldb + head;
    const int64_t row = t * p.ldp + head * p.ldh;
    for (int64_t j = thread_id() % ROW_LANES; j < length; j += ROW_LANES)
        p.p[row + j] = p.x[row + j] + bias[j * p.ldb];
}
