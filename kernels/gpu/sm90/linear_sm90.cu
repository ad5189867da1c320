/* linear_sm90.cu - y = act(x w^T + bias) + residual on Hopper: tiles by the copy engine, products
 * by warpgroups, f16 in, f32 sums. The residual is of the type of y.
 *
 * A block stays on its multiprocessor and goes through tiles. Its first warpgroup only asks for
 * tiles of x and w, 64 along k at a time, into a ring of stages; the two others multiply. They
 * take turns: while one writes its tile of y, the other one's products keep the matrix unit busy.
 * The ring is filled in the order of the tiles; one may wait for its stages only when the other has
 * seen all of its own (turn), as a barrier tells two neighbouring rounds of the ring apart, not
 * more. Blocks go down groups of 16 row tiles, so that x and w stay in the cache.
 *
 * Each element of y is one chain over k = 0, 16, 32, ..., whatever the tile: the same bits from
 * either tile size, from linear_small_sm90.cu, and for any number of rows. Rows behind the end are
 * computed from whatever is there and not written. k: a multiple of 8, zero-padded to 64 by the
 * copy engine. Windows (rows of x that overlap, ldx < k) are k / ldx taps of ldx channels: each tap
 * goes through the channels 64 at a time, of the rows that many further down. Narrow ones are one
 * tap (linear_sm90.h).
 *
 * act: none, gelu, relu. _gated_: rows of w are gates and values in blocks of 16 (linear.h); act:
 * silu, gelu_tanh.
 * _rotated_: with a table (linear.h), no act and no residual; columns are rotated in f32 before
 * they are rounded, and head_dim is 16, 32 or 64, so that both of a pair are staged together.
 * _paired_: a tile of x is 64 even rows and 64 odd ones, so that a thread has the sums of both of a
 * pair.
 * _normed_, _paired_, _pooled_: what follows y; a residual that is made again is more of k. What a
 * warpgroup does with its sums, and what it asks for before, is the finisher's. */
#ifndef LINEAR_FOLLOWED
#include "linear_sm90_tile.h"
#else
#include "linear_followed_tile.h"
#endif

template <int M, int N, int STAGES, typename F> struct ring {
    f16 x[STAGES][M * SLICE], w[STAGES][N * SLICE];
    typename F::room room[8];     /* per warp that multiplies */
    typename F::shared shared[2]; /* per warpgroup that does */
    u64 full[STAGES], empty[STAGES], turn[2], landed[8][F::BARRIERS];
};

/* ---- the kernel ---- */

/* Asks for the tiles of x, or of w (thread 32), of all of a block's tiles of y. */
template <int M, int N, int STAGES, int kind, typename F>
DEV void ask_tiles(ring<M, N, STAGES, F> &s, const struct bi_linear_params &p,
                   const tensor_map *maps, int tiles_m, int tiles_n, int slices, int own_slices)
{
    const int channels = BI_LINEAR_CHANNELS(&p); /* a tap's */
    const bool weights = thread_id() == 32;
    int at = 0;
    u32 phase = 1; /* the ring is empty */
    if (!weights)  /* weights are no inputs */
        wait_for_inputs();
    for (int i = block_x(); i < tiles_m * tiles_n; i += blocks_x()) {
        const place to = place_of<M, N>(i, tiles_m, tiles_n);
        for (int k = 0, tap = 0, c = 0; k < slices; k++) {
            barrier_wait(&s.empty[at], phase);
            barrier_expect(&s.full[at], (weights ? N : M) * SLICE * 2);
            /* the product that is made again; behind the channels are the next tap's,
             * and zeros of x */
            const bool more = kind == PAIRED && k >= own_slices;
            const int column = more ? (k - own_slices) * SLICE : weights ? tap * channels + c : c;
            const int row = weights ? to.n0 : more ? to.m0 : to.m0 + tap;
            if (weights)
                copy_tile(s.w[at], &maps[more ? MAP_MORE_W : MAP_W], column, row, &s.full[at]);
            else if (F::TWOS)
                for (int odd = 0; odd < 2; odd++)
                    copy_tile(s.x[at] + odd * 64 * SLICE,
                              &maps[(row + odd) % 2 ? (more ? MAP_MORE_ODD : MAP_ODD)
                                                    : (more ? MAP_ADDED : MAP_X)],
                              column, (row + odd) / 2, &s.full[at]);
            else
                copy_tile(s.x[at], &maps[more ? MAP_ADDED : MAP_X], column, row, &s.full[at]);
            c += SLICE;
            if (c >= channels) {
                c = 0;
                tap++;
            }
            if (++at == STAGES) {
                at = 0;
                phase ^= 1;
            }
        }
    }
}

