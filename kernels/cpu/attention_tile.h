/* attention_tile.h - the inner loops of attention: a block of queries against a tile of keys.
 *
 * Lanes are queries, so scores lie as s[key][query]: maxima, sums and corrections are vertical,
 * no lane ever meets another, keys and values are read one number at a time in their own
 * order, and any head width fills the vectors. A query's row is therefore the same chain of
 * operations whatever shares its block.
 *
 *   queries  [d][BLOCK]         rotated and scaled, rows beyond the block's end zero
 *   keys     [KEY_TILE][width]  rotated; rows up to a multiple of KEY_GROUP repeat the last
 *                               key, which leaves maxima alone
 *   scores   [KEY_TILE][BLOCK]
 *   out      [width][BLOCK]
 * width: d rounded up to KEY_GROUP. */
#ifndef BI_CPU_ATTENTION_TILE_H
#define BI_CPU_ATTENTION_TILE_H

#include <float.h>

#include "simd.h"

enum {
    BLOCK_VECTORS = 3,
    BLOCK = BLOCK_VECTORS * VW,
    KEY_TILE = 128,
    KEY_GROUP = VREGS >= 32 ? 8 : 4 /* KEY_GROUP * BLOCK_VECTORS accumulators */
};

/* exp(x) = exp2(x LOG2E) */
#define LOG2E 1.44269504088896341f

/* n >= 0 rounded up to a multiple of step. */
BI_INLINE int round_up(int n, int step)
{
    return (n + step - 1) / step * step;
}

/* 2^x for x <= 0, within 1.6 ULP; x < -126 gives 2^-126, -infinity too; NaN stays NaN.
 * Polynomial: minimax of relative error 7.5e-8 on [-1/2, 1/2]. */
BI_INLINE vf exp2_negative(vf x)
{
    /* adding 1.5 * 2^23 rounds; 127 more makes the low bits the exponent field of 2^n */
    const vf magic = vf_set1(12583039.0f);
    x = vf_max(vf_set1(-126.0f), x);
    vf t = vf_add(x, magic);
    vf f = vf_sub(x, vf_sub(t, magic));
    vf y = vf_set1(0.0013276472f);
    y = vf_fma(y, f, vf_set1(0.00967554133f));
    y = vf_fma(y, f, vf_set1(0.0555071327f));
    y = vf_fma(y, f, vf_set1(0.240221197f));
    y = vf_fma(y, f, vf_set1(0.693146967f));
    y = vf_fma(y, f, vf_set1(1.00000007f));
    return vf_mul(y, vi_float_bits(vi_shl(vf_bits(t), 23)));
}

/* y = scale * the rotation of one row of a head by its row of the table (rope.h); table NULL:
 * y = scale * x. y may be x. With a table d is even. */
BI_INLINE void rotate_row(float *y, const float *x, const float *table, int d, float scale)
{
    const vf by = vf_set1(scale);
    if (!table) {
        for (int i = 0; i < d; i += VW) {
            int n = d - i < VW ? d - i : VW;
            vf_store_n(y + i, vf_mul(vf_load_n(x + i, n), by), n);
        }
        return;
    }
    const int half = d / 2;
    for (int i = 0; i < half; i += VW) {
        int n = half - i < VW ? half - i : VW;
        vf a = vf_load_n(x + i, n), b = vf_load_n(x + half + i, n);
        vf c = vf_load_n(table + i, n), s = vf_load_n(table + half + i, n);
        vf_store_n(y + i, vf_mul(vf_fnma(b, s, vf_mul(a, c)), by), n);
        vf_store_n(y + half + i, vf_mul(vf_fma(a, s, vf_mul(b, c)), by), n);
    }
}

typedef float quad __attribute__((vector_size(16)));

/* Four floats from any address of floats. */
BI_INLINE quad quad_load(const float *p)
{
    quad q;
    memcpy(&q, p, sizeof q);
    return q;
}

