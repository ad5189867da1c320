/* attention_terms.h - attention in float32 by three products of terms of float16, on NVIDIA.
 *
 * A row of q, k or v is 2^u (large + small): 2^-u brings its largest element to 2^14 and more, but
 * below 2^15 (sm90/linear_terms.h); large is that rounded to float16, small the rest, rounded.
 * Weights are times 2^14 and split likewise. Keys and values of a tile come in float32, and are
 * split in shared memory, once for all queries of the block; queries stay in registers, split.
 *
 * Products of two large terms, and products with a small one, are summed apart, from 0 in each
 * tile, as the unit cuts where an addition rounds. Tiles are added in float32. Scores and values of
 * a tile are in units of its largest row. An infinity among values makes its tile NaN. */
#ifndef BI_GPU_ATTENTION_TERMS_H
#define BI_GPU_ATTENTION_TERMS_H

#include "attention_tile.h"
#include "gpu_heads.h"
#pragma clang force_cuda_host_device begin
#include "../sm90/linear_terms.h"
#pragma clang force_cuda_host_device end

#if NEAR_TERMS

enum {
    TERMS_WEIGHT = 14,                      /* weights are 2^14 at most before they are split */
    TERMS_LEAST_VALUE = TERMS_WEIGHT - 126, /* so that 2^(u - TERMS_WEIGHT) is a float */
    TERMS_INFINITE = 114                    /* u of a row that holds an infinity */
};

/* Both terms of a 16 x 16 part of a matrix, as registers hold it. */
struct terms_frag {
    frag large, small;
};

/* Both terms of rows in shared memory, and the exponents of their scales. */
template <int rows, int D> struct terms_rows {
    enum { LD = D + 8 };
    f16 large[rows * LD], small[rows * LD];
    int unit[rows];
};

template <int D_> struct terms_heads {
    enum {
        D = D_,
        THREADS = 128,
        ROWS = D > 64 ? 64 : 128,
        KEYS = 32,
        LD = terms_rows<KEYS, D>::LD,
        RAW = D + 4,
        MT = ROWS / 16 / (THREADS / WAVE), /* 16-row parts of a wave */
        NT = KEYS / 16,
        KT = D / 16
    };
    struct {
        float k[KEYS * RAW], v[KEYS * RAW], table[KEYS * D];
    } raw;
    terms_rows<KEYS, D> k, v; /* k: at first the terms of q */
};

/* Two floats rounded to float16, a in the low half. */
DEV u32 halves_of(float a, float b)
{
    return bits<u32>(f16x2{(f16)a, (f16)b});
}

/* Both terms of two neighbours. */
DEV void split_halves(u32 &large, u32 &small, float a, float b)
{
    large = halves_of(a, b);
    const f16x2 back = bits<f16x2>(large);
    small = halves_of(a - (float)back[0], b - (float)back[1]);
}

/* Splits rows; eight neighbouring threads take one. */
template <int rows, int D, int threads>
DEV void split_rows(const float *from, int ld, terms_rows<rows, D> &to)
{
    enum { LD = terms_rows<rows, D>::LD, PARTS = (D + 31) / 32 };
    static_assert(rows % (threads / 8) == 0, "all lanes take part");
#pragma GCC unroll 4
    for (int n = 0; n < rows * 8 / threads; n++) {
        const int at = anew(thread_id()), r = at / 8 + n * (threads / 8), i0 = at % 8 * 4;
        f32x4 x[PARTS];
        float most = 0;
#pragma GCC unroll 4
        for (int c = 0; c < PARTS; c++) {
            const int i = c * 32 + i0;
            x[c] = D % 32 == 0 || i < D ? *(const f32x4 *)(from + r * ld + i) : f32x4{0, 0, 0, 0};
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++)
                most = max_(most, __builtin_fabsf(x[c][j]));
        }
        const int unit = bi_terms_unit(lanes_max<8>(most));
        const float scale = bi_terms_power(-unit);
        if (i0 == 0)
            to.unit[r] = unit;
#pragma GCC unroll 4
        for (int c = 0; c < PARTS; c++) {
            const int i = c * 32 + i0;
            typedef u32 u32x2 __attribute__((vector_size(8)));
            u32 l[2], s[2];
            split_halves(l[0], s[0], x[c][0] * scale, x[c][1] * scale);
            split_halves(l[1], s[1], x[c][2] * scale, x[c][3] * scale);
            if (D % 32 == 0 || i < D) {
                *(u32x2 *)(to.large + r * LD + i) = u32x2{l[0], l[1]};
                *(u32x2 *)(to.small + r * LD + i) = u32x2{s[0], s[1]};
            }
        }
    }
}

