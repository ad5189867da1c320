/* multiquery.cu - attention of which all heads share keys and values, f16 on matrix units.
 *
 * Heads are rows like others: row r of a run is head r % n_heads of query r / n_heads. A block
 * takes 128 rows. Keys and values come to shared memory 64 (AMD: 16) at a time, where two such
 * tiles have room: one is read while the other arrives. Queries stay in registers, or on AMD in
 * shared memory.
 *
 * A capped logit needs no maximum: e^z of |z| <= cap is a number of f16. Others have the largest of
 * their row taken away as it grows. Sums are f32, of exponentials that are not rounded.
 *
 * Keys are rotated already (rule multiquery_rope), and a group of 16 keys has one bias. Tiles count
 * from the first key of the run, and a row does not depend on other rows: the same bits in any
 * company. For f32 see multiquery_f32.cu. */
#include "gpu_heads.h"

#include "gpu_math.h"
#include "multiquery.h"

enum {
    MQ_THREADS = 256,
    MQ_ROWS = 128,
    MQ_HELD = COPY_ASYNC, /* queries stay in registers, where keys arrive without them */
    MQ_KEYS = MQ_HELD ? 64 : 16,
    MQ_WAVES = MQ_THREADS / WAVE,
    MQ_MT = MQ_ROWS / 16 / MQ_WAVES, /* 16-row parts of a wave */
    MQ_NT = MQ_KEYS / 16,
    MQ_D = BI_MULTIQUERY_KEY_GPU,
    MQ_KT = MQ_D / 16,
    MQ_LD = MQ_D + 8 /* rows of a matrix meet in no bank */
};

template <int E> struct mq_tiles {
    enum { LD = E + 8 };
    struct {
        f16 k[MQ_KEYS * MQ_LD], v[MQ_KEYS * LD];
    } at[2];
    f16 more[MQ_HELD ? 8 : MQ_ROWS * MQ_LD];

    /* [MQ_ROWS][MQ_LD]; those that are held lie where the first keys come. */
    METHOD f16 *queries()
    {
        return MQ_HELD ? at[0].k : more;
    }
};

/* The rows of a wave. */
template <int E> struct mq_rows {
    frag q[MQ_MT][MQ_HELD ? MQ_KT : 1];
    acc o[MQ_MT][E / 16];
    float max[MQ_MT][ACC_ROWS], sum[MQ_MT][ACC_ROWS];
    int bias[MQ_MT][ACC_ROWS]; /* where each row's first one is; -1 = it has none */
};

/* Copies rows of q from `first` of the run on to shared memory; zero where there is nothing. */
DEV void mq_read_queries(const struct bi_multiquery_params &p, int64_t start, int first, f16 *to)
{
    const f16 *q = (const f16 *)p.q;
    const bool whole = ((u64)q | (u64)p.ldq * 2 | (u64)p.d * 2) % 16 == 0;
    for (int at = thread_id(); at < MQ_ROWS * MQ_D / 8; at += MQ_THREADS) {
        const int r = at / (MQ_D / 8), row = first + r, i = at % (MQ_D / 8) * 8;
        f16x8 v = {0, 0, 0, 0, 0, 0, 0, 0};
        if (row < p.n * p.n_heads) {
            const f16 *x = q + (start + row / p.n_heads) * p.ldq + row % p.n_heads * p.d + i;
            if (whole && i < p.d)
                v = *(const f16x8 *)x;
            for (int j = 0; !whole && j < 8 && i + j < p.d; j++)
                v[j] = x[j];
        }
        *(f16x8 *)(to + r * MQ_LD + i) = v;
    }
}