/* y[c][r] = x[r][c], r < rows, c < cols; ldx, ldy between rows of x and y, which do not overlap. */
BI_INLINE void transpose(float *y, int64_t ldy, const float *x, int64_t ldx, int rows, int cols)
{
    int r = 0;
    for (; r + 4 <= rows; r += 4) {
        int c = 0;
        for (; c + 4 <= cols; c += 4) {
            const float *p = x + r * ldx + c;
            quad a0 = quad_load(p), a1 = quad_load(p + ldx);
            quad a2 = quad_load(p + 2 * ldx), a3 = quad_load(p + 3 * ldx);
            quad b0 = __builtin_shufflevector(a0, a1, 0, 4, 1, 5);
            quad b1 = __builtin_shufflevector(a2, a3, 0, 4, 1, 5);
            quad b2 = __builtin_shufflevector(a0, a1, 2, 6, 3, 7);
            quad b3 = __builtin_shufflevector(a2, a3, 2, 6, 3, 7);
            a0 = __builtin_shufflevector(b0, b1, 0, 1, 4, 5);
            a1 = __builtin_shufflevector(b0, b1, 2, 3, 6, 7);
            a2 = __builtin_shufflevector(b2, b3, 0, 1, 4, 5);
            a3 = __builtin_shufflevector(b2, b3, 2, 3, 6, 7);
            float *q = y + c * ldy + r;
            memcpy(q, &a0, sizeof a0);
            memcpy(q + ldy, &a1, sizeof a1);
            memcpy(q + 2 * ldy, &a2, sizeof a2);
            memcpy(q + 3 * ldy, &a3, sizeof a3);
        }
        for (; c < cols; c++)
            for (int i = 0; i < 4; i++)
                y[c * ldy + r + i] = x[(r + i) * ldx + c];
    }
    for (; r < rows; r++)
        for (int c = 0; c < cols; c++)
            y[c * ldy + r] = x[r * ldx + c];
}

/* Rows first ... first + n - 1 of a sequence that starts at token `start`, n <= BLOCK, rotated by
 * the same rows of the table (NULL: not rotated) and scaled; queries from n on are zero. rows:
 * [BLOCK][d] of work space. */
BI_INLINE void pack_queries(float *q, const float *x, int64_t ldx, const float *table,
                            int64_t start, int64_t first, int n, int d, float scale, float *rows)
{
    for (int r = 0; r < n; r++)
        rotate_row(rows + r * d, x + (start + first + r) * ldx,
                   table ? table + (first + r) * d : NULL, d, scale);
    if (n < BLOCK)
        memset(rows + n * d, 0, sizeof *rows * (size_t)((BLOCK - n) * d));
    transpose(q, BLOCK, rows, d, BLOCK, d);
}

/* Keys first ... first + n - 1 likewise, n >= 1, but not scaled. Rows from n on to a multiple of
 * KEY_GROUP repeat the last; columns d ... width - 1 are left as they were. */
BI_INLINE void pack_keys(float *keys, const float *x, int64_t ldx, const float *table,
                         int64_t start, int64_t first, int n, int d)
{
    const int width = round_up(d, KEY_GROUP);
    for (int j = 0; j < n; j++)
        rotate_row(keys + j * width, x + (start + first + j) * ldx,
                   table ? table + (first + j) * d : NULL, d, 1);
    for (int j = n; j < round_up(n, KEY_GROUP); j++)
        memcpy(keys + j * width, keys + (n - 1) * width, sizeof *keys * (size_t)d);
}

/* Rows first ... first + n - 1 of x, counted from its first row as there is no `start`, as values;
 * n may be 0. Columns d ... width - 1 become zero; no row is repeated. */
BI_INLINE void pack_values(float *values, const float *x, int64_t ldx, int64_t first, int n, int d)
{
    const int width = round_up(d, KEY_GROUP);
    for (int j = 0; j < n; j++) {
        memcpy(values + j * width, x + (first + j) * ldx, sizeof *values * (size_t)d);
        for (int c = d; c < width; c++)
            values[j * width + c] = 0;
    }
}

/* Bias of a block of queries, by place: see lay_bias(). */
struct place {
    const float *tile; /* not NULL: [KEY_TILE][BLOCK], those of the tile at hand */
    const float *bias; /* as lay_bias() writes them: [BLOCK + 2 reach + 1 + BLOCK] */
    int reach;
    int64_t ahead; /* first query of the block - first key of the tile */
};

/* to[BLOCK + reach + x] = scale * b(-x) for x = query - key, b(x) = bias[reach + x] of 2 reach + 1
 * of them, constant beyond the reach: so that the biases of neighbouring queries against one key
 * lie in a row. It writes 2 reach + 1 + 2 BLOCK floats. */
BI_INLINE void lay_bias(float *to, const float *bias, int reach, float scale)
{
    for (int i = 0; i < 2 * reach + 1 + 2 * BLOCK; i++) {
        const int x = i - BLOCK - reach, near = x < -reach ? -reach : x > reach ? reach : x;
        to[i] = scale * bias[reach - near];
    }
}

/* to[key][query] = scale times the biases of n queries against n_keys keys: ldb numbers from a key
 * to the next, ld from a query to the next. Queries from n on have 0. */
BI_INLINE void lay_pairs(float *to, const float *bias, int64_t ldb, int64_t ld, int n, int n_keys,
                         float scale)
{
    for (int q = 0; q < BLOCK; q++)
        for (int j = 0; j < n_keys; j++)
            to[j * BLOCK + q] = q < n ? scale * bias[q * ld + j * ldb] : 0;
}