/* Weights as X of the second product. */
DEV terms_frag terms_of(const acc &d)
{
    u32x4 large, small;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        u32 l, s;
        split_halves(l, s, d.of[2 * i], d.of[2 * i + 1]);
        large[i] = l;
        small[i] = s;
    }
    return terms_frag{bits<frag>(large), bits<frag>(small)};
}

/* Asks for the keys and values from key j0 of the sequence on, and for their rows of the table. */
template <int D>
DEV void bring_raw(terms_heads<D> &s, const struct bi_attention_params &p, const tile &q,
                   int64_t column, int j0)
{
    typedef terms_heads<D> S;
    const int64_t at = q.start + j0;
    const int keys = q.length - j0, d = p.head_dim;
    bring_rows<S::KEYS, D, S::THREADS>(
        head_rows{p.k + at * p.ldk + column, p.ldk, nullptr, keys, d}, s.raw.k, S::RAW);
    bring_rows<S::KEYS, D, S::THREADS>(
        head_rows{p.v + at * p.ldv + column, p.ldv, nullptr, keys, d}, s.raw.v, S::RAW);
    if (p.table)
        bring_rows<S::KEYS, D, S::THREADS>(
            head_rows{p.table + (int64_t)j0 * d, d, nullptr, keys, d}, s.raw.table, D);
    copy_commit();
}

/* 2^-down, or 0 where that is not worth a float. */
DEV float shrunk_by(int down)
{
    return down > 126 ? 0 : bi_terms_power(-down);
}

/* The largest exponent of 32 rows, and what each of a lane's rows has to it. */
template <int NT> DEV int meet_rows(const int (&unit)[32], int least, float (&by)[NT][4])
{
    const int most = (int)lanes_max<32>((float)unit[lane_id()]);
    const int top = most < least ? least : most;
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++)
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            by[n][i] = shrunk_by(top - unit[n * 16 + acc_n(i / 2 * 4 + i % 2)]);
    return top;
}

/* Which of a lane's columns element e is. */
DEV constexpr int terms_column(int e)
{
    return e / 4 * 2 + e % 2;
}

/* x, of which the compiler knows nothing: what it was made of need not stay. */
DEV float anew(float x)
{
    FORGET(x);
    return x;
}

/* The rows of a wave. max: of scores of base 2; sum: of weights, 2^TERMS_WEIGHT times as large. */
template <int D> struct terms_state {
    enum { MT = terms_heads<D>::MT, KT = terms_heads<D>::KT };
    terms_frag q[MT][KT];
    int q_unit[MT][ACC_ROWS];
    acc o[MT][KT];
    float max[MT][ACC_ROWS], sum[MT][ACC_ROWS];
};

