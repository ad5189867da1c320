/* attention_tile.h - attention on matrix units: weights of scores, biases, and results. */
#ifndef BI_GPU_ATTENTION_TILE_H
#define BI_GPU_ATTENTION_TILE_H

#include "gpu_math.h"
#include "gpu_tiles.h"

#pragma clang force_cuda_host_device begin
#include "../../attention.h"
#pragma clang force_cuda_host_device end

enum bias_kind { NO_BIAS, BY_PLACE, BY_PAIR };

/* Scores of keys that are not there do not count. */
template <int MT, int NT> DEV void mask_keys(acc (&x)[MT][NT], int keys)
{
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
            if (n * 16 + acc_n(e) >= keys) {
#pragma GCC unroll 4
                for (int m = 0; m < MT; m++)
                    x[m][n].of[e] = -INF;
            }
}

/* Biases of 16 queries against the keys of a tile. */
struct bias_rows {
    const float *bias; /* BY_PLACE: of the head, at distance 0; BY_PAIR: in shared memory */
    int ahead;         /* BY_PLACE: from the first query to the first key */
};

/* LOG2E times the bias of query m and key n, of KEYS in shared memory. */
template <bias_kind kind, int KEYS>
DEV float bias_at(const struct bi_attention_params &p, const bias_rows &b, int m, int n)
{
    if (kind == BY_PAIR)
        return b.bias[m * (KEYS + 1) + n];
    const int gap = b.ahead + n - m;
    return b.bias[gap < -p.reach ? -p.reach : gap > p.reach ? p.reach : gap] * LOG2E;
}

/* 16 rows of scores to weights, and what of sums and results still counts beside them. Weights are
 * 2^shift times as large. */
template <bias_kind kind, int shift, int NT, int KT>
DEV void weigh(acc (&x)[NT], float (&max)[ACC_ROWS], float (&sum)[ACC_ROWS], acc (&o)[KT],
               const struct bi_attention_params &p, const bias_rows &b)
{
    const float to_log2 = p.scale * LOG2E;
    float high[ACC_ROWS], shrink[ACC_ROWS];
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++)
        high[r] = max[r];
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            if (kind != NO_BIAS) {
                const float bias = bias_at<kind, NT * 16>(p, b, acc_m(e), n * 16 + acc_n(e));
                x[n].of[e] = fma_(x[n].of[e], to_log2, bias);
            } else {
                x[n].of[e] *= to_log2;
            }
            high[acc_row(e)] = max_(high[acc_row(e)], x[n].of[e]);
        }
#pragma GCC unroll 2
    for (int r = 0; r < ACC_ROWS; r++) {
        high[r] = row_max(high[r]);
        shrink[r] = max[r] == high[r] ? 1 : exp2_(max[r] - high[r]);
        max[r] = high[r];
        high[r] = high[r] == -INF ? 0 : high[r] - shift;
        sum[r] *= shrink[r];
    }
#pragma GCC unroll 4
    for (int n = 0; n < NT; n++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++) {
            float *v = &x[n].of[e];
            *v = exp2_(*v - high[acc_row(e)]);
            sum[acc_row(e)] += *v;
        }
#pragma GCC unroll 8
    for (int k = 0; k < KT; k++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e++)
            o[k].of[e] *= shrink[acc_row(e)];
}

/* Divides the results of a wave by their weights' sums and writes them; Y: the type of y. */
template <typename Y, int MT, int KT>
DEV void write_rows(const struct bi_attention_params &p, const acc (&o)[MT][KT],
                    const float (&sum)[MT][ACC_ROWS], const tile &q, int row0)
{
    enum { SIZE = (int)sizeof(Y) };
    const int64_t column = (int64_t)block_y() * p.head_dim;
    const int d = p.head_dim;
    const bool whole = ((u64)p.y | (u64)p.ldy * SIZE | (u64)d * SIZE) % (ACC_RUN * SIZE) == 0;
#pragma GCC unroll 4
    for (int m = 0; m < MT; m++) {
        float rest[ACC_ROWS];
#pragma GCC unroll 2
        for (int r = 0; r < ACC_ROWS; r++)
            rest[r] = 1.0f / row_sum(sum[m][r]);
#pragma GCC unroll 8
        for (int k = 0; k < KT; k++)
#pragma GCC unroll 8
            for (int e = 0; e < ACC; e += ACC_RUN) {
                typedef Y run __attribute__((vector_size(ACC_RUN * SIZE)));
                const int row = q.first + row0 + m * 16 + acc_m(e), i = k * 16 + acc_n(e);
                Y *y = (Y *)p.y + (q.start + row) * p.ldy + column + i;
                run v;
#pragma GCC unroll 4
                for (int u = 0; u < ACC_RUN; u++)
                    v[u] = (Y)(o[m][k].of[e + u] * rest[acc_row(e)]);
                if (row >= q.length || i >= d)
                    continue;
                if (whole && i + ACC_RUN <= d) {
                    *(run *)y = v;
                } else {
#pragma GCC unroll 4
                    for (int u = 0; u < ACC_RUN; u++)
                        if (i + u < d)
                            y[u] = v[u];
                }
            }
    }
}

/* Where biases begin: BY_PLACE at distance 0 of the head, BY_PAIR at the tile's first query and
 * key 0. */
template <bias_kind kind>
DEV const float *first_bias(const struct bi_attention_params &p, const tile &q)
{
    if (kind == BY_PLACE)
        return p.bias + block_y() * (2 * p.reach + 1) + p.reach;
    if (kind == NO_BIAS)
        return nullptr;
    const int64_t grid = bi_bias_grid(p.counts, p.grid_start, p.axis, q.seq, q.start);
    return p.grid_bias + (grid + (int64_t)q.first * q.length) * p.ldgb + block_y();
}

#endif