/* The biases of queries 0 ... BLOCK - 1 against key j of the tile, which may be far beyond the
 * reach. at->bias must not be NULL where at->tile is. */
BI_INLINE const float *bias_of(const struct place *at, int j)
{
    if (at->tile)
        return at->tile + j * BLOCK;
    int64_t x = at->ahead - j; /* where query 0 is */
    x = x > at->reach ? at->reach : x < -at->reach - BLOCK ? -at->reach - BLOCK : x;
    return at->bias + BLOCK + at->reach + x;
}

/* s = scores of the first nv vectors of queries, top = max(top, s). at NULL: no bias. n >= 1; s has
 * rows up to a multiple of KEY_GROUP, which are written as those of the last key. A score that is
 * NaN stays in s, but top may lose it. */
BI_INLINE void tile_scores(float *s, const float *q, const float *keys, int n, int d, int nv,
                           vf *top, const struct place *at)
{
    const int width = round_up(d, KEY_GROUP);
    vf best[BLOCK_VECTORS];
    for (int v = 0; v < nv; v++)
        best[v] = top[v];
    for (int j = 0; j < n; j += KEY_GROUP) {
        const float *k = keys + j * width;
        vf sum[KEY_GROUP][BLOCK_VECTORS];
        for (int r = 0; r < KEY_GROUP; r++)
            for (int v = 0; v < nv; v++) /* rows behind the last key repeat it */
                sum[r][v] = at ? vf_load(bias_of(at, j + r < n ? j + r : n - 1) + v * VW)
                               : vf_zero();
        for (int i = 0; i < d; i++) {
            vf x[BLOCK_VECTORS];
            for (int v = 0; v < nv; v++)
                x[v] = vf_load(q + i * BLOCK + v * VW);
            for (int r = 0; r < KEY_GROUP; r++) {
                const vf y = vf_set1(k[r * width + i]);
                for (int v = 0; v < nv; v++)
                    sum[r][v] = vf_fma(x[v], y, sum[r][v]);
            }
        }
        for (int r = 0; r < KEY_GROUP; r++)
            for (int v = 0; v < nv; v++) {
                best[v] = vf_max(best[v], sum[r][v]);
                vf_store(s + (j + r) * BLOCK + v * VW, sum[r][v]);
            }
    }
    for (int v = 0; v < nv; v++)
        top[v] = best[v];
}

/* s = 2^(s - top), total += its sum over the n keys in order; rows from n on stay. */
BI_INLINE void tile_exp(float *s, int n, int nv, const vf *top, vf *total)
{
    vf high[BLOCK_VECTORS], sum[BLOCK_VECTORS];
    for (int v = 0; v < nv; v++) {
        high[v] = top[v];
        sum[v] = vf_zero();
    }
    for (int j = 0; j < n; j++)
        for (int v = 0; v < nv; v++) {
            float *p = s + j * BLOCK + v * VW;
            vf y = exp2_negative(vf_sub(vf_load(p), high[v]));
            sum[v] = vf_add(sum[v], y);
            vf_store(p, y);
        }
    for (int v = 0; v < nv; v++)
        total[v] = vf_add(total[v], sum[v]);
}

/* out = out * keep + p^T values, of all `width` columns. out is read even where keep is 0, so it
 * must hold numbers beforehand. */
BI_INLINE void tile_mix(float *out, const float *p, const float *values, int n, int d, int nv,
                        const vf *keep)
{
    const int width = round_up(d, KEY_GROUP);
    for (int c = 0; c < width; c += KEY_GROUP) {
        vf sum[KEY_GROUP][BLOCK_VECTORS];
        for (int r = 0; r < KEY_GROUP; r++)
            for (int v = 0; v < nv; v++)
                sum[r][v] = vf_zero();
        for (int j = 0; j < n; j++) {
            vf x[BLOCK_VECTORS];
            for (int v = 0; v < nv; v++)
                x[v] = vf_load(p + j * BLOCK + v * VW);
            for (int r = 0; r < KEY_GROUP; r++) {
                const vf y = vf_set1(values[j * width + c + r]);
                for (int v = 0; v < nv; v++)
                    sum[r][v] = vf_fma(x[v], y, sum[r][v]);
            }
        }
        for (int r = 0; r < KEY_GROUP; r++)
            for (int v = 0; v < nv; v++) {
                float *o = out + (c + r) * BLOCK + v * VW;
                vf_store(o, vf_fma(vf_load(o), keep[v], sum[r][v]));
            }
    }
}

#endif