/* Reads the queries, KEYS at a time; all threads of the block call it. */
template <int D>
DEV void read_queries(terms_heads<D> &s, const struct bi_attention_params &p, const tile &q,
                      int64_t column, int row0, terms_state<D> &w)
{
    typedef terms_heads<D> S;
    enum { MT = S::MT, KT = S::KT, LD = S::LD, KEYS = S::KEYS };
    for (int r0 = 0; r0 < S::ROWS; r0 += KEYS) {
        const int first = q.first + r0, d = p.head_dim;
        barrier();
        read_plain<KEYS, D, S::THREADS, float>(
            head_rows{p.q + (q.start + first) * p.ldq + column, p.ldq,
                      p.table ? p.table + (int64_t)first * d : p.table, q.length - first, d},
            0, s.raw.k, S::RAW);
        barrier();
        split_rows<KEYS, D, S::THREADS>(s.raw.k, S::RAW, s.k);
        barrier();
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++) {
            const int at = row0 + m * 16 - r0;
            if (at >= 0 && at < KEYS) { /* the same in all lanes */
#pragma GCC unroll 8
                for (int k = 0; k < KT; k++)
                    w.q[m][k] = terms_frag{frag_x(s.k.large + at * LD + k * 16, LD),
                                           frag_x(s.k.small + at * LD + k * 16, LD)};
#pragma GCC unroll 2
                for (int r = 0; r < ACC_ROWS; r++)
                    w.q_unit[m][r] = s.k.unit[at + acc_m(2 * r)];
            }
        }
    }
    barrier(); /* the room is free again */
}

/* x: products of queries and the keys of a tile, in units of both. Returns the unit of keys. */
template <int D>
DEV int multiply_keys(const terms_heads<D> &s, const terms_state<D> &w,
                      acc (&x)[terms_heads<D>::MT][terms_heads<D>::NT])
{
    typedef terms_heads<D> S;
    enum { MT = S::MT, NT = S::NT, KT = S::KT, LD = S::LD };
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++) {
        acc large[MT] = {}, small[MT] = {};
#pragma GCC unroll 8
        for (int k = 0; k < KT; k++) {
            const frag l = frag_w(s.k.large + n * 16 * LD + k * 16, LD);
            const frag t = frag_w(s.k.small + n * 16 * LD + k * 16, LD);
#pragma GCC unroll 4
            for (int m = 0; m < MT; m++) {
                multiply(small[m], w.q[m][k].small, l);
                multiply(large[m], w.q[m][k].large, l);
                multiply(small[m], w.q[m][k].large, t);
            }
        }
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++)
#pragma GCC unroll 8
            for (int e = 0; e < ACC; e++)
                x[m][n].of[e] = large[m].of[e] + small[m].of[e];
    }

    float by[NT][4];
    const int top = meet_rows<NT>(s.k.unit, -126, by);
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
#pragma GCC unroll 4
            for (int m = 0; m < MT; m++)
                x[m][n].of[e] *= by[n][terms_column(e)];
    return top;
}

/* Weights of 16 rows of products x, each times what its value has to the unit of its tile, in
 * terms; top: the unit of keys, of which `keys` are there. */
template <int D>
DEV void weigh_terms(const struct bi_attention_params &p, terms_state<D> &w, int m, int top,
                     int keys, acc (&x)[terms_heads<D>::NT],
                     const float (&by)[terms_heads<D>::NT][4],
                     terms_frag (&weights)[terms_heads<D>::NT])
{
    enum { NT = terms_heads<D>::NT, KT = terms_heads<D>::KT };
    float low[ACC_ROWS], shrink[ACC_ROWS];
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++) {
        const int e = top + w.q_unit[m][r], half = e >> 1;
        const float scale = bi_terms_power(half) * (p.scale * LOG2E) * bi_terms_power(e - half);
        float high = w.max[m][r];
#pragma GCC unroll 4
        for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
            for (int i = 0; i < ACC; i++)
                if (acc_row(i) == r) {
                    const bool there = keys >= NT * 16 || n * 16 + acc_n(i) < keys;
                    x[n].of[i] = there ? x[n].of[i] * scale : -INF;
                    high = max_(high, x[n].of[i]);
                }
        high = row_max(high);
        shrink[r] = w.max[m][r] == high ? 1 : exp2_(w.max[m][r] - high);
        w.max[m][r] = high;
        low[r] = high == -INF ? 0 : high - TERMS_WEIGHT;
        w.sum[m][r] *= shrink[r];
    }
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++) {
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            const float y = exp2_(x[n].of[e] - low[acc_row(e)]);
            w.sum[m][acc_row(e)] += y;
            x[n].of[e] = y * by[n][terms_column(e)];
        }
        weights[n] = terms_of(x[n]);
    }
