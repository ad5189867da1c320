/* multiquery_f32.cu - attention of which all heads share keys and values, see multiquery.h.
 *
 * A block takes 32 queries of a head, each group of 32 threads four of them, against 32 keys at a
 * time: a thread has one key of the tile for the logits, and every 32nd column for the sums. Online
 * softmax in f32. Tiles of keys count from the first of the run, and a row does not depend on the
 * other rows of its block. It serves what matrix units do not (multiquery_near.cu). */
#include "lib/gpu.h"

#include "lib/gpu_norm_act.h"
#include "../multiquery.h"

enum {
    MQ32_THREADS = 256,
    MQ32_ROWS = 32,
    MQ32_KEYS = 32,
    MQ32_EACH = 4, /* queries to a group */
    MQ32_COLUMNS = 64
};

/* D: the widest keys. */
template <int D> struct mq32_tiles {
    enum { LD = D + 1 }; /* no two threads of a group meet in a bank */
    float q[MQ32_ROWS * D], k[MQ32_KEYS * LD];
    float v[MQ32_KEYS * MQ32_COLUMNS], p[MQ32_ROWS * MQ32_KEYS];
};

/* 32 rows first, first + 1, ... of a run of n, rotated and scaled, rows behind the last one 0. */
DEV void mq32_read(float *to, int ld_to, const float *x, int64_t ld, const float *table, int d,
                   int first, int n, float scale)
{
    const int half = d / 2;
    for (int at = thread_id(); at < MQ32_ROWS * d; at += MQ32_THREADS) {
        const int row = at / d, c = at % d, place = first + row;
        float v = 0;
        if (place < n) {
            const float *from = x + place * ld;
            v = from[c];
            if (table) {
                const float *turn = table + (int64_t)place * d;
                const float other = c < half ? -from[c + half] : from[c - half];
                v = fma_(other, turn[half + c % half], v * turn[c % half]);
            }
        }
        to[row * ld_to + c] = v * scale;
    }
}

/* Logits of four queries against the key of this thread. */
template <int D>
DEV void mq32_logits(const struct bi_multiquery_params &p, const mq32_tiles<D> &s, int first_query,
                     int key, int64_t run, int head, float z[MQ32_EACH])
{
    const int lane = thread_id() % MQ32_KEYS, row = thread_id() / MQ32_KEYS * MQ32_EACH;
    const int64_t side = p.n / p.pool;
#pragma GCC unroll 4
    for (int r = 0; r < MQ32_EACH; r++)
        z[r] = 0;
#pragma GCC unroll 1
    for (int c = 0; c < p.d; c++) {
        const float k = s.k[lane * mq32_tiles<D>::LD + c];
#pragma GCC unroll 4
        for (int r = 0; r < MQ32_EACH; r++)
            z[r] = fma_(s.q[(row + r) * D + c], k, z[r]);
    }
#pragma GCC unroll 4
    for (int r = 0; r < MQ32_EACH; r++) {
        const int query = first_query + row + r;
        if (p.bias && query < p.n && key < p.n) {
            const int64_t pair = (run * side + query / p.pool) * side + key / p.pool;
            z[r] += p.bias[pair * p.ldb + head];
        }
        if (p.cap > 0)
            z[r] = p.cap * tanh_(z[r] / p.cap);
    }
}

