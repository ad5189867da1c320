/* linear_twin_sm90.cu - a convolution of five taps on Hopper, and the norm behind it: eight
 * products for two rows of y (linear_twin.h).
 *
 * A block stays on its multiprocessor and goes through tiles of 128 pairs of rows and N columns.
 * Its first warpgroup only asks for tiles: of e and o, 64 channels and two rows more than pairs,
 * which all taps are multiplied with, as an operand may begin at any row of a tile; and of w, one
 * product each, into a ring. Each of the others makes s, y0 and y1 of 64 pairs, s of sums of rows
 * that it makes in registers, rounded to f16, while the products before are made. All of a block's
 * sums fill its registers, so that nothing hides what follows the products.
 *
 * Each element of y is the sum of two chains over the channels, 64 at a time, and of these over the
 * products in their order: the same bits for any number of rows and either N, as long as pairs are
 * the same pairs. */
#include "linear_followed_tile.h"
#include "linear_twin.h"

enum { M = 128 /* pairs */, ROWS = M + 2 /* rows of e, of o, that a tile reads */ };

template <int N, int SLOTS> struct ring {
    f16 rows[2][2][(ROWS + 7) / 8 * 8 * SLICE]; /* e and o, of 64 channels */
    f16 w[SLOTS][N * SLICE];
    typename finisher<2, N, TWIN, f16>::room room[8];     /* per warp that multiplies */
    typename finisher<2, N, TWIN, f16>::shared shared[2]; /* per warpgroup that does */
    u64 rows_full[2], rows_empty[2], full[SLOTS], empty[SLOTS];
};

/* The sums of 16 rows of a from a_row, of b from b_row on, as operands. */
DEV void add_rows(u32x4 (&sum)[SLICE / 16], f16 *a, int a_row, f16 *b, int b_row)
{
    const int lane = lane_id() % 16;
#pragma GCC unroll 4
    for (int k = 0; k < SLICE / 16; k++) {
        const u32x4 x = matrices(place_in(a, a_row + lane, k)),
                    y = matrices(place_in(b, b_row + lane, k));
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            sum[k][i] = bits<u32>(bits<f16x2>(x[i]) + bits<f16x2>(y[i]));
    }
}

/* 64 channels more. */
template <int N> DEV void step(float (&d)[N], const u32x4 (&x)[SLICE / 16], const f16 *w, bool more)
{
    products_begin();
#pragma GCC unroll 4
    for (int k = 0; k < SLICE / 16; k++)
        product(d, x[k], descriptor(w) + k * 2, more || k > 0);
    products_commit();
}
template <int N> DEV void step(float (&d)[N], const f16 *x, const f16 *w, bool more)
{
    products_begin();
#pragma GCC unroll 4
    for (int k = 0; k < SLICE / 16; k++)
        product(d, descriptor(x) + k * 2, descriptor(w) + k * 2, more || k > 0);
    products_commit();
}

/* Asks for the rows of x of all of a block's tiles. */
template <int N, int SLOTS>
DEV void ask_rows(ring<N, SLOTS> &s, const tensor_map *maps, int tiles_m, int tiles_n, int channels)
{
    spot<2> r{0, 1}; /* the ring is empty */
    wait_for_inputs();
    for (int i = block_x(); i < tiles_m * tiles_n; i += blocks_x()) {
        const place to = place_of<M, N>(i, tiles_m, tiles_n);
        for (int c = 0; c < channels; c += SLICE) {
            u64 *full = &s.rows_full[r.at];
            barrier_wait(&s.rows_empty[r.at], r.phase);
            barrier_expect(full, 2 * ROWS * SLICE * 2);
            copy_tile(s.rows[r.at][0], &maps[MAP_X], c, to.m0, full);
            copy_tile(s.rows[r.at][1], &maps[MAP_ODD], c, to.m0, full);
            r.next();
        }
    }
}

/* The same for w, a product at a time. */
template <int N, int SLOTS>
DEV void ask_products(ring<N, SLOTS> &s, const tensor_map *maps, int tiles_m, int tiles_n,
                      int channels)
{
    spot<SLOTS> r{0, 1};
    for (int i = block_x(); i < tiles_m * tiles_n; i += blocks_x()) {
        const place to = place_of<M, N>(i, tiles_m, tiles_n);
        for (int c = 0; c < channels; c += SLICE)
            for (int i_w = 0; i_w < BI_TWIN_PRODUCTS; i_w++) {
                barrier_wait(&s.empty[r.at], r.phase);
                barrier_expect(&s.full[r.at], N * SLICE * 2);
                /* behind the channels are the next product's, and zeros of x */
                copy_tile(s.w[r.at], &maps[MAP_W], i_w * channels + c, to.n0, &s.full[r.at]);
                r.next();
            }
    }
}