#pragma GCC unroll 8
    for (int k = 0; k < KT; k++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
            w.o[m][k].of[e] *= shrink[acc_row(e)];
}

/* Adds the values of a tile, each by its weight; unit: of the products. */
template <int D>
DEV void add_values(const terms_heads<D> &s,
                    const terms_frag (&weights)[terms_heads<D>::MT][terms_heads<D>::NT], float unit,
                    terms_state<D> &w)
{
    typedef terms_heads<D> S;
    enum { MT = S::MT, NT = S::NT, KT = S::KT, LD = S::LD };
#pragma GCC unroll 8
    for (int k = 0; k < KT; k++) {
        acc large[MT] = {}, small[MT] = {};
#pragma GCC unroll 4
        for (int n = 0; n < NT; n++) {
            const frag l = frag_w_t(s.v.large + n * 16 * LD + k * 16, LD);
            const frag t = frag_w_t(s.v.small + n * 16 * LD + k * 16, LD);
#pragma GCC unroll 4
            for (int m = 0; m < MT; m++) {
                multiply(small[m], weights[m][n].small, l);
                multiply(large[m], weights[m][n].large, l);
                multiply(small[m], weights[m][n].large, t);
            }
        }
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++)
#pragma GCC unroll 8
            for (int e = 0; e < ACC; e++) {
                const float o = w.o[m][k].of[e];
                /* now, not where the next tile reads it: its addends would stay, too */
                w.o[m][k].of[e] = anew(fma_(large[m].of[e] + small[m].of[e], unit, o));
            }
    }
}

/* Makes the rows of this block. */
template <int D> DEV void attend(const struct bi_attention_params &p)
{
    typedef terms_heads<D> S;
    enum { MT = S::MT, NT = S::NT, KEYS = S::KEYS };
    SHARED(S, s, sizeof(S));
    const tile q = find_tile<S::ROWS>((int)bi_live_rows(p.counts, p.seqs, 0), p.start, block_x());
    if (q.first >= q.length)
        return;
    const int64_t column = (int64_t)block_y() * p.head_dim;
    const int row0 = wave_id() * MT * 16, d = p.head_dim;
    terms_state<D> w = {};
    read_queries<D>(s, p, q, column, row0, w);
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++)
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++)
            w.max[m][r] = -INF;

    bring_raw<D>(s, p, q, column, 0);
    for (int j0 = 0; j0 < q.length; j0 += KEYS) {
        const int keys = q.length - j0;
        copy_wait<0>();
        barrier(); /* they are there, and the terms of the tile before are used up */
        if (p.table) {
            rotate_rows<KEYS, D, S::THREADS>(s.raw.k, S::RAW, s.raw.table, D, d);
            barrier();
        }
        split_rows<KEYS, D, S::THREADS>(s.raw.k, S::RAW, s.k);
        split_rows<KEYS, D, S::THREADS>(s.raw.v, S::RAW, s.v);
        barrier();
        if (keys > KEYS)
            bring_raw<D>(s, p, q, column, j0 + KEYS);

        acc x[MT][NT];
        terms_frag weights[MT][NT];
        float by[NT][4];
        const int top = multiply_keys<D>(s, w, x);
        const int value = meet_rows<NT>(s.v.unit, TERMS_LEAST_VALUE, by);
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++)
            weigh_terms<D>(p, w, m, top, keys, x[m], by, weights[m]);
        add_values<D>(s, weights,
                      value == TERMS_INFINITE ? INF - INF : bi_terms_power(value - TERMS_WEIGHT),
                      w);
    }
    /* results are not 2^TERMS_WEIGHT times as large */
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++)
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++)
            w.sum[m][r] *= bi_terms_power(-TERMS_WEIGHT);
    write_rows<float>(p, w.o, w.sum, q, row0);
}

#endif
#endif
