/* rel_attention_sm90.cu - attention with relative positions (rel_attention.h) on Hopper, f16.
 *
 * A block is one warpgroup with 64 queries of one head. Keys, values and rows of r come by the copy
 * engine, 64 at a time; two blocks share a multiprocessor, so that one's exponentials run beside the
 * other's products. Queries lie in shared memory twice, with either bias.
 *
 * Query i of the block and key j of step s meet in column 64 s + 63 - i + j of W R^T, R the rows of r
 * from n - 1 - (last query of the block) on. So a step needs 64 new columns beside those of the step
 * before: products go to a ring of 128 columns in shared memory, where each query reads its diagonal.
 *
 * Key tiles count from the first and a row does not depend on the others of its block. The copy
 * engine gives zeros for rows off a tensor; keys there count as -inf. Key width 64, value width 192.
 * Grid: tiles of 64 queries, heads of each window; of several windows each has a multiple of 64 keys. */
#include "gpu_math.h"
#include "sm90.h"

#include "rel_attention_sm90.h"

enum {
    THREADS = 128, ROWS = 64, KEYS = 64, D = 64, PARTS = 3 /* of 64 columns of the values */,
    STAGES = 2, RING = 2 * KEYS, LD = RING + 8, AT_ONCE = 2 /* parts of 16 keys */
};

struct tiles {
    f16 u[ROWS * D], w[ROWS * D];
    f16 k[STAGES][KEYS * D], r[STAGES][KEYS * D], v[PARTS][KEYS * D];
    float along[ROWS * LD];
    u64 full[STAGES], values;
};

DEV u32 two_f16(float a, float b)
{
    return bits<u32>(f16x2{(f16)a, (f16)b});
}

/* Queries with either bias, as the matrix unit reads them (sm90.h). */
DEV void read_queries(const struct bi_rel_attention_params &p, int64_t column, int first, int window,
                      tiles &s)
{
    const int row = thread_id() / 2;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int chunk = thread_id() % 2 * 4 + i;
        const int64_t c = column + chunk * 8;
        f16x8 u = {0, 0, 0, 0, 0, 0, 0, 0}, w = u;
        if (first + row < p.n_queries) {
            const f16x8 q = *(const f16x8 *)((const f16 *)p.q +
                                                ((int64_t)window * p.n_queries + first + row) * p.ldq +
                                                c);
#pragma GCC unroll 8
            for (int e = 0; e < 8; e++) {
                u[e] = (f16)((float)q[e] * p.scale + p.u[c + e]);
                w[e] = (f16)((float)q[e] * p.scale + p.w[c + e]);
            }
        }
        *(f16x8 *)(s.u + row * D + (chunk ^ row % 8) * 8) = u;
        *(f16x8 *)(s.w + row * D + (chunk ^ row % 8) * 8) = w;
    }
}

/* d (+)= Q K^T, both of 64 rows and 64 columns. */
DEV void multiply_all(float (&d)[KEYS / 2], const f16 *q, const f16 *k)
{
#pragma GCC unroll 4
    for (int i = 0; i < D / 16; i++)
        product(d, descriptor(q) + i * 2, descriptor(k) + i * 2, i > 0);
}

/* Products of box b of r to the ring. */
DEV void put_along(float *along, const float (&d)[KEYS / 2], int b)
{
    const int t = thread_id();
#pragma GCC unroll 8
    for (int j = 0; j < KEYS / 8; j++)
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++)
            *(f32x2 *)(along + (t / 32 * 16 + t % 32 / 4 + 8 * r) * LD + b % 2 * KEYS + j * 8 +
                       t % 4 * 2) = f32x2{d[4 * j + 2 * r], d[4 * j + 2 * r + 1]};
}

