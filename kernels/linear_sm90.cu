/* linear_sm90.cu - y = act(x w^T + bias) + residual on Hopper: tiles by the copy engine, products
 * by warpgroups, f16 in, f32 sums. The residual is of the type of y.
 *
 * A block stays on its multiprocessor and goes through tiles. Its first warpgroup only asks for
 * tiles of x and w, 64 along k at a time, into a ring of stages; the two others multiply. They
 * take turns: while one writes its tile of y, the other one's products keep the matrix unit busy.
 * The ring is filled in the order of the tiles; one may wait for its stages only when the other has
 * seen all of its own (turn), as a barrier tells two neighbouring rounds of the ring apart, not more.
 * Blocks go down groups of 16 row tiles, so that x and w stay in the cache.
 *
 * Each element of y is one chain over k = 0, 16, 32, ..., whatever the tile: the same bits from
 * either tile size and for any number of rows. Rows behind the end are computed from whatever is
 * there and not written. k: a multiple of 8, zero-padded to 64 by the copy engine.
 * Windows (rows of x that overlap, ldx < k) are k / ldx taps of ldx channels: each tap goes through the
 * channels 64 at a time, of the rows that many further down.
 *
 * act: none, gelu, relu. _gated_: rows of w are gates and values in blocks of 16 (linear.h); act:
 * silu, gelu_tanh.
 * _rotated_: with a table (linear.h), no act and no residual; columns are rotated in f32 before they
 * are rounded, and head_dim is 16, 32 or 64, so that both of a pair are staged together. */
#include "gpu_math.h"
#include "gpu_tiles.h"
#include "sm90.h"

#include "linear_sm90.h"

enum { SLICE = 64, GROUP = 16, STAGED = 64 /* columns of y a warp stages at once */ };

template <int M, int N, int STAGES> struct ring {
    f16 x[STAGES][M * SLICE], w[STAGES][N * SLICE];
    float y[8][16 * STAGED]; /* per warp that multiplies */
    u64 full[STAGES], empty[STAGES], turn[2];
};

/* Tile i of the grid's order. */
struct place {
    int m0, n0;
};
template <int M, int N> DEV place place_of(int i, int tiles_m, int tiles_n)
{
    const int group = i / (GROUP * tiles_n), within = i % (GROUP * tiles_n);
    const int first = group * GROUP, high = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    return place{(first + within % high) * M, within / high * N};
}

/* ---- the tile of y ----
 *
 * A warp has 16 rows. It stages 64 columns of them in shared memory, so that half a warp gets a
 * row and a lane four neighbours; chunks of 8 columns are permuted by row against bank
 * conflicts. */

enum { RUN = 4, GATES = 16 };

struct quad {
    float of[RUN];
};

template <typename T> DEV quad load_quad(const T *from, bool whole, int n)
{
    typedef T vector __attribute__((vector_size(RUN * sizeof(T))));
    quad r;
    if (whole) {
        const vector v = *(const vector *)from;
#pragma GCC unroll 4
        for (int i = 0; i < RUN; i++)
            r.of[i] = (float)v[i];
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < RUN; i++)
            r.of[i] = i < n ? (float)from[i] : 0;
    }
    return r;
}

template <typename T> DEV void store_quad(T *to, const quad &r, bool whole, int n)
{
    typedef T vector __attribute__((vector_size(RUN * sizeof(T))));
    if (whole) {
        vector v;
#pragma GCC unroll 4
        for (int i = 0; i < RUN; i++)
            v[i] = (T)r.of[i];
        *(vector *)to = v;
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < RUN; i++)
            if (i < n)
                to[i] = (T)r.of[i];
    }
}

template <int n, typename F> DEV void each(quad (&v)[n], F f)
{
#pragma GCC unroll 4
    for (int i = 0; i < n; i++)
#pragma GCC unroll 4
        for (int c = 0; c < RUN; c++)
            v[i].of[c] = f(v[i].of[c]);
}

/* Column c of row r of what a warp has staged. */
DEV int staged_at(int r, int c)
{
    return r * STAGED + (c ^ r % 4 * 8);
}

/* Where the token of row m stands in its own sequence. */
DEV int position_of(const struct bi_linear_params &p, int64_t m, int64_t rows)
{
    const int64_t token = m < rows ? m : rows - 1;
    return (int)(token - p.start[sequence_of(p.counts, p.start, token)]);
}

enum { PLAIN, ROTATED, GATED };

/* d, a warp's part of 16 rows and 64 columns, to shared memory. */
DEV void stage(float *staged, const float *d)
{
    typedef float two __attribute__((vector_size(8)));
    const int lane = lane_id();
    wave_barrier(); /* what was staged before is read */
#pragma GCC unroll 8
    for (int j = 0; j < STAGED / 8; j++)
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++)
            *(two *)(staged + staged_at(lane / 4 + 8 * r, j * 8 + lane % 4 * 2)) =
                two{d[4 * j + 2 * r], d[4 * j + 2 * r + 1]};
    wave_barrier();
}

