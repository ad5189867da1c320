/* linear_sm90_tile.h - what becomes of the sums of a warpgroup of linear_sm90.cu: the tile of y.
 *
 * A warp has 16 rows of each 64. It goes through parts of 64 columns: stages one in shared memory,
 * so that half a warp gets a row and a lane four neighbours; chunks of 8 columns are permuted by
 * row against bank conflicts. The parts are a loop, not unrolled, as its code has to stay in the
 * instruction cache; what a part reads is asked for while the one before it is finished, stays as
 * it lies in memory until it is used, as to turn it into floats is to wait for it, and comes from
 * the cache, where `announce` has it brought while the products are made. */
#ifndef BI_LINEAR_SM90_TILE_H
#define BI_LINEAR_SM90_TILE_H

#include "linear_sm90_kinds.h"

enum { RUN = 4, GATES = 16, STAGED = 64 /* columns of y a warp stages at once */ };

/* Four neighbours along n as floats. */
struct quad {
    float of[RUN];
};

/* Four neighbours as they lie in memory; of f16 the first two words. */
struct held {
    u32 of[RUN];
};

/* Four neighbours from memory, aligned to all four, not converted yet; words that T does not need
 * are 0. */
template <typename T> DEV held hold(const T *from)
{
    typedef u32 words __attribute__((vector_size(RUN * sizeof(T))));
    const words w = *(const words *)from;
    held h = {};
#pragma GCC unroll 4
    for (int i = 0; i < (int)sizeof(T); i++)
        h.of[i] = w[i];
    return h;
}

/* Writes them as they are. */
template <typename T> DEV void store_held(T *to, const held &h)
{
    typedef u32 words __attribute__((vector_size(RUN * sizeof(T))));
    words w;
#pragma GCC unroll 4
    for (int i = 0; i < (int)sizeof(T); i++)
        w[i] = h.of[i];
    *(words *)to = w;
}

/* They as floats; T: what they are in memory. */
template <typename T> DEV quad quad_of(const held &h)
{
    typedef T vector __attribute__((vector_size(RUN * sizeof(T))));
    typedef u32 words __attribute__((vector_size(RUN * sizeof(T))));
    words w;
#pragma GCC unroll 4
    for (int i = 0; i < (int)sizeof(T); i++)
        w[i] = h.of[i];
    const vector v = bits<vector>(w);
    return quad{{(float)v[0], (float)v[1], (float)v[2], (float)v[3]}};
}

/* Four floats, rounded to T, as they lie in memory. */
template <typename T> DEV held held_of(const quad &r)
{
    typedef T vector __attribute__((vector_size(RUN * sizeof(T))));
    typedef u32 words __attribute__((vector_size(RUN * sizeof(T))));
    const words w = bits<words>(vector{(T)r.of[0], (T)r.of[1], (T)r.of[2], (T)r.of[3]});
    held h = {};
#pragma GCC unroll 4
    for (int i = 0; i < (int)sizeof(T); i++)
        h.of[i] = w[i];
    return h;
}

/* Four neighbours from memory as floats. */
template <typename T> DEV quad load_quad(const T *from)
{
    return quad_of<T>(hold(from));
}

/* Writes four floats, rounded to T. */
template <typename T> DEV void store_quad(T *to, const quad &r)
{
    store_held(to, held_of<T>(r));
}

/* Replaces every number x of v by f(x). */
template <int n, typename F> DEV void each(quad (&v)[n], F f)
{
#pragma GCC unroll 8
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

/* Where the token of row m stands in its own sequence; for a row behind the last one of `rows`, at
 * least 1, where that one does. */
DEV int position_of(const struct bi_linear_params &p, int64_t m, int64_t rows)
{
    const int64_t token = m < rows ? m : rows - 1;
    return (int)(token - p.start[sequence_of(p.counts, p.start, token)]);
}

/* d, a warp's part of 16 rows and 64 columns, to shared memory. All lanes call it; wave_barrier()
 * comes before others read, and before the next one. */
DEV void stage(float *staged, const float *d)
{
    const int lane = lane_id();
#pragma GCC unroll 8
    for (int j = 0; j < STAGED / 8; j++)
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++)
            store_two(staged + staged_at(lane / 4 + 8 * r, j * 8 + lane % 4 * 2),
                      two{d[4 * j + 2 * r], d[4 * j + 2 * r + 1]});
}

