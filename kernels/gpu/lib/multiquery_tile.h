/* multiquery_tile.h - attention of which all heads share keys and values, on matrix units.
 *
 * Heads are rows like others: row r of a run is head r % n_heads of query r / n_heads. A block
 * takes S::ROWS rows. Keys and values come to shared memory S::KEYS at a time, where S::STAGES such
 * tiles have room: one of two is read while the other arrives. Queries stay in registers, or in
 * shared memory.
 *
 * A capped logit needs no maximum: e^z of |z| <= cap is a number of f16. Others have the largest of
 * their row taken away as it grows. Sums are f32, of exponentials that are not rounded.
 *
 * Keys are rotated already (rule multiquery_rope), and a group of 16 keys has one bias. Tiles count
 * from the first key of the run, and a row does not depend on other rows: the same bits in any
 * company. */
#ifndef BI_GPU_MULTIQUERY_TILE_H
#define BI_GPU_MULTIQUERY_TILE_H

#include "gpu_heads.h"

#include "gpu_math.h"
#include "../../multiquery.h"

/* A 16 x 16 part of a matrix of these elements, as registers hold it. */
template <typename T> struct mq_part {
    typedef frag type;
};
template <> struct mq_part<float> {
    typedef near_frag type;
};

/* Parts of float32 by the names of those of f16 (gpu.h); a part of weights by its type. */
DEV near_frag frag_x(const float *rows, int ld)
{
    return near_frag_of(rows, ld);
}
DEV near_frag frag_w(const float *rows, int ld)
{
    return near_frag_of(rows, ld);
}
DEV near_frag frag_w_t(const float *rows, int ld)
{
    return near_frag_t(rows, ld);
}
DEV void set_weights(frag &f, const acc &d)
{
    f = frag_of(d);
}
DEV void set_weights(near_frag &f, const acc &d)
{
    f = near_frag_of(d);
}

/* Sizes of a block. T: f16 or float; D, E: the widest keys and values; pad: columns between rows of
 * keys, and of values, by which no two threads meet in a bank. */
template <typename T, int D_, int E_, bool capped, int threads, int rows, int keys, int stages,
          bool held, int pad, int pad_values>
struct mq_sizes {
    typedef T element;
    typedef typename mq_part<T>::type part;
    enum {
        D = D_,
        E = E_,
        CAPPED = capped,
        THREADS = threads,
        ROWS = rows,
        KEYS = keys,
        STAGES = stages,
        HELD = held,                       /* queries stay in registers */
        MT = ROWS / 16 / (THREADS / WAVE), /* 16-row parts of a wave */
        NT = KEYS / 16,
        KT = D / 16,
        LD = D + pad,
        LDV = E + pad_values,
        CHUNK = 16 / sizeof(T)
    };
    typedef T chunk __attribute__((vector_size(16)));
};

template <typename S> struct mq_tiles {
    typedef typename S::element T;
    struct {
        T k[S::KEYS * S::LD], v[S::KEYS * S::LDV];
    } at[S::STAGES];
    T more[S::HELD ? 8 : S::ROWS * S::LD];

    /* [ROWS][LD]; those that are held lie where the first keys come. */
    METHOD T *queries()
    {
        return S::HELD ? at[0].k : more;
    }
};

/* The rows of a wave. */
template <typename S> struct mq_rows {
    typename S::part q[S::MT][S::HELD ? S::KT : 1];
    acc o[S::MT][S::E / 16];
    float max[S::MT][ACC_ROWS], sum[S::MT][ACC_ROWS];
    int bias[S::MT][ACC_ROWS]; /* where each row's first one is; -1 = it has none */
};

/* Copies rows of q from `first` of the run on to shared memory; zero where there is nothing. */
template <typename S>
DEV void mq_read_queries(const struct bi_multiquery_params &p, int64_t start, int first,
                         typename S::element *to)
{
    typedef typename S::element T;
    typedef typename S::chunk chunk;
    const T *q = (const T *)p.q;
    const bool whole = ((u64)q | (u64)p.ldq * sizeof(T) | (u64)p.d * sizeof(T)) % 16 == 0;
    for (int at = thread_id(); at < S::ROWS * S::D / S::CHUNK; at += S::THREADS) {
        const int r = at / (S::D / S::CHUNK), row = first + r,
                  i = at % (S::D / S::CHUNK) * S::CHUNK;
        chunk v = {};
        if (row < p.n * p.n_heads) {
            const T *x = q + (start + row / p.n_heads) * p.ldq + row % p.n_heads * p.d + i;
            if (whole && i < p.d)
                v = *(const chunk *)x;
#pragma GCC unroll 8
            for (int j = 0; j < S::CHUNK; j++)
                if (!whole && i + j < p.d)
                    v[j] = x[j];
        }
        *(chunk *)(to + r * S::LD + i) = v;
    }
}

