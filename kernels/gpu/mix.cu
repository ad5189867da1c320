/* mix.cu - values weighted by attention maps; maps f32, f32 arithmetic.
 * A block takes 32 queries of one head; grid: tiles of gpu_tiles.h, heads. */
#include "lib/gpu_heads.h"

#include "../attention.h"

template <typename T> DEV void mix(const struct bi_mix_params &p)
{
    SHARED(pair_tiles, s, sizeof(pair_tiles));
    const tile q = find_tile<PAIR_ROWS>((int)bi_live_rows(p.counts, p.seqs, 0), p.start, block_x());
    if (q.first >= q.length)
        return;
    const int row = q.first + pair_row();
    const int64_t column = (int64_t)block_y() * p.head_dim;
    const head_rows maps = {p.p + (q.start + q.first) * p.ldp + block_y() * p.ldh, p.ldp, nullptr,
                            q.length - q.first, q.length};
    for (int first = 0; first < p.head_dim; first += PAIR_PART) {
        pair_values o = {};
        for (int j0 = 0; j0 < q.length; j0 += PAIR_ROWS) {
            barrier(); /* the last weights are used up */
            read_plain<PAIR_ROWS, PAIR_ROWS, PAIR_THREADS, float>(maps, j0, s.p, PAIR_ROWS + 1);
            mix_pairs<T>(s,
                         head_rows{(const T *)p.v + (q.start + j0) * p.ldv + column, p.ldv, nullptr,
                                   q.length - j0, p.head_dim},
                         first, o);
        }
        T *y = (T *)p.y + (q.start + row) * p.ldy + column + first;
#pragma GCC unroll 8
        for (int c = 0; c < PAIR_PART / 8; c++)
            if (row < q.length && first + pair_column(c) < p.head_dim)
                y[pair_column(c)] = (T)o.of[c];
    }
}

KERNEL(mix_f32, struct bi_mix_params, PAIR_THREADS, 2)
{
    mix<float>(p);
}

KERNEL(mix_f16, struct bi_mix_params, PAIR_THREADS, 2)
{
    mix<f16>(p);
}
