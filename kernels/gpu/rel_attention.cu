/* rel_attention.cu - attention over one sequence with relative positions, see rel_attention.h.
 *
 * f16: a block of 128 threads takes 64 queries of one head, a wave 16 of them (wave 32) or 32
 * (wave 64), against 32 keys at a time. Queries stay in shared memory twice, with either bias. A
 * part of 16 queries and the keys of a tile meet 47 rows of r: their products go through shared
 * memory, where each query reads its diagonal. Online softmax in f32; exponentials are rounded to
 * f16 for the product with the values. f32: 32 queries and 32 keys, every product in order.
 *
 * Tiles of keys count from the first, a row does not depend on the other rows of its block.
 * Key widths up to 64 (f16), value widths up to 192. Grid: tiles of queries, heads of each
 * window. */
#include "lib/gpu.h"

#include "lib/gpu_math.h"
#include "../rel_attention.h"

enum {
    REL_ROWS = 64,
    REL_KEYS = 32,
    REL_THREADS = 128,
    REL_D = 64,
    REL_E = 192,
    REL_LD = REL_D + 8,
    REL_LE = REL_E + 8,
    REL_BAND = REL_ROWS + REL_KEYS, /* rows of r that a block meets, and one */
    REL_PART = 16 + REL_KEYS,       /* that 16 queries meet, and one */
    REL_WAVES = REL_THREADS / WAVE
};

struct rel_tiles {
    f16 u[REL_ROWS * REL_LD], w[REL_ROWS * REL_LD]; /* queries with either bias */
    f16 k[REL_KEYS * REL_LD], v[REL_KEYS * REL_LE], r[REL_BAND * REL_LD];
    float along[REL_WAVES][16 * (REL_PART + 1)];
};

/* Rows first, first + 1, ... of a head to shared memory, eight at a time; zero off the `there` rows
 * that exist. */
template <int rows, int width>
DEV void rel_read(const f16 *x, int64_t ld, int first, int there, int d, f16 *to, int ld_to)
{
    const bool whole = ((u64)x | (u64)ld * 2 | (u64)d * 2) % 16 == 0;
#pragma GCC unroll 1
    for (int at = thread_id(); at < rows * width / 8; at += REL_THREADS) {
        const int row = at / (width / 8), i = at % (width / 8) * 8;
        f16x8 v = {0, 0, 0, 0, 0, 0, 0, 0};
        if (first + row >= 0 && first + row < there && i < d) {
            const f16 *from = x + (first + row) * ld + i;
            if (whole)
                v = *(const f16x8 *)from;
            else
#pragma GCC unroll 8
                for (int e = 0; e < 8; e++)
                    if (i + e < d)
                        v[e] = from[e];
        }
        *(f16x8 *)(to + row * ld_to + i) = v;
    }
}

/* Queries with either bias. */
DEV void rel_read_queries(const struct bi_rel_attention_params &p, int64_t column, int first,
                          rel_tiles &s)
{
#pragma GCC unroll 1
    for (int at = thread_id(); at < REL_ROWS * REL_D; at += REL_THREADS) {
        const int row = at / REL_D, i = at % REL_D;
        float u = 0, w = 0;
        if (first + row < p.n_queries && i < p.key_dim) {
            const float q = (float)((const f16 *)p.q)[(first + row) * p.ldq + column + i] * p.scale;
            u = q + p.u[column + i];
            w = q + p.w[column + i];
        }
        s.u[row * REL_LD + i] = (f16)u;
        s.w[row * REL_LD + i] = (f16)w;
    }
}

/* The params of the block's window alone, of elements T. */
template <typename T>
DEV struct bi_rel_attention_params rel_window(const struct bi_rel_attention_params &all)
{
    struct bi_rel_attention_params p = all;
    const int64_t window = block_y() / p.n_heads;
    p.q = (const float *)((const T *)p.q + window * p.n_queries * p.ldq);
    p.k = (const float *)((const T *)p.k + window * p.n * p.ldk);
    p.v = (const float *)((const T *)p.v + window * p.n * p.ldv);
    p.y = (float *)((T *)p.y + window * p.n_queries * p.ldy);
    return p;
}

