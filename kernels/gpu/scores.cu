/* scores.cu - scale q . k within each sequence, f32 arithmetic; p f32.
 * A block takes 32 queries of one head; grid: tiles of gpu_tiles.h, heads. */
#include "lib/gpu_heads.h"

#include "../attention.h"

template <typename T> DEV void scores(const struct bi_scores_params &p)
{
    SHARED(pair_tiles, s, sizeof(pair_tiles));
    const tile q = find_tile<PAIR_ROWS>((int)bi_live_rows(p.counts, p.seqs, 0), p.start, block_x());
    if (q.first >= q.length)
        return;
    const int row = q.first + pair_row();
    const int64_t column = (int64_t)block_y() * p.head_dim;
    float *out = p.p + (q.start + row) * p.ldp + block_y() * p.ldh;
    const head_rows x = {(const T *)p.q + (q.start + q.first) * p.ldq + column, p.ldq, nullptr,
                         q.length - q.first, p.head_dim};
    for (int j0 = 0; j0 < q.length; j0 += PAIR_ROWS) {
        const pair_scores d = multiply_pairs<T>(
            s, x,
            head_rows{(const T *)p.k + (q.start + j0) * p.ldk + column, p.ldk, nullptr,
                      q.length - j0, p.head_dim});
#pragma GCC unroll 4
        for (int c = 0; c < PAIR_OF; c++)
            if (row < q.length && j0 + pair_column(c) < q.length)
                out[j0 + pair_column(c)] = d.of[c] * p.scale;
    }
}

KERNEL(scores_f32, struct bi_scores_params, PAIR_THREADS, 2)
{
    scores<float>(p);
}

KERNEL(scores_f16, struct bi_scores_params, PAIR_THREADS, 2)
{
    scores<f16>(p);
}
