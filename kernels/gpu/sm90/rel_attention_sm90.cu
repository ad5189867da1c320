/* rel_attention_sm90.cu - attention with relative positions (rel_attention.h) on Hopper, f16.
 *
 * A block stays on its multiprocessor and goes through tiles of 128 queries of one head. A thread
 * of its last warpgroup asks the copy engine for keys, values and rows of r, 64 at a time. The
 * other two warpgroups multiply, 64 queries each, whose operands with either bias stay in
 * registers.
 *
 * Query i of a warpgroup and key j meet in column 63 - i + j of W R^T, R the rows of r from n - 1 -
 * (its last query) on. So a step of 64 keys needs 64 new columns beside those of the step before.
 * Products go to a ring of 128 keys in shared memory, each where its query reads it; a warp reads
 * its own rows only. The second warpgroup meets every row of r one step after the first.
 *
 * A step makes columns and the scores of its keys; beside its exponentials run the products of the
 * weights of the step before with their values.
 *
 * Which query a row of the matrix unit is (`query_of`), and the order of 8 keys in the ring, are
 * such that the rows of a warp write and read different banks.
 *
 * Key tiles count from the first and a row does not depend on the others of its block. The copy
 * engine gives zeros for rows off a tensor; keys there count as -inf. Key width 64, value width
 * 192. Of several windows each has a multiple of 64 keys. */
#include "../lib/gpu_math.h"
#include "sm90.h"

#include "rel_attention_sm90.h"

enum {
    GROUPS = 2,
    ROWS = 64,
    TILE = GROUPS * ROWS,
    KEYS = 64,
    D = 64,
    WIDE = 192,
    RING = 2 * KEYS,
    K_STAGES = 2,
    V_STAGES = 3,
    R_STAGES = 4,
    LEAD = 2,             /* boxes of r before the one with the first keys */
    PITCH = WIDE * 2 + 16 /* bytes of a row on its way out: other banks than the next */
};

/* In the order of the tensor maps. */
enum { MAP_K, MAP_V, MAP_R, MAP_Q };

template <int n> struct signals {
    u64 full[n], empty[n];
};

struct tiles {
    f16 k[K_STAGES][KEYS * D], v[V_STAGES][KEYS * WIDE], r[R_STAGES][KEYS * D];
    float along[GROUPS][ROWS * RING];
    f16 q[TILE * D];
    float u[D], w[D];
    signals<1> queries;
    signals<K_STAGES> keys;
    signals<V_STAGES> values;
    signals<R_STAGES> relative;
};

/* Copies to, or uses of, n buffers: how many there were. */
template <int n> struct turn {
    u32 count;
    METHOD int at() const
    {
        return count % n;
    }
    METHOD u32 phase() const
    {
        return count / n & 1;
    }
};

/* A tile of queries, of all heads and windows. */
struct place {
    int first, head, window;
    METHOD place(const struct bi_rel_attention_params &p, int tile)
    {
        const int across = (p.n_queries + TILE - 1) / TILE;
        first = tile % across * TILE;
        head = tile / across % p.n_heads;
        window = tile / across / p.n_heads;
    }
};

DEV int count_tiles(const struct bi_rel_attention_params &p)
{
    return (p.n_queries + TILE - 1) / TILE * p.n_heads * p.n_windows;
}

DEV u32 two_f16(float a, float b)
{
    return bits<u32>(f16x2{(f16)a, (f16)b});
}

/* Waits until a buffer is used up, and expects `bytes`. */
template <int n> DEV int next_copy(signals<n> &s, turn<n> &t, int bytes)
{
    const int at = t.at();
    barrier_wait(&s.empty[at], t.phase() ^ 1);
    barrier_expect(&s.full[at], bytes);
    t.count++;
    return at;
}

DEV void fill(const struct bi_rel_attention_params &p, const tensor_map *maps, tiles &s)
{
    const int boxes = (p.n + KEYS - 1) / KEYS + LEAD, tiles = count_tiles(p);
    turn<K_STAGES> k = {0};
    turn<V_STAGES> v = {0};
    turn<R_STAGES> r = {0};
    turn<1> q = {0};
    for (int tile = block_x(); tile < tiles; tile += blocks_x()) {
        const place here(p, tile);
        next_copy(s.queries, q, TILE * D * 2 + 2 * D * 4);
        for (int g = 0; g < GROUPS; g++)
            copy_tile(s.q + g * ROWS * D, &maps[MAP_Q], here.head * D,
                      here.window * p.n_queries + here.first + g * ROWS, &s.queries.full[0]);
        copy_in(s.u, p.u + here.head * D, D * 4, &s.queries.full[0]);
        copy_in(s.w, p.w + here.head * D, D * 4, &s.queries.full[0]);
        const int band = p.n - 1 - (p.first + here.first + TILE - 1);
        for (int j = 0; j < boxes; j++) {
            int at = next_copy(s.relative, r, KEYS * D * 2);
            copy_tile(s.r[at], &maps[MAP_R], here.head * D, band + j * KEYS, &s.relative.full[at]);
            if (j < LEAD)
                continue;
            const int key = here.window * p.n + (j - LEAD) * KEYS;
            at = next_copy(s.keys, k, KEYS * D * 2);
            copy_tile(s.k[at], &maps[MAP_K], here.head * D, key, &s.keys.full[at]);
            at = next_copy(s.values, v, KEYS * WIDE * 2);
            for (int c = 0; c < WIDE; c += 64)
                copy_tile(s.v[at] + c * KEYS, &maps[MAP_V], here.head * WIDE + c, key,
                          &s.values.full[at]);
        }
    }
}