/* Keys and values from `key` of the run on to a place of the tiles. */
template <typename S>
DEV void mq_bring_tile(const struct bi_multiquery_params &p, int64_t start, int key, mq_tiles<S> &s)
{
    typedef typename S::element T;
    auto &to = s.at[key / S::KEYS % S::STAGES];
    bring_rows<S::KEYS, S::D, S::THREADS>(
        head_rows{(const T *)p.k + (start + key) * p.ldk, p.ldk, nullptr, p.n - key, p.d}, to.k,
        S::LD);
    bring_rows<S::KEYS, S::E, S::THREADS>(
        head_rows{(const T *)p.v + (start + key) * p.ldv, p.ldv, nullptr, p.n - key, p.e}, to.v,
        S::LDV);
}

struct mq_biases {
    float of[ACC_ROWS];
};

/* The rows' biases for the 16 keys from `at` on. */
template <typename S>
DEV mq_biases mq_biases_of(const struct bi_multiquery_params &p, const mq_rows<S> &w, int m, int at)
{
    mq_biases b;
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++)
        b.of[r] = w.bias[m][r] < 0 || at >= p.n ? 0
                                                : p.bias[w.bias[m][r] + at / p.pool * (int)p.ldb];
    return b;
}

/* Weights of capped logits x, log2 e cap (1 - 2 / (e^(2 z / cap) + 1)) being their logarithms. */
template <typename S>
DEV void mq_weigh_capped(const struct bi_multiquery_params &p, mq_rows<S> &w, int m, int key,
                         acc x[S::NT])
{
    const float twice = 2 * LOG2E / p.cap, most = p.cap * LOG2E;
#pragma GCC unroll 4
    for (int n = 0; n < S::NT; n++) {
        const int at = key + n * 16;
        const mq_biases bias = mq_biases_of(p, w, m, at);
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            const float z = fma_(x[n].of[e], p.scale, bias.of[acc_row(e)]);
            const float y = exp2_(fma_(-2 * most, reciprocal(exp2_(z * twice) + 1), most));
            x[n].of[e] = at + acc_n(e) < p.n ? y : 0;
            w.sum[m][acc_row(e)] += x[n].of[e];
        }
    }
}

/* Weights of other logits, beside the largest so far. */
template <typename S>
DEV void mq_weigh(const struct bi_multiquery_params &p, mq_rows<S> &w, int m, int key, acc x[S::NT])
{
    float high[ACC_ROWS], shrink[ACC_ROWS];
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++)
        high[r] = w.max[m][r];
#pragma GCC unroll 4
    for (int n = 0; n < S::NT; n++) {
        const int at = key + n * 16;
        const mq_biases bias = mq_biases_of(p, w, m, at);
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            const float z = fma_(x[n].of[e], p.scale, bias.of[acc_row(e)]) * LOG2E;
            x[n].of[e] = at + acc_n(e) < p.n ? z : -INF;
            high[acc_row(e)] = max_(high[acc_row(e)], x[n].of[e]);
        }
    }
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++) {
        high[r] = row_max(high[r]);
        shrink[r] = w.max[m][r] == high[r] ? 1 : exp2_(w.max[m][r] - high[r]);
        w.max[m][r] = high[r];
        high[r] = high[r] == -INF ? 0 : high[r] - WEIGHT_SHIFT;
        w.sum[m][r] *= shrink[r];
    }
#pragma GCC unroll 4
    for (int n = 0; n < S::NT; n++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            x[n].of[e] = exp2_(x[n].of[e] - high[acc_row(e)]);
            w.sum[m][acc_row(e)] += x[n].of[e];
        }
#pragma GCC unroll 16
    for (int k = 0; k < S::E / 16; k++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
            w.o[m][k].of[e] *= shrink[acc_row(e)];
}

/* Adds the values of a tile of keys, each by its weight. */
template <typename S>
DEV void mq_attend(const struct bi_multiquery_params &p, mq_tiles<S> &s, mq_rows<S> &w, int own,
                   int key)
{
    const auto &tile = s.at[key / S::KEYS % S::STAGES];
    acc x[S::MT][S::NT] = {};
    auto add = [&](int k, const typename S::part *query) ALWAYS_INLINE {
        in_order();
#pragma GCC unroll 4
        for (int n = 0; n < S::NT; n++) {
            const typename S::part y = frag_w(tile.k + n * 16 * S::LD + k * 16, S::LD);
#pragma GCC unroll 4
            for (int m = 0; m < S::MT; m++)
                multiply(x[m][n], query[m], y);
        }
    };
    if (S::HELD) {
#pragma GCC unroll 12
        for (int k = 0; k < S::KT; k++) {
            typename S::part query[S::MT];
#pragma GCC unroll 4
            for (int m = 0; m < S::MT; m++)
                query[m] = w.q[m][S::HELD ? k : 0];
            add(k, query);
        }
    } else {
#pragma GCC unroll 1
        for (int k = 0; k < S::KT; k++) {
            typename S::part query[S::MT];
#pragma GCC unroll 4
            for (int m = 0; m < S::MT; m++)
                query[m] = frag_x(s.queries() + (own + m * 16) * S::LD + k * 16, S::LD);
            add(k, query);
        }
    }
    in_order();
#pragma GCC unroll 4
    for (int m = 0; m < S::MT; m++)
        if (S::CAPPED)
            mq_weigh_capped(p, w, m, key, x[m]);
        else
            mq_weigh(p, w, m, key, x[m]);
#pragma GCC unroll 4
    for (int n = 0; n < S::NT; n++) {
        typename S::part weights[S::MT];
#pragma GCC unroll 4
        for (int m = 0; m < S::MT; m++)
            set_weights(weights[m], x[m][n]);
#pragma GCC unroll 16
        for (int k = 0; k < S::E / 16; k++) {
            in_order();
            const typename S::part y = frag_w_t(tile.v + n * 16 * S::LDV + k * 16, S::LDV);
#pragma GCC unroll 4
            for (int m = 0; m < S::MT; m++)
                multiply(w.o[m][k], weights[m], y);
        }
    }
}