DEV void attention(const struct bi_rel_attention_params &p, const tensor_map *maps)
{
    SHARED(tiles, s, sizeof(tiles));
    const bool leader = thread_id() == 0;
    if (leader) {
        for (int i = 0; i < STAGES; i++)
            barrier_init(&s.full[i], 1);
        barrier_init(&s.values, 1);
        barriers_ready();
        for (int i = 0; i < 3; i++)
            map_prefetch(&maps[i]);
    }
    barrier(); /* the barriers are there */
    const int first = block_x() * ROWS, steps = (p.n + KEYS - 1) / KEYS;
    const int band = p.n - 1 - (p.first + first + ROWS - 1); /* row of r of column 0 */
    const int head = block_y() % p.n_heads, window = block_y() / p.n_heads;
    const int kc = head * D, vc = head * PARTS * 64, key0 = window * p.n;
    float o[PARTS][32], x[KEYS / 2], y[KEYS / 2];
    float max[2] = {-INF, -INF}, sum[2] = {0, 0};

    wait_for_inputs();
    if (leader) { /* step -1 has the first box of r alone, then each one more and the keys */
        barrier_expect(&s.full[1], KEYS * D * 2);
        copy_tile(s.r[1], &maps[2], kc, band, &s.full[1]);
        barrier_expect(&s.full[0], 2 * KEYS * D * 2);
        copy_tile(s.r[0], &maps[2], kc, band + KEYS, &s.full[0]);
        copy_tile(s.k[0], &maps[0], kc, key0, &s.full[0]);
    }
    read_queries(p, kc, first, window, s);
    fence_async();
#pragma GCC unroll 3
    for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 32
        for (int i = 0; i < 32; i++)
            o[c][i] = 0;
    barrier(); /* queries are there */
    barrier_wait(&s.full[1], 0);
    products_begin();
    multiply_all(y, s.w, s.r[1]);
    products_commit();
    products_wait<0>();
    put_along(s.along, y, 0);

    for (int j = 0; j < steps; j++) {
        const int at = j % STAGES, keys = p.n - j * KEYS;
        barrier(); /* what the next copies overwrite is used up */
        if (leader) {
            barrier_expect(&s.values, PARTS * KEYS * 64 * 2);
            for (int c = 0; c < PARTS; c++)
                copy_tile(s.v[c], &maps[1], vc + c * 64, key0 + j * KEYS, &s.values);
            if (j + 1 < steps) {
                const int next = (j + 1) % STAGES;
                barrier_expect(&s.full[next], 2 * KEYS * D * 2);
                copy_tile(s.r[next], &maps[2], kc, band + (j + 2) * KEYS, &s.full[next]);
                copy_tile(s.k[next], &maps[0], kc, key0 + (j + 1) * KEYS, &s.full[next]);
            }
        }
        barrier_wait(&s.full[at], (j + 1) / 2 & 1);
        products_begin();
        multiply_all(y, s.w, s.r[at]);
        products_commit();
        multiply_all(x, s.u, s.k[at]);
        products_commit();
        products_wait<1>();
        put_along(s.along, y, j + 1);
        wave_barrier(); /* a warp reads its own rows only */
        products_wait<0>();

        float shrink[2], low[2];
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++) {
            const int row = thread_id() / 32 * 16 + thread_id() % 32 / 4 + 8 * r;
            float high = max[r];
#pragma GCC unroll 32
            for (int i = 0; i < KEYS / 4; i++) {
                const int key = i / 2 * 8 + thread_id() % 4 * 2 + i % 2;
                float *v = &x[i / 2 * 4 + 2 * r + i % 2];
                *v = (*v + s.along[row * LD + (j * KEYS + KEYS - 1 - row + key) % RING]) * LOG2E;
                if (key >= keys)
                    *v = -INF;
                high = max_(high, *v);
            }
            high = row_max(high);
            low[r] = high == -INF ? 0 : high;
            shrink[r] = max[r] == high ? 1 : exp2_(max[r] - high);
            max[r] = high;
            sum[r] *= shrink[r];
        }
#pragma GCC unroll 3
        for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 32
            for (int i = 0; i < 32; i++)
                o[c][i] *= shrink[i / 2 % 2];

        /* the products of some keys run while the next ones' exponentials are made */
        u32x4 weights[KEYS / 16];
        barrier_wait(&s.values, j & 1);
#pragma GCC unroll 4
        for (int part = 0; part < KEYS / 16; part += AT_ONCE) {
#pragma GCC unroll 2
            for (int n = part; n < part + AT_ONCE; n++) {
#pragma GCC unroll 8
                for (int i = 8 * n; i < 8 * n + 8; i++) {
                    x[i] = exp2_(x[i] - low[i / 2 % 2]);
                    sum[i / 2 % 2] += x[i];
                }
#pragma GCC unroll 4
                for (int i = 0; i < 4; i++)
                    weights[n][i] = two_f16(x[8 * n + 2 * i], x[8 * n + 2 * i + 1]);
            }
            products_begin();
#pragma GCC unroll 2
            for (int n = part; n < part + AT_ONCE; n++)
#pragma GCC unroll 3
                for (int c = 0; c < PARTS; c++)
                    product_t(o[c], weights[n], descriptor(s.v[c]) + n * 128);
            products_commit();
        }
        products_wait<0>();
    }

#pragma GCC unroll 2
    for (int r = 0; r < 2; r++) {
        const int t = thread_id(), row = first + t / 32 * 16 + t % 32 / 4 + 8 * r;
        const float rest = 1.0f / row_sum(sum[r]);
        u32 *to = (u32 *)((f16 *)p.y + ((int64_t)window * p.n_queries + row) * p.ldy + vc + t % 4 * 2);
        if (row >= p.n_queries)
            continue;
#pragma GCC unroll 3
        for (int c = 0; c < PARTS; c++)
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++)
                to[c * 32 + j * 4] = two_f16(o[c][4 * j + 2 * r] * rest,
                                             o[c][4 * j + 2 * r + 1] * rest);
    }
}

KERNEL_EARLY(rel_attention_sm90_f16, struct bi_rel_attention_sm90_params, 128, 2)
{
    attention(p.rel_attention, MAPS(rel_attention_sm90_f16));
}