/* Rows of keys or values; asynchronously where rows lie on 16 bytes and the target can. */
template <int width> DEV void mq_bring(const head_rows &h, f16 *to, int ld)
{
    if (((u64)h.base | (u64)h.ld * 2 | (u64)h.d * 2) % 16) {
        read_plain<MQ_KEYS, width, MQ_THREADS, f16>(h, 0, to, ld);
        return;
    }
    for (int at = anew(thread_id()); at < MQ_KEYS * width / 8; at += MQ_THREADS) {
        const int r = at / (width / 8), i = at % (width / 8) * 8;
        const bool there = r < h.rows && i < h.d;
        const f16 *from = (const f16 *)h.base + (there ? r * h.ld + i : 0);
#if COPY_ASYNC
        copy_async(to + r * ld + i, from, there ? 16 : 0);
#else
        const f16x8 zero = {0, 0, 0, 0, 0, 0, 0, 0};
        *(f16x8 *)(to + r * ld + i) = there ? *(const f16x8 *)from : zero;
#endif
    }
}

/* Keys and values from `key` of the run on to a place of the tiles. */
template <int E>
DEV void mq_bring_tile(const struct bi_multiquery_params &p, int64_t start, int key, mq_tiles<E> &s)
{
    auto &to = s.at[key / MQ_KEYS % 2];
    mq_bring<MQ_D>(
        head_rows{(const f16 *)p.k + (start + key) * p.ldk, p.ldk, nullptr, p.n - key, p.d}, to.k,
        MQ_LD);
    mq_bring<E>(head_rows{(const f16 *)p.v + (start + key) * p.ldv, p.ldv, nullptr, p.n - key, p.e},
                to.v, mq_tiles<E>::LD);
}

struct mq_biases {
    float of[ACC_ROWS];
};

/* The rows' biases for the 16 keys from `at` on. */
template <int E>
DEV mq_biases mq_biases_of(const struct bi_multiquery_params &p, const mq_rows<E> &w, int m, int at)
{
    mq_biases b;
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++)
        b.of[r] = w.bias[m][r] < 0 || at >= p.n ? 0
                                                : p.bias[w.bias[m][r] + at / p.pool * (int)p.ldb];
    return b;
}