/* MT: parts of 64 rows that a warpgroup multiplies. */
template <int MT, int N, int STAGES, int kind, typename Y>
DEV void linear(const struct bi_linear_params &p, const tensor_map *maps)
{
    typedef finisher<MT, N, kind, Y> finisher;
    enum { M = 64 * MT };
    typedef ring<M, N, STAGES, finisher> ring;
    SHARED(ring, s, sizeof(ring));
    const int warpgroup = thread_id() / 128;
    if (thread_id() == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s.full[i], 2);
            barrier_init(&s.empty[i], 1);
        }
        barrier_init(&s.turn[0], 1);
        barrier_init(&s.turn[1], 1);
        for (int i = 0; i < 8 * finisher::BARRIERS; i++)
            barrier_init(&s.landed[0][i], 1);
        for (int i = 0; i < 2; i++)
            finisher::init(s.shared[i]);
        barriers_ready();
        map_prefetch(&maps[0]);
        map_prefetch(&maps[1]);
    }
    barrier();
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    const int tiles_m = (int)((rows + M - 1) / M), tiles_n = (p.n + N - 1) / N;
    const int channels = BI_LINEAR_CHANNELS(&p); /* a tap's */
    const int tiles = tiles_m * tiles_n;
    const int own_slices = p.k / channels * ((channels + SLICE - 1) / SLICE);
    const int slices = own_slices + (kind == PAIRED ? (p.more_k + SLICE - 1) / SLICE : 0);
    if (warpgroup == 0) {
        registers_down<24>();
        if (thread_id() == 0 || thread_id() == 32) { /* one warp for x, one for w */
            ask_tiles<M, N, STAGES, kind, finisher>(s, p, maps, tiles_m, tiles_n, slices,
                                                    own_slices);
        }
    } else {
        registers_up<240>();
        wait_for_inputs();
        const int me = warpgroup - 1, warp = wave_id() - 4;
        const bool leader = thread_id() % 128 == 0;
        finisher f(p, maps, s.room[warp], s.landed[warp], s.shared[me], rows);
        int at = me * slices % STAGES;
        u32 phase = me * slices / STAGES & 1, turn = me ^ 1;
        for (int i = block_x() + me * blocks_x(); i < tiles; i += 2 * blocks_x()) {
            const place to = place_of<M, N>(i, tiles_m, tiles_n);
            float d[MT][N / 2];
            int last = 0;
            f.begin(to.m0 + warp % 4 * (finisher::TWOS ? 32 : 16), to.n0);
            barrier_wait(&s.turn[me], turn); /* the other one has asked for its stages */
            for (int k = 0; k < slices; k++) {
                barrier_wait(&s.full[at], phase);
                products_begin();
#pragma GCC unroll 4
                for (int kk = 0; kk < SLICE / 16; kk++)
#pragma GCC unroll 2
                    for (int m = 0; m < MT; m++)
                        product(d[m], descriptor(s.x[at] + m * 64 * SLICE) + kk * 2,
                                descriptor(s.w[at]) + kk * 2, k + kk > 0);
                products_commit();
                if (k > 0) {
                    products_wait<1>();
                    if (leader)
                        barrier_arrive(&s.empty[last]);
                }
                last = at;
                if (++at == STAGES) {
                    at = 0;
                    phase ^= 1;
                }
            }
            if (leader)
                barrier_arrive(&s.turn[me ^ 1]);
            f.prepare();
            products_wait<0>();
            if (leader)
                barrier_arrive(&s.empty[last]);
            f.finish(d);
            turn ^= 1;
            at += slices; /* the slices of the other's tile */
            phase ^= at / STAGES & 1;
            at %= STAGES;
        }
        f.end();
    }
}

#ifndef LINEAR_FOLLOWED
#define LINEAR(name, MT, N, STAGES, kind, Y)                                                       \
    KERNEL_EARLY(name, struct bi_linear_sm90_params, 384, 1)                                       \
    {                                                                                              \
        linear<MT, N, STAGES, kind, Y>(p.linear, MAPS(name));                                      \
    }
LINEAR(linear_sm90_rotated_f16, 2, 128, 6, ROTATED, f16)
LINEAR(linear_sm90_gated_f16, 2, 128, 6, GATED, f16)
LINEAR(linear_sm90_small_f16, 1, 64, 12, PLAIN, f16)
LINEAR(linear_sm90_small_f32, 1, 64, 12, PLAIN, float)
LINEAR(linear_sm90_small_rotated_f16, 1, 64, 12, ROTATED, f16)
LINEAR(linear_sm90_small_gated_f16, 1, 64, 12, GATED, f16)
#else /* linear_followed_sm90.cu */
#define LINEAR(name, MT, N, STAGES, kind, Y)                                                       \
    KERNEL_EARLY(name, struct bi_followed_sm90_params, 384, 1)                                     \
    {                                                                                              \
        linear<MT, N, STAGES, kind, Y>(p.followed, MAPS(name));                                    \
    }
LINEAR(linear_sm90_f16, 2, 128, 5, PLAIN, f16)
LINEAR(linear_sm90_f32, 2, 128, 5, PLAIN, float)
LINEAR(linear_sm90_normed_f16, 2, 128, 5, NORMED, f16)
LINEAR(linear_sm90_paired_f16, 2, 128, 5, PAIRED, f16)
LINEAR(linear_sm90_pooled_f16, 2, 128, 4, POOLED, f16)
LINEAR(linear_sm90_pooled_f32, 2, 128, 4, POOLED, float)
LINEAR(linear_sm90_small_normed_f16, 1, 64, 12, NORMED, f16)
LINEAR(linear_sm90_small_paired_f16, 1, 64, 12, PAIRED, f16)
LINEAR(linear_sm90_small_pooled_f16, 1, 64, 12, POOLED, f16)
LINEAR(linear_sm90_small_pooled_f32, 1, 64, 12, POOLED, float)
#endif
