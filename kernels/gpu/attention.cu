/* attention.cu - softmax(scale q k^T + bias) v within each sequence, f16 on matrix units.
 *
 * A block of 128 threads takes 64 queries of one head; a wave 16 of them (wave 32) or 32 (wave
 * 64). Queries stay in registers, keys and values pass through shared memory 64 (32 for wide
 * heads) at a time, queries and keys rotated in f32 on the way when there is a table. Online
 * softmax in f32; exponentials are rounded to f16 for the product with the values, their sum
 * is not. For f32 see attention_f32.cu.
 *
 * Key tiles count from the start of the own sequence, and a row does not depend on the other
 * rows of its block: the same bits in any batch. What lies behind the sequence is zero in
 * shared memory and never read. _dN serves head widths up to N, zero-padded; any alignment.
 * attention_bias adds a bias by place (attention.h), read through the cache, attention_grid one by
 * pairs, of a tile in shared memory: the others keep their registers.
 * Grid: tiles of gpu_tiles.h, heads. */
#include "lib/attention_tile.h"
#include "lib/gpu_heads.h"

/* ---- rows of one head to shared memory ---- */

template <int rows, int width, int threads>
DEV void read_eights(const head_rows &h, f16 *to, int ld)
{
#pragma GCC unroll 2
    for (int n = 0; n < rows * width / 8 / threads; n++) {
        const int at = thread_id() + n * threads, r = at / (width / 8), i = at % (width / 8) * 8;
        f16x8 v = {0, 0, 0, 0, 0, 0, 0, 0};
        if (r < h.rows && i < h.d)
            v = *(const f16x8 *)((const f16 *)h.base + r * h.ld + i);
        *(f16x8 *)(to + r * ld + i) = v;
    }
}

/* Both halves of a pair at once, four pairs at a time; columns d to width are zeroed. */
template <int rows, int width, int threads>
DEV void read_rotated(const head_rows &h, f16 *to, int ld)
{
    const int half = h.d / 2;
#pragma GCC unroll 2
    for (int n = 0; n < rows * width / 8 / threads; n++) {
        const int at = thread_id() + n * threads, r = at / (width / 8), i = at % (width / 8) * 4;
        const f16x4 zero = {0, 0, 0, 0};
        f16x4 low = zero, high = zero;
        if (r < h.rows && i < half) {
            const f16 *x = (const f16 *)h.base + r * h.ld + i;
            const float *row = h.table + (int64_t)r * h.d + i;
            const f16x4 a = *(const f16x4 *)x, b = *(const f16x4 *)(x + half);
            const f32x4 cosine = *(const f32x4 *)row, sine = *(const f32x4 *)(row + half);
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                low[j] = (f16)fma_((float)a[j], cosine[j], -((float)b[j] * sine[j]));
                high[j] = (f16)fma_((float)b[j], cosine[j], (float)a[j] * sine[j]);
            }
        }
        if (i < half) {
            *(f16x4 *)(to + r * ld + i) = low;
            *(f16x4 *)(to + r * ld + half + i) = high;
        } else { /* as many columns behind d as there are pairs missing */
            *(f16x4 *)(to + r * ld + 2 * i) = zero;
            *(f16x4 *)(to + r * ld + 2 * i + 4) = zero;
        }
    }
}

template <int rows, int width, int threads> DEV void read_rows(const head_rows &h, f16 *to, int ld)
{
    const u64 all = (u64)h.base | (u64)h.ld * 2 | (u64)h.d * 2;
    if (all % 16 == 0 && !h.table)
        read_eights<rows, width, threads>(h, to, ld);
    else if (all % 16 == 0 && (u64)h.table % 16 == 0)
        read_rotated<rows, width, threads>(h, to, ld);
    else
        read_plain<rows, width, threads, f16>(h, 0, to, ld);
}

/* ---- f16 ---- */

enum { Q_ROWS = 64, THREADS = 128 };

template <int D> struct attention_tiles {
    enum { KEYS = D < 128 ? 64 : 32, LD = D + 8 };
    union {
        f16 q[Q_ROWS * LD];    /* before the first keys */
        f16 kv[2 * KEYS * LD]; /* keys, values */
    };
};

template <int D, bias_kind kind> struct biased_tiles : attention_tiles<D> {
};

/* Biases by pairs, times LOG2E, pass through shared memory, too. */
template <int D> struct biased_tiles<D, BY_PAIR> : attention_tiles<D> {
    enum { BIAS_LD = attention_tiles<D>::KEYS + 1 };
    float bias[Q_ROWS * BIAS_LD];
};

/* Reads the biases of `rows` queries and `keys` keys. `bias` points to the first pair's; ldb leads
 * from a pair to the next, ld from a query to the next. All threads of the block call it; it has no
 * barrier. */
template <int D>
DEV void read_pairs(biased_tiles<D, BY_PAIR> &s, const float *bias, int64_t ldb, int64_t ld,
                    int rows, int keys)
{
    enum { KEYS = attention_tiles<D>::KEYS, BIAS_LD = biased_tiles<D, BY_PAIR>::BIAS_LD };
#pragma GCC unroll 1
    for (int at = thread_id(); at < Q_ROWS * KEYS; at += THREADS) {
        const int m = at / KEYS, n = at % KEYS;
        s.bias[m * BIAS_LD + n] = m < rows && n < keys ? bias[m * ld + n * ldb] * LOG2E : 0;
    }
}