/* The part of 16 rows from m0 and 64 columns from n0. */
template <bool gated, typename Y>
DEV void finish(const struct bi_linear_params &p, float *staged, const float *d, int64_t m0, int n0,
                int64_t rows)
{
    enum { AHEAD = 4 }; /* rows of a lane at once */
    const int lane = lane_id(), column = lane % 16 * RUN, n = n0 + column;
    const int left = rows - m0 < 16 ? (int)(rows - m0) : 16;
    const u64 bases = (u64)p.y / sizeof(Y) | (u64)p.residual / sizeof(Y) | (u64)p.ldy | (u64)p.ldr;
    const bool whole = (bases | (u64)p.n) % RUN == 0, there = n < p.n;
    /* gates and values take turns, 16 columns each */
    const bool writes = there && !(gated && column & GATES);
    const int to = gated ? n / (2 * GATES) * GATES + n % GATES : n;
    const quad bias = p.bias && there ? load_quad(p.bias + n, whole, p.n - n) : quad{};
    stage(staged, d);
#pragma GCC unroll 1
    for (int row0 = lane / 16; row0 < left; row0 += 2 * AHEAD) {
        quad v[AHEAD], more[AHEAD];
        if (!gated && p.residual) {
#pragma GCC unroll 4
            for (int i = 0; i < AHEAD; i++)
                if (there && row0 + 2 * i < left)
                    more[i] = load_quad((const Y *)p.residual + (m0 + row0 + 2 * i) * p.ldr + n,
                                        whole, p.n - n);
        }
#pragma GCC unroll 4
        for (int i = 0; i < AHEAD; i++) {
            v[i] = load_quad(staged + staged_at(row0 + 2 * i, column), true, RUN);
#pragma GCC unroll 4
            for (int c = 0; c < RUN; c++)
                v[i].of[c] += bias.of[c];
        }
        if (!gated && p.act == BI_ACT_GELU)
            each(v, [](float x) { return gelu(x); });
        else if (!gated && p.act == BI_ACT_RELU)
            each(v, [](float x) { return relu(x); });
        else if (gated && p.act == BI_ACT_SILU)
            each(v, [](float x) { return silu(x); });
        else if (gated)
            each(v, [](float x) { return gelu_tanh(x); });
        if (gated) {
#pragma GCC unroll 4
            for (int i = 0; i < AHEAD; i++) {
                const quad x = load_quad(staged + staged_at(row0 + 2 * i, column ^ GATES), true, RUN);
#pragma GCC unroll 4
                for (int c = 0; c < RUN; c++)
                    v[i].of[c] *= x.of[c];
            }
        }
        if (!gated && p.residual) {
#pragma GCC unroll 4
            for (int i = 0; i < AHEAD; i++)
#pragma GCC unroll 4
                for (int c = 0; c < RUN; c++)
                    v[i].of[c] += more[i].of[c];
        }
#pragma GCC unroll 4
        for (int i = 0; i < AHEAD; i++)
            if (writes && row0 + 2 * i < left)
                store_quad((Y *)p.y + (m0 + row0 + 2 * i) * p.ldy + to, v[i], whole, p.n - n);
    }
}

/* The same with a rotation: a lane has both of four pairs, a quarter of a warp a row. position: of
 * row m0 + lane % 16. */
template <typename Y>
DEV void finish_rotated(const struct bi_linear_params &p, float *staged, const float *d, int64_t m0,
                        int n0, int64_t rows, int position)
{
    const int lane = lane_id(), half = p.head_dim / 2, i4 = lane % 8 * RUN;
    const int left = rows - m0 < 16 ? (int)(rows - m0) : 16;
    const int column = i4 / half * p.head_dim + i4 % half, n = n0 + column;
    const bool whole = ((u64)p.y / sizeof(Y) | (u64)p.ldy | (u64)p.n) % RUN == 0;
    const bool rotate = n < p.n_rotated;
    const quad none = {};
    const quad low_bias = p.bias && n < p.n ? load_quad(p.bias + n, whole, p.n - n) : none;
    const quad high_bias =
        p.bias && n + half < p.n ? load_quad(p.bias + n + half, whole, p.n - n - half) : none;
    quad cosine[4], sine[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int at = shuffle(position, lane / 8 + 4 * i);
        const float *row = p.table + (int64_t)at * p.head_dim + i4 % half;
        if (rotate) {
            cosine[i] = load_quad(row, true, RUN);
            sine[i] = load_quad(row + half, true, RUN);
        }
    }
    stage(staged, d);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int row = lane / 8 + 4 * i;
        quad low = load_quad(staged + staged_at(row, column), true, RUN);
        quad high = load_quad(staged + staged_at(row, column + half), true, RUN);
        Y *y = (Y *)p.y + (m0 + row) * p.ldy + n;
#pragma GCC unroll 4
        for (int c = 0; c < RUN; c++) {
            const float a = low.of[c] + low_bias.of[c], b = high.of[c] + high_bias.of[c];
            low.of[c] = rotate ? fma_(a, cosine[i].of[c], -(b * sine[i].of[c])) : a;
            high.of[c] = rotate ? fma_(b, cosine[i].of[c], a * sine[i].of[c]) : b;
        }
        if (row < left && n < p.n)
            store_quad(y, low, whole, p.n - n);
        if (row < left && n + half < p.n)
            store_quad(y + half, high, whole, p.n - n - half);
    }
}

