/* softmax.cu - softmax over the keys of the own sequence; in place allowed. */
#include "lib/gpu_rows.h"

#include "../attention.h"
#include "lib/gpu_math.h"
#include "lib/gpu_tiles.h"

KERNEL(softmax_f32, struct bi_softmax_params, ROW_THREADS, 4)
{
    const int64_t row = my_row(), t = row / p.n_heads;
    const bool live = t < bi_live_rows(p.counts, p.axis, 0);
    const int lane = thread_id() % ROW_LANES;
    const int64_t at = t * p.ldp + row % p.n_heads * p.ldh;
    int n = 0; /* the others only keep company in sums */
    float max = -INF, sum = 0;
    if (live) {
        const int s = sequence_of((int)bi_live_rows(p.counts, p.seqs, 0), p.start, t);
        n = p.start[s + 1] - p.start[s];
    }
    for (int j = lane; j < n; j += ROW_LANES)
        max = max_(max, p.x[at + j]);
    max = lanes_max(max);
    for (int j = lane; j < n; j += ROW_LANES)
        sum += exp_(p.x[at + j] - max);
    sum = lanes_sum(sum);
    for (int j = lane; live && j < p.ldh; j += ROW_LANES)
        p.p[at + j] = j < n ? exp_(p.x[at + j] - max) / sum : 0;
}