/* The products of 16 queries from `row` on with their rows of r, to memory of the wave. */
DEV void rel_multiply_band(rel_tiles &s, float *along, const f16 *band, int row)
{
    enum { KT = REL_D / 16, BT = REL_PART / 16 };
    acc y[BT] = {};
#pragma GCC unroll 4
    for (int k = 0; k < KT; k++) {
        const frag w = frag_x(s.w + (row)*REL_LD + k * 16, REL_LD);
#pragma GCC unroll 3
        for (int b = 0; b < BT; b++) {
            in_order();
            multiply(y[b], w, frag_w(band + b * 16 * REL_LD + k * 16, REL_LD));
        }
    }
#pragma GCC unroll 3
    for (int b = 0; b < BT; b++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
            along[acc_m(e) * (REL_PART + 1) + b * 16 + acc_n(e)] = y[b].of[e];
}

template <int ET, int NT> DEV void rel_add_values(acc (&o)[ET], const acc (&x)[NT], const f16 *v)
{
#pragma GCC unroll 2
    for (int n = 0; n < NT; n++) {
        const frag weights = frag_of(x[n]);
#pragma GCC unroll 12
        for (int k = 0; k < ET; k++) {
            in_order();
            multiply(o[k], weights, frag_w_t(v + n * 16 * REL_LE + k * 16, REL_LE));
        }
    }
}

/* Results to y, through shared memory, so that whole rows are written. */
template <int MT, int ET>
DEV void rel_write(const struct bi_rel_attention_params &p, rel_tiles &s, const acc (&o)[MT][ET],
                   const float (&sum)[MT][ACC_ROWS], int first, int64_t ec)
{
    const int row0 = wave_id() * MT * 16;
    f16 *const out = s.u;
    static_assert(__builtin_offsetof(rel_tiles, along) >= REL_ROWS * REL_LE * sizeof(f16),
                  "room for y");
    barrier(); /* the last tile is used up */
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++) {
        float rest[ACC_ROWS];
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++)
            rest[r] = 1.0f / row_sum(sum[m][r]);
#pragma GCC unroll 12
        for (int k = 0; k < ET; k++)
#pragma GCC unroll 8
            for (int e = 0; e < ACC; e++)
                out[(row0 + m * 16 + acc_m(e)) * REL_LE + k * 16 + acc_n(e)] =
                    (f16)(o[m][k].of[e] * rest[acc_row(e)]);
    }
    barrier();
    f16 *const y = (f16 *)p.y + first * p.ldy + ec;
    const bool whole = ((u64)y | (u64)p.ldy * 2 | (u64)p.value_dim * 2) % 16 == 0;
#pragma GCC unroll 1
    for (int at = thread_id(); at < REL_ROWS * REL_E / 8; at += REL_THREADS) {
        const int row = at / (REL_E / 8), i = at % (REL_E / 8) * 8;
        const f16x8 v = *(const f16x8 *)(out + row * REL_LE + i);
        if (first + row >= p.n_queries || i >= p.value_dim)
            continue;
        if (whole)
            *(f16x8 *)(y + row * p.ldy + i) = v;
        else
#pragma GCC unroll 8
            for (int e = 0; e < 8; e++)
                if (i + e < p.value_dim)
                    y[row * p.ldy + i + e] = v[e];
    }
}