/* Which of its warpgroup's queries is the first of a thread's two rows; the other is 8 on. */
DEV int query_of(int thread)
{
    return thread % 32 / 4 % 4 * 16 + thread / 32 * 2 + thread % 32 / 16;
}

/* The thread's share of its warpgroup's queries with either bias, in units of log 2, as the matrix
 * unit takes them. */
DEV void read_queries(const tiles &s, int group, float scale, u32x4 (&qu)[D / 16],
                      u32x4 (&qw)[D / 16])
{
    const int thread = anew(thread_id() % 128), row = group * ROWS + query_of(thread);
    const int n0 = thread % 4 * 2;
#pragma GCC unroll 8
    for (int i = 0; i < D / 8; i++) {
        const f32x2 u = *(const f32x2 *)(s.u + i * 8 + n0) * LOG2E;
        const f32x2 w = *(const f32x2 *)(s.w + i * 8 + n0) * LOG2E;
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++) { /* chunks of 8 as the copy engine permutes them */
            const f16x2 q = *(const f16x2 *)(s.q + (row + 8 * r) * D + (i ^ row % 8) * 8 + n0);
            const float q0 = (float)q[0] * scale, q1 = (float)q[1] * scale;
            qu[i / 2][i % 2 * 2 + r] = two_f16(q0 + u[0], q1 + u[1]);
            qw[i / 2][i % 2 * 2 + r] = two_f16(q0 + w[0], q1 + w[1]);
        }
    }
}

/* Where a thread writes and reads in the rings, in bytes: a row of them begins at a multiple of
 * 512. */
struct along {
    u32 row; /* the first row; the other is 8 rows on. Bits 5 and 6 permute chunks of 8 keys */
    u32 key; /* where its first number of the step's keys lies */
    /* the key to which its products of column 0 and 1 go, multiples of the ring too much */
    u32 to[2];
};

DEV void put_along(tiles &s, along &at, const float (&d)[KEYS / 2])
{
#pragma GCC unroll 9
    for (int m = 0; m <= KEYS / 8; m++)
#pragma GCC unroll 2
        for (int e = 0; e < 2; e++) {
            float *to = (float *)((char *)s.along +
                                  (((at.to[e] + m * 32) & (RING * 4 - 1)) ^ at.row));
            if (m < KEYS / 8)
                to[0] = d[4 * m + e];
            if (m > 0)
                to[8 * RING] = d[4 * (m - 1) + 2 + e];
        }
    at.to[0] += KEYS * 4;
    at.to[1] += KEYS * 4;
}

DEV void add_along(const tiles &s, along &at, float (&x)[KEYS / 2])
{
#pragma GCC unroll 8
    for (int j = 0; j < KEYS / 8; j++)
#pragma GCC unroll 2
        for (int r = 0; r < 2; r++) {
            const f32x2 v = *(const f32x2 *)((const char *)s.along +
                                             ((at.row ^ at.key) ^ j % 4 * 32) + j / 4 * 128 +
                                             r * 8 * RING * 4);
            x[4 * j + 2 * r] += v[0];
            x[4 * j + 2 * r + 1] += v[1];
        }
    at.key ^= KEYS * 4;
}

/* A row's scores count from `top`, at most 8 below the largest so far: within that, weights lose
 * nothing, and the rows made so far can stay as they are. */
DEV bool raise(float (&x)[KEYS / 2], int keys, float (&top)[2], float (&sum)[2], float (&shrink)[2])
{
    if (keys < KEYS) {
        const int own = keys - thread_id() % 4 * 2;
#pragma GCC unroll 32
        for (int i = 0; i < KEYS / 2; i++)
            if (i / 4 * 8 + i % 2 >= own)
                x[i] = -INF;
    }
#pragma GCC unroll 2
    for (int r = 0; r < 2; r++) {
        float high = x[2 * r];
#pragma GCC unroll 16
        for (int i = 1; i < KEYS / 4; i++)
            high = max_(high, x[i / 2 * 4 + 2 * r + i % 2]);
        high = row_max(high);
        const bool more = high > top[r] + 8;
        shrink[r] = more ? exp2_(top[r] - high) : 1;
        top[r] = more ? high : top[r];
        sum[r] *= shrink[r];
    }
    return any_lane(shrink[0] != 1 || shrink[1] != 1);
}