/* Adds the values of a tile, 64 columns at a time, to the sums of this thread. */
template <int D>
DEV void mq32_mix(const struct bi_multiquery_params &p, mq32_tiles<D> &s, int64_t start, int first,
                  float sum[MQ32_EACH][BI_MULTIQUERY_VALUE / 32])
{
    const int lane = thread_id() % MQ32_KEYS, row = thread_id() / MQ32_KEYS * MQ32_EACH;
#pragma GCC unroll 4
    for (int part = 0; part < BI_MULTIQUERY_VALUE / MQ32_COLUMNS; part++) {
        if (part * MQ32_COLUMNS >= p.e) /* the same in all threads */
            continue;
        barrier();
        for (int at = thread_id(); at < MQ32_KEYS * MQ32_COLUMNS; at += MQ32_THREADS) {
            const int j = at / MQ32_COLUMNS, c = part * MQ32_COLUMNS + at % MQ32_COLUMNS;
            s.v[at] = first + j < p.n && c < p.e ? p.v[(start + first + j) * p.ldv + c] : 0;
        }
        barrier();
#pragma GCC unroll 1
        for (int j = 0; j < MQ32_KEYS; j++) {
            const float a = s.v[j * MQ32_COLUMNS + lane], b = s.v[j * MQ32_COLUMNS + lane + 32];
#pragma GCC unroll 4
            for (int r = 0; r < MQ32_EACH; r++) {
                const float weight = s.p[(row + r) * MQ32_KEYS + j];
                sum[r][2 * part] = fma_(weight, a, sum[r][2 * part]);
                sum[r][2 * part + 1] = fma_(weight, b, sum[r][2 * part + 1]);
            }
        }
    }
}

template <int D> DEV void mq32(const struct bi_multiquery_params &p)
{
    SHARED(mq32_tiles<D>, s, sizeof(mq32_tiles<D>));
    const int tiles = (p.n + MQ32_ROWS - 1) / MQ32_ROWS, head = block_y();
    const int first_query = block_x() % tiles * MQ32_ROWS;
    const int64_t run = block_x() / tiles, start = run * p.n;
    const int lane = thread_id() % MQ32_KEYS, row = thread_id() / MQ32_KEYS * MQ32_EACH;
    float top[MQ32_EACH], total[MQ32_EACH], z[MQ32_EACH], sum[MQ32_EACH][BI_MULTIQUERY_VALUE / 32];
#pragma GCC unroll 4
    for (int r = 0; r < MQ32_EACH; r++) {
        top[r] = -INF;
        total[r] = 0;
#pragma GCC unroll 8
        for (int c = 0; c < BI_MULTIQUERY_VALUE / 32; c++)
            sum[r][c] = 0;
    }
    mq32_read(s.q, D, p.q + start * p.ldq + head * p.d, p.ldq, p.table, p.d, first_query, p.n,
              p.scale);
#pragma GCC unroll 1
    for (int first = 0; first < p.n; first += MQ32_KEYS) {
        barrier();
        mq32_read(s.k, mq32_tiles<D>::LD, p.k + start * p.ldk, p.ldk, p.table, p.d, first, p.n, 1);
        barrier();
        mq32_logits(p, s, first_query, first + lane, run, head, z);
#pragma GCC unroll 4
        for (int r = 0; r < MQ32_EACH; r++) {
            const bool there = first + lane < p.n;
            const float most = max_(top[r], lanes_max(there ? z[r] : -INF));
            const float keep = exp_(top[r] - most), e = there ? exp_(z[r] - most) : 0;
            top[r] = most;
            total[r] = fma_(total[r], keep, lanes_sum(e));
            s.p[(row + r) * MQ32_KEYS + lane] = e;
#pragma GCC unroll 8
            for (int c = 0; c < BI_MULTIQUERY_VALUE / 32; c++)
                sum[r][c] *= keep;
        }
        mq32_mix(p, s, start, first, sum);
    }
#pragma GCC unroll 4
    for (int r = 0; r < MQ32_EACH; r++) {
        float *y = p.y + (start + first_query + row + r) * p.ldy + (int64_t)head * p.e;
#pragma GCC unroll 8
        for (int c = 0; c < BI_MULTIQUERY_VALUE / 32; c++)
            if (first_query + row + r < p.n && lane + 32 * c < p.e)
                y[lane + 32 * c] = sum[r][c] / total[r];
    }
}

KERNEL(multiquery_f32, struct bi_multiquery_params, MQ32_THREADS, 1)
{
    mq32<BI_MULTIQUERY_KEY_GPU>(p);
}

KERNEL(multiquery_wide_f32, struct bi_multiquery_params, MQ32_THREADS, 1)
{
    mq32<BI_MULTIQUERY_KEY>(p);
}