template <int D, bias_kind kind = NO_BIAS> DEV void attention(const struct bi_attention_params &p)
{
    enum {
        LD = attention_tiles<D>::LD,
        KEYS = attention_tiles<D>::KEYS,
        WAVES = THREADS / WAVE,
        MT = Q_ROWS / 16 / WAVES, /* 16-row parts of a wave */
        NT = KEYS / 16,
        KT = D / 16
    };
    typedef biased_tiles<D, kind> tiles;
    SHARED(tiles, s, sizeof(tiles));
    f16 *const sk = s.kv, *const sv = s.kv + KEYS * LD;
    const tile q = find_tile<Q_ROWS>((int)bi_live_rows(p.counts, p.seqs, 0), p.start, block_x());
    if (q.first >= q.length)
        return;
    const int64_t column = (int64_t)block_y() * p.head_dim;
    const int row0 = wave_id() * MT * 16, d = p.head_dim;
    const float *bias = first_bias<kind>(p, q);
    frag xq[MT][KT];
    acc o[MT][KT] = {};
    float max[MT][ACC_ROWS], sum[MT][ACC_ROWS];

    read_rows<Q_ROWS, D, THREADS>(
        head_rows{(const f16 *)p.q + (q.start + q.first) * p.ldq + column, p.ldq,
                  p.table ? p.table + (int64_t)q.first * d : p.table, q.length - q.first, d},
        s.q, LD);
    barrier();
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++) {
#pragma GCC unroll 8
        for (int k = 0; k < KT; k++)
            xq[m][k] = frag_x(s.q + (row0 + m * 16) * LD + k * 16, LD);
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++) {
            max[m][r] = -INF;
            sum[m][r] = 0;
        }
    }

    for (int j0 = 0; j0 < q.length; j0 += KEYS) {
        const int64_t at = q.start + j0;
        const int keys = q.length - j0;
        barrier(); /* the last keys and values are used up */
        read_rows<KEYS, D, THREADS>(head_rows{(const f16 *)p.k + at * p.ldk + column, p.ldk,
                                              p.table ? p.table + (int64_t)j0 * d : p.table, keys,
                                              d},
                                    sk, LD);
        read_rows<KEYS, D, THREADS>(
            head_rows{(const f16 *)p.v + at * p.ldv + column, p.ldv, nullptr, keys, d}, sv, LD);
        if constexpr (kind == BY_PAIR)
            read_pairs<D>(s, bias + j0 * p.ldgb, p.ldgb, q.length * p.ldgb, q.length - q.first,
                          keys);
        barrier();

        acc x[MT][NT] = {};
#pragma GCC unroll 8
        for (int k = 0; k < KT; k++) {
            in_order();
#pragma GCC unroll 4
            for (int n = 0; n < NT; n++) {
                const frag w = frag_w(sk + n * 16 * LD + k * 16, LD);
#pragma GCC unroll 4
                for (int m = 0; m < MT; m++)
                    multiply(x[m][n], xq[m][k], w);
            }
        }
        in_order();

        if (keys < KEYS)
            mask_keys(x, keys);
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++) {
            bias_rows b = {bias, j0 - (q.first + row0 + m * 16)};
            if constexpr (kind == BY_PAIR)
                b.bias = s.bias + (row0 + m * 16) * (KEYS + 1);
            weigh<kind, WEIGHT_SHIFT>(x[m], max[m], sum[m], o[m], p, b);
        }

#pragma GCC unroll 4
        for (int n = 0; n < NT; n++) {
            frag weights[MT];
#pragma GCC unroll 4
            for (int m = 0; m < MT; m++)
                weights[m] = frag_of(x[m][n]);
#pragma GCC unroll 8
            for (int k = 0; k < KT; k++) {
                in_order();
                const frag w = frag_w_t(sv + n * 16 * LD + k * 16, LD);
#pragma GCC unroll 4
                for (int m = 0; m < MT; m++)
                    multiply(o[m][k], weights[m], w);
            }
        }
    }

    write_rows<f16>(p, o, sum, q, row0);
}

KERNEL(attention_d16_f16, struct bi_attention_params, 128, 4)
{
    attention<16>(p);
}

KERNEL(attention_d32_f16, struct bi_attention_params, 128, 3)
{
    attention<32>(p);
}

KERNEL(attention_d64_f16, struct bi_attention_params, 128, 3)
{
    attention<64>(p);
}

KERNEL(attention_d128_f16, struct bi_attention_params, 128, 2)
{
    attention<128>(p);
}

KERNEL(attention_bias_d64_f16, struct bi_attention_params, 128, 2)
{
    attention<64, BY_PLACE>(p);
}

KERNEL(attention_bias_d128_f16, struct bi_attention_params, 128, 2)
{
    attention<128, BY_PLACE>(p);
}

KERNEL(attention_grid_d32_f16, struct bi_attention_params, 128, 1)
{
    attention<32, BY_PAIR>(p);
}

KERNEL(attention_grid_d64_f16, struct bi_attention_params, 128, 1)
{
    attention<64, BY_PAIR>(p);
}