DEV void weigh(float (&x)[KEYS / 2], const float (&top)[2], float (&sum)[2])
{
#pragma GCC unroll 32
    for (int i = 0; i < KEYS / 2; i++) {
        x[i] = exp2_(x[i] - top[i / 2 % 2]);
        sum[i / 2 % 2] += x[i];
    }
}

/* The compiler is not to move what makes d behind the wait for products that run beside. */
DEV void computed(float (&d)[KEYS / 2])
{
    asm volatile("" : BI_D32);
}

DEV void round_all(u32x4 (&weights)[KEYS / 16], const float (&x)[KEYS / 2])
{
#pragma GCC unroll 16
    for (int i = 0; i < KEYS / 4; i++)
        weights[i / 4][i % 4] = two_f16(x[2 * i], x[2 * i + 1]);
}

DEV void multiply_all(float (&d)[KEYS / 2], const u32x4 (&q)[D / 16], const f16 *k)
{
#pragma GCC unroll 4
    for (int i = 0; i < D / 16; i++)
        product(d, q[i], descriptor(k) + i * 2, i > 0);
    products_commit();
}

DEV void multiply_values(float (&o)[WIDE / 2], const u32x4 (&weights)[KEYS / 16], const f16 *v)
{
#pragma GCC unroll 4
    for (int n = 0; n < KEYS / 16; n++)
        product_t(o, weights[n], descriptor<128, KEYS * 128>(v) + n * 128);
    products_commit();
}

template <int n> DEV void wait(signals<n> &s, const turn<n> &t)
{
    barrier_wait(&s.full[t.at()], t.phase());
}

template <int n> DEV void used(signals<n> &s, turn<n> &t)
{
    if (lane_id() == 0)
        barrier_arrive(&s.empty[t.at()]);
    t.count++;
}

template <int n> DEV int is_full(signals<n> &s, const turn<n> &t)
{
    return barrier_is_over(&s.full[t.at()], t.phase());
}

/* Rows of o to y, by way of the warp's rings, for whole lines of memory. */
DEV void put_rows(const struct bi_rel_attention_params &p, const place &here, int group, tiles &s,
                  const float (&o)[WIDE / 2], const float (&sum)[2])
{
    enum { CHUNKS = WIDE / 8 }; /* 16 bytes each, a lane each */
    const int thread = anew(thread_id() % 128), lane = thread % 32;
    char *rows = (char *)(s.along[group] + thread / 32 * 16 * RING);
#pragma GCC unroll 2
    for (int r = 0; r < 2; r++) {
        const float rest = reciprocal(row_sum(sum[r]));
#pragma GCC unroll 24
        for (int j = 0; j < WIDE / 8; j++)
            *(u32 *)(rows + (lane / 4 + 8 * r) * PITCH + j * 16 +
                     lane % 4 * 4) = two_f16(o[4 * j + 2 * r] * rest, o[4 * j + 2 * r + 1] * rest);
    }
    wave_barrier();
    const int at = here.first + group * ROWS + query_of(thread / 32 * 32);
    f16 *y = (f16 *)p.y + ((int64_t)here.window * p.n_queries + at) * p.ldy + here.head * WIDE;
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++) {
        const int query = query_of(i % 8 * 4) + i / 8 * 8;
        if (lane < CHUNKS && at + query < p.n_queries)
            *(u32x4 *)(y + query * p.ldy + lane * 8) = *(const u32x4 *)(rows + i * PITCH +
                                                                        lane * 16);
    }
}

DEV void clear(float (&o)[WIDE / 2])
{
#pragma GCC unroll 96
    for (int i = 0; i < WIDE / 2; i++)
        o[i] = 0;
}

DEV void shrink_all(float (&o)[WIDE / 2], const float (&shrink)[2])
{
#pragma GCC unroll 96
    for (int i = 0; i < WIDE / 2; i++)
        o[i] *= shrink[i / 2 % 2];
}