/* Weights of capped logits x, log2 e cap (1 - 2 / (e^(2 z / cap) + 1)) being their logarithms. */
template <int E>
DEV void mq_weigh_capped(const struct bi_multiquery_params &p, mq_rows<E> &w, int m, int key,
                         acc x[MQ_NT])
{
    const float twice = 2 * LOG2E / p.cap, most = p.cap * LOG2E;
#pragma GCC unroll 4
    for (int n = 0; n < MQ_NT; n++) {
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
template <int E>
DEV void mq_weigh(const struct bi_multiquery_params &p, mq_rows<E> &w, int m, int key, acc x[MQ_NT])
{
    float high[ACC_ROWS], shrink[ACC_ROWS];
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++)
        high[r] = w.max[m][r];
#pragma GCC unroll 4
    for (int n = 0; n < MQ_NT; n++) {
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
    for (int n = 0; n < MQ_NT; n++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            x[n].of[e] = exp2_(x[n].of[e] - high[acc_row(e)]);
            w.sum[m][acc_row(e)] += x[n].of[e];
        }
#pragma GCC unroll 16
    for (int k = 0; k < E / 16; k++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
            w.o[m][k].of[e] *= shrink[acc_row(e)];
}

/* Adds the values of a tile of keys, each by its weight. */
template <int E, bool capped>
DEV void mq_attend(const struct bi_multiquery_params &p, mq_tiles<E> &s, mq_rows<E> &w, int own,
                   int key)
{
    const auto &tile = s.at[key / MQ_KEYS % 2];
    acc x[MQ_MT][MQ_NT] = {};
    auto add = [&](int k, const frag *query) ALWAYS_INLINE {
        in_order();
#pragma GCC unroll 4
        for (int n = 0; n < MQ_NT; n++) {
            const frag y = frag_w(tile.k + n * 16 * MQ_LD + k * 16, MQ_LD);
#pragma GCC unroll 4
            for (int m = 0; m < MQ_MT; m++)
                multiply(x[m][n], query[m], y);
        }
    };
    if (MQ_HELD) {
#pragma GCC unroll 8
        for (int k = 0; k < MQ_KT; k++) {
            frag query[MQ_MT];
#pragma GCC unroll 4
            for (int m = 0; m < MQ_MT; m++)
                query[m] = w.q[m][MQ_HELD ? k : 0];
            add(k, query);
        }
    } else {
#pragma GCC unroll 1
        for (int k = 0; k < MQ_KT; k++) {
            frag query[MQ_MT];
#pragma GCC unroll 4
            for (int m = 0; m < MQ_MT; m++)
                query[m] = frag_x(s.queries() + (own + m * 16) * MQ_LD + k * 16, MQ_LD);
            add(k, query);
        }
    }
    in_order();
#pragma GCC unroll 4
    for (int m = 0; m < MQ_MT; m++)
        if (capped)
            mq_weigh_capped(p, w, m, key, x[m]);
        else
            mq_weigh(p, w, m, key, x[m]);
#pragma GCC unroll 4
    for (int n = 0; n < MQ_NT; n++) {
        frag weights[MQ_MT];
#pragma GCC unroll 4
        for (int m = 0; m < MQ_MT; m++)
            weights[m] = frag_of(x[m][n]);
#pragma GCC unroll 16
        for (int k = 0; k < E / 16; k++) {
            in_order();
            const frag y = frag_w_t(tile.v + n * 16 * mq_tiles<E>::LD + k * 16, mq_tiles<E>::LD);
#pragma GCC unroll 4
            for (int m = 0; m < MQ_MT; m++)
                multiply(w.o[m][k], weights[m], y);
        }
    }
}

/* Divides the sums of a wave's rows by their weights' and writes them. */
template <typename Y, int E>
DEV void mq_put(const struct bi_multiquery_params &p, const mq_rows<E> &w, int64_t start, int first)
{
    enum { BYTES = (int)sizeof(Y) };
    const bool whole = ((u64)p.y | (u64)p.ldy * BYTES | (u64)p.e * BYTES) % (ACC_RUN * BYTES) == 0;
#pragma GCC unroll 4
    for (int m = 0; m < MQ_MT; m++) {
        float rest[ACC_ROWS];
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++)
            rest[r] = 1.0f / row_sum(w.sum[m][r]);
#pragma GCC unroll 16
        for (int k = 0; k < E / 16; k++) {
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

template <int E, bool capped, typename Y> DEV void multiquery(const struct bi_multiquery_params &p)
{
    SHARED(mq_tiles<E>, s, sizeof(mq_tiles<E>));
    const int tiles = (p.n * p.n_heads + MQ_ROWS - 1) / MQ_ROWS;
    const int first = block_x() % tiles * MQ_ROWS, own = wave_id() * MQ_MT * 16;
    const int64_t run = block_x() / tiles, start = run * p.n, side = p.n / p.pool;
    mq_rows<E> w = {};
    mq_read_queries(p, start, first, s.queries());
    barrier();
#pragma GCC unroll 4
    for (int m = 0; m < MQ_MT; m++) {
#pragma GCC unroll 8
        for (int k = 0; MQ_HELD && k < MQ_KT; k++)
            w.q[m][k] = frag_x(s.queries() + (own + m * 16) * MQ_LD + k * 16, MQ_LD);
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
    mq_bring_tile(p, start, 0, s);
#if COPY_ASYNC
    copy_commit();
#endif
    for (int key = 0; key < p.n; key += MQ_KEYS) {
        if (key + MQ_KEYS < p.n)
            mq_bring_tile(p, start, key + MQ_KEYS, s);
#if COPY_ASYNC
        copy_commit();
        copy_wait<1>();
#endif
        barrier();
        mq_attend<E, capped>(p, s, w, own, key);
        barrier(); /* the tile is used up */
    }
    mq_put<Y>(p, w, start, first + own);
}

KERNEL(multiquery_capped_f16_f16, struct bi_multiquery_params, MQ_THREADS, 1)
{
    multiquery<192, true, f16>(p);
}

KERNEL(multiquery_f16_f32, struct bi_multiquery_params, MQ_THREADS, 1)
{
    multiquery<128, false, float>(p);
}