DEV void rel_attend_f16(const struct bi_rel_attention_params &p)
{
    enum {
        MT = REL_ROWS / 16 / REL_WAVES, /* 16-row parts of a wave */
        NT = REL_KEYS / 16,
        KT = REL_D / 16,
        ET = REL_E / 16,
        BT = REL_PART / 16
    };
    SHARED(rel_tiles, s, sizeof(rel_tiles));
    const int first = block_x() * REL_ROWS, row0 = wave_id() * MT * 16;
    if (first >= p.n_queries)
        return;
    const int head = block_y() % p.n_heads;
    const int64_t kc = (int64_t)head * p.key_dim, ec = (int64_t)head * p.value_dim;
    acc o[MT][ET] = {};
    float max[MT][ACC_ROWS], sum[MT][ACC_ROWS];

    rel_read_queries(p, kc, first, s);
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++) {
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++) {
            max[m][r] = -INF;
            sum[m][r] = 0;
        }
    }

    for (int j0 = 0; j0 < p.n; j0 += REL_KEYS) {
        const int keys = p.n - j0;
        barrier(); /* the last tile is used up */
        rel_read<REL_KEYS, REL_D>((const f16 *)p.k + kc, p.ldk, j0, p.n, p.key_dim, s.k, REL_LD);
        rel_read<REL_KEYS, REL_E>((const f16 *)p.v + ec, p.ldv, j0, p.n, p.value_dim, s.v, REL_LE);
        /* query i of the block and key j meet in row 63 - i + j of the band */
        rel_read<REL_BAND, REL_D>((const f16 *)p.r + kc, p.ldr,
                                  p.n - 1 - (p.first + first + REL_ROWS - 1) + j0, 2 * p.n - 1,
                                  p.key_dim, s.r, REL_LD);
        barrier();
#pragma GCC unroll 4
        for (int m = 0; m < MT; m++) {
            acc x[NT] = {};
            float *along = s.along[wave_id()];
            const f16 *band = s.r + (REL_ROWS - 16 - row0 - m * 16) * REL_LD;
            rel_multiply_band(s, along, band, row0 + m * 16);
            in_order();
#pragma GCC unroll 4
            for (int k = 0; k < KT; k++) {
                const frag u = frag_x(s.u + (row0 + m * 16) * REL_LD + k * 16, REL_LD);
#pragma GCC unroll 2
                for (int n = 0; n < NT; n++) {
                    in_order();
                    multiply(x[n], u, frag_w(s.k + n * 16 * REL_LD + k * 16, REL_LD));
                }
            }
            barrier(); /* the wave's numbers along the band are there */
            float high[ACC_ROWS], shrink[ACC_ROWS];
#pragma GCC unroll 2
            for (int r = 0; r < ACC_ROWS; r++)
                high[r] = max[m][r];
#pragma GCC unroll 2
            for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
                for (int e = 0; e < ACC; e++) {
                    const int i = acc_m(e), j = n * 16 + acc_n(e);
                    float *v = &x[n].of[e];
                    *v = (*v + along[i * (REL_PART + 1) + 15 - i + j]) * LOG2E;
                    if (j >= keys)
                        *v = -INF;
                    high[acc_row(e)] = max_(high[acc_row(e)], *v);
                }
            barrier(); /* they are read */
#pragma GCC unroll 2
            for (int r = 0; r < ACC_ROWS; r++) {
                high[r] = row_max(high[r]);
                shrink[r] = max[m][r] == high[r] ? 1 : exp2_(max[m][r] - high[r]);
                max[m][r] = high[r];
                high[r] = high[r] == -INF ? 0 : high[r] - WEIGHT_SHIFT;
                sum[m][r] *= shrink[r];
            }
#pragma GCC unroll 2
            for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
                for (int e = 0; e < ACC; e++) {
                    float *v = &x[n].of[e];
                    *v = exp2_(*v - high[acc_row(e)]);
                    sum[m][acc_row(e)] += *v;
                }
#pragma GCC unroll 12
            for (int k = 0; k < ET; k++)
#pragma GCC unroll 8
                for (int e = 0; e < ACC; e++)
                    o[m][k].of[e] *= shrink[acc_row(e)];
            rel_add_values(o[m], x, s.v);
        }
    }

    rel_write(p, s, o, sum, first, ec);
}

KERNEL(rel_attention_f16, struct bi_rel_attention_params, REL_THREADS, 1)
{
    rel_attend_f16(rel_window<f16>(p));
}

/* ---- f32 ---- */

enum {
    REL32 = 32,
    REL32_THREADS = 256,
    REL32_PART = 64,
    REL32_LD = REL32_PART + 1,
    REL32_OF = REL32 / 8,
    REL32_PARTS = REL_E / REL32_PART
};

struct rel_f32_tiles {
    float u[REL32 * REL32_LD], w[REL32 * REL32_LD], k[REL32 * REL32_LD];
    float r[(2 * REL32 - 1) * REL32_LD], p[REL32 * (REL32 + 1)];
};