/* ---- the kernel ---- */

/* MT: parts of 64 rows that a warpgroup multiplies. */
template <int MT, int N, int STAGES, int kind, typename Y>
DEV void linear(const struct bi_linear_params &p, const tensor_map *maps)
{
    enum { M = 64 * MT };
    typedef ring<M, N, STAGES> ring;
    SHARED(ring, s, sizeof(ring));
    const int warpgroup = thread_id() / 128;
    if (thread_id() == 0) {
        for (int i = 0; i < STAGES; i++) {
            barrier_init(&s.full[i], 2);
            barrier_init(&s.empty[i], 1);
        }
        barrier_init(&s.turn[0], 1);
        barrier_init(&s.turn[1], 1);
        barriers_ready();
        map_prefetch(&maps[0]);
        map_prefetch(&maps[1]);
    }
    barrier();
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    const int tiles_m = (int)((rows + M - 1) / M), tiles_n = (p.n + N - 1) / N;
    const int channels = p.ldx < p.k ? (int)p.ldx : p.k; /* of a tap */
    const int tiles = tiles_m * tiles_n;
    const int slices = p.k / channels * ((channels + SLICE - 1) / SLICE);
    if (warpgroup == 0) {
        registers_down<40>();
        if (thread_id() == 0 || thread_id() == 32) { /* one warp for x, one for w */
            const bool weights = thread_id() == 32;
            int at = 0;
            u32 phase = 1; /* the ring is empty */
            if (!weights) /* weights are no inputs */
                wait_for_inputs();
            for (int i = block_x(); i < tiles; i += blocks_x()) {
                const place to = place_of<M, N>(i, tiles_m, tiles_n);
                for (int k = 0, tap = 0, c = 0; k < slices; k++) {
                    barrier_wait(&s.empty[at], phase);
                    barrier_expect(&s.full[at], (weights ? N : M) * SLICE * 2);
                    if (weights) /* behind the channels are the next tap's, and zeros of x */
                        copy_tile(s.w[at], &maps[1], tap * channels + c, to.n0, &s.full[at]);
                    else
                        copy_tile(s.x[at], &maps[0], c, to.m0 + tap, &s.full[at]);
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
    } else {
        registers_up<232>();
        wait_for_inputs();
        const int me = warpgroup - 1, warp = wave_id() - 4;
        const bool leader = thread_id() % 128 == 0;
        int at = me * slices % STAGES;
        u32 phase = me * slices / STAGES & 1, turn = me ^ 1;
        for (int i = block_x() + me * blocks_x(); i < tiles; i += 2 * blocks_x()) {
            const place to = place_of<M, N>(i, tiles_m, tiles_n);
            float d[MT][N / 2];
            int last = 0, positions[MT];
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++)
                positions[m] = kind == ROTATED ? position_of(p, to.m0 + m * 64 + warp % 4 * 16 +
                                                                    lane_id() % 16, rows)
                                               : 0;
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
            products_wait<0>();
            if (leader)
                barrier_arrive(&s.empty[last]);
            const int m0 = to.m0 + warp % 4 * 16;
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++)
#pragma GCC unroll 2
                for (int part = 0; part < N / STAGED; part++) {
                    const float *of = d[m] + part * STAGED / 2;
                    const int n0 = to.n0 + part * STAGED;
                    if (kind == ROTATED)
                        finish_rotated<Y>(p, s.y[warp], of, m0 + m * 64, n0, rows, positions[m]);
                    else
                        finish<kind == GATED, Y>(p, s.y[warp], of, m0 + m * 64, n0, rows);
                }
            turn ^= 1;
            at += slices; /* those of the other's tile */
            phase ^= at / STAGES & 1;
            at %= STAGES;
        }
    }
}

#define LINEAR(name, MT, N, STAGES, kind, Y)                                             \
    KERNEL_EARLY(name, struct bi_linear_sm90_params, 384, 1)                             \
    {                                                                                    \
        linear<MT, N, STAGES, kind, Y>(p.linear, MAPS(name));                            \
    }
LINEAR(linear_sm90_f16, 2, 128, 6, PLAIN, f16)
LINEAR(linear_sm90_f32, 2, 128, 6, PLAIN, float)
LINEAR(linear_sm90_rotated_f16, 2, 128, 6, ROTATED, f16)
LINEAR(linear_sm90_gated_f16, 2, 128, 6, GATED, f16)
LINEAR(linear_sm90_small_f16, 1, 64, 12, PLAIN, f16)
LINEAR(linear_sm90_small_f32, 1, 64, 12, PLAIN, float)
LINEAR(linear_sm90_small_rotated_f16, 1, 64, 12, ROTATED, f16)
LINEAR(linear_sm90_small_gated_f16, 1, 64, 12, GATED, f16)