template <int N, int SLOTS> DEV void twin(const struct bi_linear_params &q, const tensor_map *maps)
{
    typedef finisher<2, N, TWIN, f16> finisher;
    typedef ring<N, SLOTS> ring;
    SHARED(ring, s, sizeof(ring));
    const int warpgroup = thread_id() / 128;
    if (thread_id() == 0) {
        for (int i = 0; i < 2; i++) {
            barrier_init(&s.rows_full[i], 1);
            barrier_init(&s.rows_empty[i], 2);
        }
        for (int i = 0; i < SLOTS; i++) {
            barrier_init(&s.full[i], 1);
            barrier_init(&s.empty[i], 2);
        }
        for (int i = 0; i < 2; i++)
            finisher::init(s.shared[i]);
        barriers_ready();
    }
    barrier();
    const int64_t rows = bi_live_rows(q.counts, q.axis, q.rows);
    const int tiles_m = (int)((rows / 2 + M - 1) / M), tiles_n = (q.n + N - 1) / N;
    const int tiles = tiles_m * tiles_n, channels = (int)q.ldx;
    if (warpgroup == 0) {
        registers_down<24>();
        if (thread_id() == 0) { /* one warp for x, one for w */
            ask_rows(s, maps, tiles_m, tiles_n, channels);
        } else if (thread_id() == 32) {
            ask_products(s, maps, tiles_m, tiles_n, channels);
        }
    } else {
        registers_up<240>();
        wait_for_inputs();
        const int warp = wave_id() - 4, row0 = (warpgroup - 1) * 64, warp_row = warp * 16;
        const bool leader = thread_id() % 128 == 0;
        finisher f(q, maps, s.room[warp], nullptr, s.shared[warpgroup - 1], rows);
        spot<2> r{0, 0};
        spot<SLOTS> w{0, 0};
        for (int i = block_x(); i < tiles; i += blocks_x()) {
            const place to = place_of<M, N>(i, tiles_m, tiles_n);
            float shared[N / 2], d[2][N / 2];
            u32x4 sum[SLICE / 16];
            int last = 0, last_rows = 0;
            f.begin(2 * (to.m0 + warp_row), to.n0);
            /* A step is on its way: what the one before has read may be written again. */
            const auto on = [&](bool first) {
                products_wait<1>();
                if (leader && !first)
                    barrier_arrive(&s.empty[last]);
                last = w.at;
                w.next();
            };
            for (int c = 0; c < channels; c += SLICE) {
                const bool more = c > 0;
                f16 *even = s.rows[r.at][0], *odd = s.rows[r.at][1];
                barrier_wait(&s.rows_full[r.at], r.phase);
                add_rows(sum, even, warp_row + 1, odd, warp_row);
#pragma GCC unroll 2
                for (int half = 0; half < 2; half++) {
                    barrier_wait(&s.full[w.at], w.phase);
                    step(shared, sum, s.w[w.at], more || half);
                    on(!more && !half);
                    if (leader && more && !half)
                        barrier_arrive(&s.rows_empty[last_rows]);
                    barrier_wait(&s.full[w.at], w.phase);
                    step(d[0], even + (row0 + 1 + half) * SLICE, s.w[w.at], more || half);
                    on(false);
                    barrier_wait(&s.full[w.at], w.phase);
                    step(d[1], odd + (row0 + half) * SLICE, s.w[w.at], more || half);
                    if (half == 0)
                        add_rows(sum, even, warp_row + 2, odd, warp_row + 1);
                    on(false);
                    barrier_wait(&s.full[w.at], w.phase);
                    step(d[half], half ? odd + (row0 + 2) * SLICE : even + row0 * SLICE, s.w[w.at],
                         true);
                    on(false);
                }
                last_rows = r.at;
                r.next();
            }
            products_wait<0>();
            if (leader) {
                barrier_arrive(&s.empty[last]);
                barrier_arrive(&s.rows_empty[last_rows]);
            }
#pragma GCC unroll 64
            for (int j = 0; j < N / 2; j++) {
                d[0][j] += shared[j];
                d[1][j] += shared[j];
            }
            f.finish(d);
        }
        f.end();
    }
}

#define LINEAR(name, N, SLOTS)                                                                     \
    KERNEL_EARLY(name, struct bi_followed_sm90_params, 384, 1)                                     \
    {                                                                                              \
        twin<N, SLOTS>(p.followed, MAPS(name));                                                    \
    }
LINEAR(linear_sm90_twin_normed_f16, 128, 5)
LINEAR(linear_sm90_small_twin_normed_f16, 64, 10)