/* All parts of a tile share it. whole: four neighbours of a row of y, bias and residual may be
 * read and written at once. */
struct target {
    const struct bi_linear_params &p;
    const float *staged;
    int64_t m0, rows;
    int n0;
    bool whole;
};

/* A part to y, with bias, act and gate or residual, one element after the other, where rows or
 * columns are not aligned; rows and columns that are not there are left out. */
template <bool gated, typename Y> DEV void finish_odd(const target &t, int64_t m0, int n0)
{
    const struct bi_linear_params &p = t.p;
    for (int r = 0; r < 16 && m0 + r < t.rows; r++)
        for (int c = lane_id(); c < STAGED && n0 + c < p.n; c += 32) {
            const int n = n0 + c, to = gated ? n / (2 * GATES) * GATES + n % GATES : n;
            float v = t.staged[staged_at(r, c)] + (p.bias ? p.bias[n] : 0);
            if (gated && c & GATES)
                continue;
            if (gated)
                v = (p.act == BI_ACT_SILU ? silu(v) : gelu_tanh(v)) *
                    t.staged[staged_at(r, c ^ GATES)];
            else
                v = p.act == BI_ACT_GELU   ? (sizeof(Y) == 2 ? gelu_half(v) : gelu(v))
                    : p.act == BI_ACT_RELU ? relu(v)
                                           : v;
            if (!gated && p.residual)
                v += (float)((const Y *)p.residual)[(m0 + r) * p.ldr + n];
            ((Y *)p.y)[(m0 + r) * p.ldy + to] = (Y)v;
        }
}

/* A lane adds these to its eight rows of a part: bias, and residual. */
struct addends {
    quad bias;
    held more[8];
};

/* Has the residual of all parts of a warp brought to the cache; does nothing where there is none,
 * or kind is not PLAIN. */
template <int MT, int N, int kind, typename Y> DEV void announce(const target &t)
{
    enum { LINE = 128 / sizeof(Y), LINES = (N + LINE - 1) / LINE };
    if (kind != PLAIN || !t.p.residual)
        return;
#pragma GCC unroll 1
    for (int i = lane_id(); i < MT * 16 * LINES; i += 32) {
        const int row = i / LINES, n = t.n0 + i % LINES * LINE;
        const int64_t m = t.m0 + row / 16 * 64 + row % 16;
        if (m < t.rows && n < t.p.n)
            prefetch((const Y *)t.p.residual + m * t.p.ldr + n);
    }
}

/* Reads for rows 4 h ... 4 h + 3 of the eight; what is the same for all of them, the bias, with
 * h = 1. For all that is not there (no bias, no residual, rows and columns behind the last, t.whole
 * false) a stays as it was, which is zeros at first. */
template <int kind, typename Y> DEV void ask(const target &t, addends &a, int64_t m0, int n0, int h)
{
    const struct bi_linear_params &p = t.p;
    const int lane = lane_id(), n = n0 + lane % 16 * RUN;
    if (!t.whole || n >= p.n)
        return;
    if (p.bias && h == 1)
        a.bias = load_quad(p.bias + n);
    if (kind != PLAIN || !p.residual)
        return;
    const int64_t m = m0 + lane / 16 + 8 * h;
    const Y *from = (const Y *)p.residual + m * p.ldr + n;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, from += 2 * p.ldr)
        if (m + 2 * i < t.rows)
            a.more[4 * h + i] = hold(from);
}

/* Finishes rows 4 h ... 4 h + 3 of a lane's eight and writes them to y: bias, act, gate or
 * residual; only where t.whole. */
