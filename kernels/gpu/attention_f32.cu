/* attention_f32.cu - softmax(scale q k^T + bias) v within each sequence, all in f32: the exact
 * mode.
 *
 * A block takes 32 queries of one head and 32 keys at a time (gpu_heads.h), online softmax.
 * Key tiles count from the start of the own sequence: the same bits in any batch. _dN serves
 * head widths up to N. Grid: tiles of gpu_tiles.h, heads. */
#include "lib/gpu_heads.h"

#pragma clang force_cuda_host_device begin
#include "../attention.h"
#pragma clang force_cuda_host_device end
#include "lib/gpu_math.h"

template <int D> DEV void attention_f32(const struct bi_attention_params &p)
{
    enum { PARTS = D / PAIR_PART };
    SHARED(pair_tiles, s, sizeof(pair_tiles));
    const tile q = find_tile<PAIR_ROWS>((int)bi_live_rows(p.counts, p.seqs, 0), p.start, block_x());
    if (q.first >= q.length)
        return;
    const int64_t column = (int64_t)block_y() * p.head_dim, d = p.head_dim;
    const head_rows x = {p.q + (q.start + q.first) * p.ldq + column, p.ldq,
                         p.table ? p.table + q.first * d : p.table, q.length - q.first, (int)d};
    pair_values o[PARTS] = {};
    float max = -INF, sum = 0; /* sum: of this thread's keys */
    const bool live = q.first + pair_row() < q.length;
    const float *pairs = nullptr; /* for this thread's query */
    if (p.grid_bias)
        pairs = p.grid_bias + block_y() +
                (bi_bias_grid(p.counts, p.grid_start, p.axis, q.seq, q.start) +
                 (int64_t)(q.first + pair_row()) * q.length) *
                    p.ldgb;

    for (int j0 = 0; j0 < q.length; j0 += PAIR_ROWS) {
        const int64_t at = q.start + j0;
        const int keys = q.length - j0;
        pair_scores score = multiply_pairs<float>(s, x,
                                                  head_rows{p.k + at * p.ldk + column, p.ldk,
                                                            p.table ? p.table + j0 * d : p.table,
                                                            keys, (int)d});
        float high = max;
#pragma GCC unroll 4
        for (int c = 0; c < PAIR_OF; c++) {
            score.of[c] *= p.scale;
            if (p.bias) {
                const int gap = j0 + pair_column(c) - (q.first + pair_row());
                const int near = gap < -p.reach ? -p.reach : gap > p.reach ? p.reach : gap;
                score.of[c] += p.bias[block_y() * (2 * p.reach + 1) + p.reach + near];
            }
            if (pairs && live && pair_column(c) < keys)
                score.of[c] += pairs[(j0 + pair_column(c)) * p.ldgb];
            score.of[c] = pair_column(c) < keys ? score.of[c] : -INF;
            high = max_(high, score.of[c]);
        }
        high = lanes_max<8>(high);
        const float shrink = max == high ? 1 : exp_(max - high);
        max = high;
        sum *= shrink;
#pragma GCC unroll 4
        for (int c = 0; c < PAIR_OF; c++) {
            const float e = exp_(score.of[c] - (high == -INF ? 0 : high));
            s.p[pair_row() * (PAIR_ROWS + 1) + pair_column(c)] = e;
            sum += e;
        }
#pragma GCC unroll 4
        for (int part = 0; part < PARTS; part++) {
#pragma GCC unroll 8
            for (int c = 0; c < PAIR_PART / 8; c++)
                o[part].of[c] *= shrink;
            mix_pairs<float>(s, head_rows{p.v + at * p.ldv + column, p.ldv, nullptr, keys, (int)d},
                             part * PAIR_PART, o[part]);
        }
    }
    sum = lanes_sum<8>(sum);
    if (!live)
        return;
    float *y = p.y + (q.start + q.first + pair_row()) * p.ldy + column;
#pragma GCC unroll 4
    for (int part = 0; part < PARTS; part++)
#pragma GCC unroll 8
        for (int c = 0; c < PAIR_PART / 8; c++)
            if (part * PAIR_PART + pair_column(c) < d)
                y[part * PAIR_PART + pair_column(c)] = o[part].of[c] / sum;
}

KERNEL(attention_d64_f32, struct bi_attention_params, PAIR_THREADS, 2)
{
    attention_f32<64>(p);
}

KERNEL(attention_d128_f32, struct bi_attention_params, PAIR_THREADS, 2)
{
    attention_f32<128>(p);
}

KERNEL(attention_d256_f32, struct bi_attention_params, PAIR_THREADS, 2)
{
    attention_f32<256>(p);
}
