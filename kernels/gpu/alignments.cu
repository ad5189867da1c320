/* alignments.cu - rows of alignments and pairs of tokens: outer_sums, pair_softmax, pair_average
 * (alignments.h). Rows of gpu_rows.h: pairs, tokens, aligned rows. A thread has every 32nd column
 * of its row. */
#include "lib/gpu_rows.h"

#include "lib/gpu_math.h"

#pragma clang force_cuda_host_device begin
#include "../alignments.h"
#pragma clang force_cuda_host_device end

KERNEL(outer_sums_f32, struct bi_outer_sums_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.counts->n_grid)
        return;
    const struct bi_aligned of = bi_aligned_of(p.counts, &p.starts, p.starts.grid, r);
    const int64_t i = (r - of.grid) / of.n, j = (r - of.grid) % of.n;
    const float *a = p.a + (of.row + i * of.depth) * p.lda;
    const float *b = p.b + (of.row + j * of.depth) * p.ldb;
    for (int c = thread_id() % ROW_LANES; c < p.width * p.width_b; c += ROW_LANES) {
        const int u = c / p.width_b, v = c % p.width_b;
        float sum = 0;
        for (int64_t s = 0; s < of.depth; s++)
            sum = fma_(a[s * p.lda + u], b[s * p.ldb + v], sum);
        p.y[r * p.ldy + c] = sum;
    }
}

KERNEL(pair_softmax_f32, struct bi_pair_softmax_params, ROW_THREADS, 4)
{
    const int64_t t = my_row();
    if (t >= p.counts->n_tokens)
        return;
    const int64_t first = p.start[t], end = p.start[t + 1];
    for (int c = thread_id() % ROW_LANES; c < p.width; c += ROW_LANES) {
        float top = -INF, total = 0;
        for (int64_t r = first; r < end; r++)
            top = max_(top, p.x[r * p.ldx + c]);
        for (int64_t r = first; r < end; r++)
            total += exp_(p.x[r * p.ldx + c] - top);
        for (int64_t r = first; r < end; r++)
            p.y[r * p.ldy + c] = exp_(p.x[r * p.ldx + c] - top) / total;
    }
}

KERNEL(pair_average_f32, struct bi_pair_average_params, ROW_THREADS, 4)
{
    const int64_t r = my_row();
    if (r >= p.counts->n_aligned)
        return;
    const struct bi_aligned of = bi_aligned_of(p.counts, &p.starts, p.starts.aligned, r);
    const int64_t i = (r - of.row) / of.depth, s = (r - of.row) % of.depth;
    const float *weight = p.weight + (of.grid + i * of.n) * p.ldw;
    const float *v = p.v + (of.row + s) * p.ldv;
    for (int c = thread_id() % ROW_LANES; c < p.n_heads * p.width; c += ROW_LANES) {
        const int h = c / p.width;
        float sum = 0;
        for (int64_t j = 0; j < of.n; j++)
            sum = fma_(weight[j * p.ldw + h], v[j * of.depth * p.ldv + c], sum);
        p.y[r * p.ldy + c] = sum;
    }
}