template <int kind, typename Y>
DEV void finish(const target &t, const addends &a, int64_t m0, int n0, int h)
{
    constexpr bool gated = kind == GATED;
    const struct bi_linear_params &p = t.p;
    const int lane = lane_id(), column = lane % 16 * RUN, n = n0 + column;
    /* gates and values take turns, 16 columns each */
    const int to = gated ? n / (2 * GATES) * GATES + n % GATES : n;
    const bool writes = n < p.n && !(gated && column & GATES);
    const int64_t m = m0 + lane / 16 + 8 * h;
    quad v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[i] = load_quad(t.staged + staged_at(lane / 16 + 2 * (4 * h + i), column));
#pragma GCC unroll 4
        for (int c = 0; c < RUN; c++)
            v[i].of[c] += a.bias.of[c];
    }
    if (kind == PLAIN && p.act == BI_ACT_GELU)
        each(v, [](float x) { return sizeof(Y) == 2 ? gelu_half(x) : gelu(x); });
    else if (kind == PLAIN && p.act == BI_ACT_RELU)
        each(v, [](float x) { return relu(x); });
    else if (gated && p.act == BI_ACT_SILU)
        each(v, [](float x) { return silu(x); });
    else if (gated)
        each(v, [](float x) { return gelu_tanh(x); });
    Y *y = (Y *)p.y + m * p.ldy + to;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++, y += 2 * p.ldy) {
        quad x = {};
        if (gated)
            x = load_quad(t.staged + staged_at(lane / 16 + 2 * (4 * h + i), column ^ GATES));
        else if (kind == PLAIN && p.residual)
            x = quad_of<Y>(a.more[4 * h + i]);
#pragma GCC unroll 4
        for (int c = 0; c < RUN; c++)
            if (gated)
                v[i].of[c] *= x.of[c];
            else
                v[i].of[c] += x.of[c];
        if (writes && m + 2 * i < t.rows)
            store_quad(y, v[i]);
    }
}

/* A lane has both of four pairs of columns, a quarter of a warp a row: of four rows its cosines and
 * sines. They are those of all parts with the same rows. */
struct turns {
    quad cosine[4], sine[4];
};

/* Reads row i of the four, 0 to 3; position: of row m0 + lane % 16, which the lane gives to those
 * that ask for it. All lanes call it. */
DEV void ask_turn(const target &t, turns &a, int position, int i)
{
    const int lane = lane_id(), half = t.p.head_dim / 2;
    const float *row = t.p.table + (int64_t)shuffle(position, lane / 8 + 4 * i) * t.p.head_dim +
                       lane % 8 * RUN % half;
    a.cosine[i] = load_quad(row);
    a.sine[i] = load_quad(row + half);
}

/* last: these are the last columns of their rows, so the turns of the rows after these are asked
 * for as soon as a row is done: next is the position of theirs, as ask_turn() has it, and is not
 * looked at where last is false. */
template <typename Y>
DEV void finish_rotated(const target &t, turns &a, int64_t m0, int n0, bool last, int next)
{
    const struct bi_linear_params &p = t.p;
    const int lane = lane_id(), half = p.head_dim / 2, i4 = lane % 8 * RUN;
    const int column = i4 / half * p.head_dim + i4 % half, n = n0 + column;
    const bool rotate = n < p.n_rotated, low_in = n < p.n, high_in = n + half < p.n;
    const bool whole = t.whole;
    quad low_bias = {}, high_bias = {};
    if (p.bias)
#pragma GCC unroll 4
        for (int c = 0; c < RUN; c++) {
            low_bias.of[c] = n + c < p.n ? p.bias[n + c] : 0;
            high_bias.of[c] = n + half + c < p.n ? p.bias[n + half + c] : 0;
        }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int row = lane / 8 + 4 * i;
        quad low = load_quad(t.staged + staged_at(row, column));
        quad high = load_quad(t.staged + staged_at(row, column + half));
        Y *y = (Y *)p.y + (m0 + row) * p.ldy + n;
#pragma GCC unroll 4
        for (int c = 0; c < RUN; c++) {
            const float x = low.of[c] + low_bias.of[c], z = high.of[c] + high_bias.of[c];
            low.of[c] = rotate ? fma_(x, a.cosine[i].of[c], -(z * a.sine[i].of[c])) : x;
            high.of[c] = rotate ? fma_(z, a.cosine[i].of[c], x * a.sine[i].of[c]) : z;
        }
        if (last)
            ask_turn(t, a, next, i);
        if (m0 + row < t.rows && whole) {
            if (low_in)
                store_quad(y, low);
            if (high_in)
                store_quad(y + half, high);
        } else if (m0 + row < t.rows) {
#pragma GCC unroll 4
            for (int c = 0; c < RUN; c++) {
                if (n + c < p.n)
                    y[c] = (Y)low.of[c];
                if (n + half + c < p.n)
                    y[half + c] = (Y)high.of[c];
            }
        }
    }
}