DEV void rel_attend_f32(const struct bi_rel_attention_params &p)
{
    SHARED(rel_f32_tiles, s, sizeof(rel_f32_tiles));
    const int first = block_x() * REL32, row = thread_id() / 8, lane = thread_id() % 8;
    if (first >= p.n_queries)
        return;
    const int head = block_y() % p.n_heads;
    const int64_t kc = (int64_t)head * p.key_dim, ec = (int64_t)head * p.value_dim;
    float o[REL32_PARTS][REL32_PART / 8] = {}, max = -INF, sum = 0;

    for (int j0 = 0; j0 < p.n; j0 += REL32) {
        const int base = p.n - 1 - (p.first + first + REL32 - 1) + j0; /* row 0 of the band */
        float x[REL32_OF] = {};
        for (int c0 = 0; c0 < p.key_dim; c0 += REL32_PART) {
            const int left = p.key_dim - c0 < REL32_PART ? p.key_dim - c0 : REL32_PART;
            barrier(); /* the numbers there are used up */
            for (int at = thread_id(); at < REL32 * REL32_PART; at += REL32_THREADS) {
                const int i = at / REL32_PART, c = at % REL32_PART;
                const bool there = c < left;
                float q = 0, u = 0, w = 0;
                if (there && first + i < p.n_queries) {
                    q = p.q[(first + i) * p.ldq + kc + c0 + c] * p.scale;
                    u = q + p.u[kc + c0 + c];
                    w = q + p.w[kc + c0 + c];
                }
                s.u[i * REL32_LD + c] = u;
                s.w[i * REL32_LD + c] = w;
                s.k[i * REL32_LD + c] = there && j0 + i < p.n ? p.k[(j0 + i) * p.ldk + kc + c0 + c]
                                                              : 0;
            }
            for (int at = thread_id(); at < (2 * REL32 - 1) * REL32_PART; at += REL32_THREADS) {
                const int i = at / REL32_PART, c = at % REL32_PART;
                s.r[i * REL32_LD + c] = c < left && base + i >= 0 && base + i < 2 * p.n - 1
                                            ? p.r[(base + i) * p.ldr + kc + c0 + c]
                                            : 0;
            }
            barrier();
            for (int c = 0; c < left; c++)
#pragma GCC unroll 4
                for (int e = 0; e < REL32_OF; e++) {
                    const int j = lane + 8 * e;
                    x[e] = fma_(s.u[row * REL32_LD + c], s.k[j * REL32_LD + c], x[e]);
                    x[e] = fma_(s.w[row * REL32_LD + c], s.r[(REL32 - 1 - row + j) * REL32_LD + c],
                                x[e]);
                }
        }
        float high = max;
#pragma GCC unroll 4
        for (int e = 0; e < REL32_OF; e++) {
            x[e] = j0 + lane + 8 * e < p.n ? x[e] : -INF;
            high = max_(high, x[e]);
        }
        high = lanes_max<8>(high);
        const float shrink = max == high ? 1 : exp_(max - high);
        max = high;
        sum *= shrink;
#pragma GCC unroll 4
        for (int e = 0; e < REL32_OF; e++) {
            const float weight = exp_(x[e] - (high == -INF ? 0 : high));
            s.p[row * (REL32 + 1) + lane + 8 * e] = weight;
            sum += weight;
        }
#pragma GCC unroll 3
        for (int part = 0; part < REL32_PARTS; part++) {
            barrier(); /* weights are there, what was in k is used up */
            for (int at = thread_id(); at < REL32 * REL32_PART; at += REL32_THREADS) {
                const int i = at / REL32_PART, c = part * REL32_PART + at % REL32_PART;
                s.k[i * REL32_LD + at % REL32_PART] = j0 + i < p.n && c < p.value_dim
                                                          ? p.v[(j0 + i) * p.ldv + ec + c]
                                                          : 0;
            }
            barrier();
#pragma GCC unroll 8
            for (int e = 0; e < REL32_PART / 8; e++)
                o[part][e] *= shrink;
            for (int j = 0; j < REL32; j++)
#pragma GCC unroll 8
                for (int e = 0; e < REL32_PART / 8; e++)
                    o[part][e] = fma_(s.p[row * (REL32 + 1) + j], s.k[j * REL32_LD + lane + 8 * e],
                                      o[part][e]);
        }
    }
    sum = lanes_sum<8>(sum);
    if (first + row >= p.n_queries)
        return;
#pragma GCC unroll 3
    for (int part = 0; part < REL32_PARTS; part++)
#pragma GCC unroll 8
        for (int e = 0; e < REL32_PART / 8; e++) {
            const int c = part * REL32_PART + lane + 8 * e;
            if (c < p.value_dim)
                p.y[(first + row) * p.ldy + ec + c] = o[part][e] / sum;
        }
}

KERNEL(rel_attention_f32, struct bi_rel_attention_params, REL32_THREADS, 1)
{
    rel_attend_f32(rel_window<float>(p));
}