/* Divides the sums of a wave's rows by their weights' and writes them. */
template <typename S, typename Y>
DEV void mq_put(const struct bi_multiquery_params &p, const mq_rows<S> &w, int64_t start, int first)
{
    enum { BYTES = (int)sizeof(Y) };
    const bool whole = ((u64)p.y | (u64)p.ldy * BYTES | (u64)p.e * BYTES) % (ACC_RUN * BYTES) == 0;
#pragma GCC unroll 4
    for (int m = 0; m < S::MT; m++) {
        float rest[ACC_ROWS];
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++)
            rest[r] = 1.0f / row_sum(w.sum[m][r]);
#pragma GCC unroll 16
        for (int k = 0; k < S::E / 16; k++) {
            in_order();
#pragma GCC unroll 8
            for (int e = 0; e < ACC; e += ACC_RUN) {
                typedef Y run __attribute__((vector_size(ACC_RUN * sizeof(Y))));
                const int row = first + m * 16 + acc_m(e), i = k * 16 + acc_n(e);
                Y *y = (Y *)p.y + (start + row / p.n_heads) * p.ldy + row % p.n_heads * p.e + i;
                run v;
                if (row >= p.n * p.n_heads || i >= p.e)
                    continue;
#pragma GCC unroll 4
                for (int u = 0; u < ACC_RUN; u++)
                    v[u] = (Y)(w.o[m][k].of[e + u] * rest[acc_row(e)]);
                if (whole && i + ACC_RUN <= p.e) {
                    *(run *)y = v;
                } else {
#pragma GCC unroll 4
                    for (int u = 0; u < ACC_RUN; u++)
                        if (i + u < p.e)
                            y[u] = v[u];
                }
            }
        }
    }
}

/* Makes the rows of this block, of a grid by bi_gpu_grid_multiquery() of so many rows; Y: the type
 * of y. All threads of the block call it. */
template <typename S, typename Y> DEV void multiquery(const struct bi_multiquery_params &p)
{
    enum { AHEAD = (S::STAGES - 1) * S::KEYS }; /* keys of which a tile comes before it is read */
    SHARED(mq_tiles<S>, s, sizeof(mq_tiles<S>));
    const int tiles = (p.n * p.n_heads + S::ROWS - 1) / S::ROWS;
    const int first = block_x() % tiles * S::ROWS, own = wave_id() * S::MT * 16;
    const int64_t run = block_x() / tiles, start = run * p.n, side = p.n / p.pool;
    mq_rows<S> w = {};
    mq_read_queries<S>(p, start, first, s.queries());
    barrier();
#pragma GCC unroll 4
    for (int m = 0; m < S::MT; m++) {
#pragma GCC unroll 12
        for (int k = 0; S::HELD && k < S::KT; k++)
            w.q[m][k] = frag_x(s.queries() + (own + m * 16) * S::LD + k * 16, S::LD);
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++) {
            const int row = first + own + m * 16 + acc_m(2 * r);
            w.max[m][r] = -INF;
            w.bias[m][r] = p.bias && row < p.n * p.n_heads
                               ? (int)((run * side + row / p.n_heads / p.pool) * side * p.ldb) +
                                     row % p.n_heads
                               : -1;
        }
    }
    barrier();
    if (AHEAD > 0)
        mq_bring_tile(p, start, 0, s);
#if COPY_ASYNC
    copy_commit();
#endif
    for (int key = 0; key < p.n; key += S::KEYS) {
        if (key + AHEAD < p.n)
            mq_bring_tile(p, start, key + AHEAD, s);
#if COPY_ASYNC
        copy_commit();
        copy_wait<1>();
#endif
        barrier();
        mq_attend(p, s, w, own, key);
        barrier(); /* the tile is used up */
    }
    mq_put<S, Y>(p, w, start, first + own);
}

#endif