/* A warp's work beside the products of a tile, and with its sums. */
template <int MT, int N, int kind, typename Y> struct finisher {
    enum { PARTS = N / STAGED, ALL = MT * PARTS, BARRIERS = 0, TWOS = false };
    struct room { /* a warp's */
        float y[16 * STAGED];
    };
    struct shared { /* by a warpgroup */
        char none[0];
    };
    static METHOD void init(struct shared &)
    {
    }
    const struct bi_linear_params &p;
    room &own;
    int64_t rows;
    target t;
    int positions[MT];
    struct turns turns;
    struct addends addends;

    METHOD finisher(const struct bi_linear_params &params, const tensor_map *, room &own_room,
                    u64 *, struct shared &, int64_t live)
        : p(params), own(own_room), rows(live), t{params, own_room.y, 0, live, 0, false}
    {
        const u64 bases = (u64)p.y / sizeof(Y) | (u64)p.bias / 4 | (u64)p.residual / sizeof(Y) |
                          (u64)p.ldy | (u64)p.ldr;
        t.whole = (bases | (u64)p.n) % RUN == 0;
    }
    /* A tile whose products begin; m0: the first of the warp's rows. */
    METHOD void begin(int m0, int n0)
    {
#pragma GCC unroll 2
        for (int m = 0; m < MT; m++)
            positions[m] = kind == ROTATED ? position_of(p, m0 + m * 64 + lane_id() % 16, rows) : 0;
        t.m0 = m0;
        t.n0 = n0;
        announce<MT, N, kind, Y>(t);
    }
    /* The products are on their way. */
    METHOD void prepare()
    {
        addends = {};
        if (kind == ROTATED) {
#pragma GCC unroll 4
            for (int r = 0; r < 4; r++)
                ask_turn(t, turns, positions[0], r);
        } else {
            ask<kind, Y>(t, addends, t.m0, t.n0, 0);
            ask<kind, Y>(t, addends, t.m0, t.n0, 1);
        }
    }
    METHOD void finish(const float (&d)[MT][N / 2])
    {
#pragma GCC unroll 1
        for (int i = 0; i < ALL; i++) {
            const int64_t m0 = t.m0 + i / PARTS * 64, next_m0 = t.m0 + (i + 1) / PARTS * 64;
            const int n0 = t.n0 + i % PARTS * STAGED, next_n0 = t.n0 + (i + 1) % PARTS * STAGED;
            wave_barrier(); /* the rows staged before are read */
#pragma GCC unroll 12
            for (int j = 0; j < ALL; j++)
                if (i == j)
                    stage(own.y, d[j / PARTS] + j % PARTS * (STAGED / 2));
            wave_barrier();
            if (kind == ROTATED) {
                finish_rotated<Y>(t, turns, m0, n0, MT > 1 && i == PARTS - 1, positions[MT - 1]);
            } else if (!t.whole) {
                finish_odd<kind == GATED, Y>(t, m0, n0);
            } else {
#pragma GCC unroll 2
                for (int h = 0; h < 2; h++) {
                    ::finish<kind, Y>(t, addends, m0, n0, h);
                    if (i + 1 < ALL)
                        ask<kind, Y>(t, addends, next_m0, next_n0, h);
                }
            }
        }
    }
    METHOD void end()
    {
    }
};

#endif