DEV void attend(const struct bi_rel_attention_params &p, tiles &s, int group)
{
    const int thread = thread_id() % 128, n0 = thread % 4 * 2, tiles = count_tiles(p);
    turn<K_STAGES> k = {0};
    turn<V_STAGES> v = {0};
    turn<R_STAGES> b = {0};
    turn<1> q = {0};
    for (int tile = block_x(); tile < tiles; tile += blocks_x()) {
        const place here(p, tile);
        u32x4 qu[D / 16], qw[D / 16], weights[KEYS / 16];
        float o[WIDE / 2], x[KEYS / 2], y[KEYS / 2], next[KEYS / 2];
        float top[2] = {-1e30f, -1e30f}, sum[2] = {0, 0}, shrink[2];
        const u32 to = (KEYS + query_of(thread) + n0 + 1) * 4;
        const u32 line = group * ROWS + thread / 32 * 16 + thread % 32 / 4;
        along at = {line * RING * 4 | thread / 4 % 4 * 32, n0 * 4u, {to, to + 4}};
        wait(s.queries, q);
        read_queries(s, group, p.scale * LOG2E, qu, qw);
        wave_barrier();
        used(s.queries, q);

        if (group == 0) { /* the other one's first */
            wait(s.relative, b);
            used(s.relative, b);
        }
        const turn<R_STAGES> second = {b.count + 1};
        wait(s.relative, b);
        wait(s.relative, second);
        wait(s.keys, k);
        products_begin();
        multiply_all(y, qw, s.r[b.at()]);
        multiply_all(next, qw, s.r[second.at()]);
        multiply_all(x, qu, s.k[k.at()]);
        products_wait<2>();
        used(s.relative, b);
        put_along(s, at, y);
        products_wait<1>();
        used(s.relative, b);
        wave_barrier();
        put_along(s, at, next);
        products_wait<0>();
        used(s.keys, k);
        wave_barrier();
        add_along(s, at, x);
        raise(x, p.n, top, sum, shrink);
        weigh(x, top, sum);
        round_all(weights, x);
        wait(s.values, v);
        if (p.n > KEYS) {
            wait(s.keys, k);
            wait(s.relative, b);
        }
        clear(o);

        /* step by step; what it needs is there */
        for (int keys = p.n - KEYS; keys > 0; keys -= KEYS) {
            products_begin();
            multiply_all(y, qw, s.r[b.at()]);
            multiply_all(x, qu, s.k[k.at()]);
            multiply_values(o, weights, s.v[v.at()]);
            products_wait<2>();
            used(s.relative, b);
            put_along(s, at, y);
            wave_barrier();
            products_wait<1>();
            used(s.keys, k);
            add_along(s, at, x);
            /* asked here, the answer is there in time */
            const turn<V_STAGES> v1 = {v.count + 1};
            const bool last = keys <= KEYS;
            const int there = is_full(s.values, v1) &
                              (last | (is_full(s.keys, k) & is_full(s.relative, b)));
            const bool raised = raise(x, keys, top, sum, shrink);
            weigh(x, top, sum);
            computed(x);
            wave_barrier();
            if (!there) {
                wait(s.values, v1);
                if (!last) {
                    wait(s.keys, k);
                    wait(s.relative, b);
                }
            }
            products_wait<0>();
            used(s.values, v);
            if (raised)
                shrink_all(o, shrink);
            round_all(weights, x);
        }
        products_begin();
        multiply_values(o, weights, s.v[v.at()]);
        products_wait<0>();
        used(s.values, v);
        if (group == 1) {
            wait(s.relative, b);
            used(s.relative, b);
        }
        wave_barrier();
        put_rows(p, here, group, s, o, sum);
    }
}

KERNEL_EARLY(rel_attention_sm90_f16, struct bi_rel_attention_sm90_params, 384, 1)
{
    const struct bi_rel_attention_params &a = p.rel_attention;
    const tensor_map *maps = MAPS(rel_attention_sm90_f16);
    SHARED(tiles, s, sizeof(tiles));
    const int warpgroup = shuffle(thread_id() / 128, 0);
    if (thread_id() == 0) {
        barrier_init(&s.queries.full[0], 1);
        barrier_init(&s.queries.empty[0], 4 * GROUPS);
        for (int i = 0; i < K_STAGES; i++) {
            barrier_init(&s.keys.full[i], 1);
            barrier_init(&s.keys.empty[i], 4 * GROUPS);
        }
        for (int i = 0; i < V_STAGES; i++) {
            barrier_init(&s.values.full[i], 1);
            barrier_init(&s.values.empty[i], 4 * GROUPS);
        }
        for (int i = 0; i < R_STAGES; i++) {
            barrier_init(&s.relative.full[i], 1);
            barrier_init(&s.relative.empty[i], 4 * GROUPS);
        }
        barriers_ready();
        for (int i = 0; i < 4; i++)
            map_prefetch(&maps[i]);
    }
    barrier();
    if (warpgroup == GROUPS) {
        registers_down<24>();
        if (thread_id() == GROUPS * 128) {
            wait_for_inputs();
            fill(a, maps, s);
        }
    } else {
        registers_up<240>();
        wait_for_inputs();
        attend(a, s, warpgroup);
    }
}
