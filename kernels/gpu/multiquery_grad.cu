/* multiquery_grad.cu - derivatives of attention of which all heads share keys and values, see
 * multiquery_grad.h.
 *
 * A block of 128 threads is one query of a head, one key, or the queries of a place of the bias.
 * Partners are taken 128 at a time, one to a thread for logits; then each thread adds columns of
 * their rows. Sums of a thread are in the order of partners, sums over threads in that of a tree:
 * no bit depends on other rows. */
#include "lib/gpu.h"

#include "lib/gpu_norm_act.h"
#include "../multiquery_grad.h"

enum { MG_THREADS = 128, MG_COLUMNS = BI_MULTIQUERY_VALUE / MG_THREADS };

struct mg_tiles {
    float own[BI_MULTIQUERY_KEY_GPU]; /* the query or the key, rotated */
    float value[BI_MULTIQUERY_VALUE]; /* dy of the query, or v of the key */
    float t[MG_THREADS], p[MG_THREADS];
};

DEV float mg_sum(mg_tiles &s, float x)
{
    barrier();
    s.t[thread_id()] = x;
    barrier();
#pragma GCC unroll 1
    for (int half = MG_THREADS / 2; half; half /= 2) {
        if (thread_id() < half)
            s.t[thread_id()] += s.t[thread_id() + half];
        barrier();
    }
    return s.t[0];
}

DEV float mg_max(mg_tiles &s, float x)
{
    barrier();
    s.t[thread_id()] = x;
    barrier();
#pragma GCC unroll 1
    for (int half = MG_THREADS / 2; half; half /= 2) {
        if (thread_id() < half)
            s.t[thread_id()] = max_(s.t[thread_id()], s.t[thread_id() + half]);
        barrier();
    }
    return s.t[0];
}

DEV float mg_dot(const float *a, const float *b, int n)
{
    float sum = 0;
#pragma GCC unroll 1
    for (int c = 0; c < n; c++)
        sum = fma_(a[c], b[c], sum);
    return sum;
}

/* Number c of a row of d numbers, rotated by a row of the table, or as it is without one; back: by
 * the transposed rotation. */
DEV float mg_rotated(const float *x, const float *turn, int d, int c, bool back)
{
    if (!turn)
        return x[c];
    const int half = d / 2;
    const float other = (c < half) != back ? -x[c < half ? c + half : c - half]
                                           : x[c < half ? c + half : c - half];
    return fma_(other, turn[half + c % half], x[c] * turn[c % half]);
}

DEV const float *mg_turn(const struct bi_multiquery_params &p, int place)
{
    return p.table ? p.table + (int64_t)place * p.d : nullptr;
}

/* The logit of a query and a key of a run, both places in it. own: one of them, rotated; x: the
 * other, as it is, at `place`. *slope: that of the cap. */
DEV float mg_logit(const struct bi_multiquery_params &p, const float *own, const float *x,
                   int place, int64_t run, int query, int key, int head, float *slope)
{
    const int64_t side = p.n / p.pool;
    const float *turn = mg_turn(p, place);
    float z = 0;
#pragma GCC unroll 1
    for (int c = 0; c < p.d; c++)
        z = fma_(own[c], mg_rotated(x, turn, p.d, c, false), z);
    z *= p.scale;
    if (p.bias)
        z += p.bias[((run * side + query / p.pool) * side + key / p.pool) * p.ldb + head];
    *slope = 1;
    if (p.cap > 0) {
        const float bent = tanh_(z / p.cap);
        *slope = fma_(-bent, bent, 1);
        z = p.cap * bent;
    }
    return z;
}

KERNEL(multiquery_grad_f32, struct bi_multiquery_grad_params, MG_THREADS, 4)
{
    SHARED(mg_tiles, s, sizeof(mg_tiles));
    const struct bi_multiquery_params &o = p.of;
    const int h = block_y(), i = block_x() % o.n, d = o.d, e = o.e;
    const int64_t run = block_x() / o.n, row = block_x();
    const float *q = o.q + row * o.ldq + (int64_t)h * d, *k = o.k + run * o.n * o.ldk;
    const float *dy = p.dy + row * p.lddy + (int64_t)h * e, *v = o.v + run * o.n * o.ldv;
    float most = -INF, total = 0, mean = 0, dq = 0, slope;
    if (thread_id() < d)
        s.own[thread_id()] = mg_rotated(q, mg_turn(o, i), d, thread_id(), false);
    for (int c = thread_id(); c < e; c += MG_THREADS)
        s.value[c] = dy[c];
    barrier();
    for (int j = thread_id(); j < o.n; j += MG_THREADS)
        most = max_(most, mg_logit(o, s.own, k + j * o.ldk, j, run, i, j, h, &slope));
    most = mg_max(s, most);
    for (int j = thread_id(); j < o.n; j += MG_THREADS) {
        const float z = mg_logit(o, s.own, k + j * o.ldk, j, run, i, j, h, &slope);
        const float weight = exp_(z - most);
        total += weight;
        mean = fma_(weight, mg_dot(s.value, v + j * o.ldv, e), mean);
    }
    total = 1 / mg_sum(s, total);
    mean = mg_sum(s, mean) * total;
    for (int first = 0; first < o.n; first += MG_THREADS) {
        const int j = first + thread_id(), n = o.n - first < MG_THREADS ? o.n - first : MG_THREADS;
        barrier();
        if (j < o.n) {
            const float z = mg_logit(o, s.own, k + j * o.ldk, j, run, i, j, h, &slope);
            s.t[thread_id()] = exp_(z - most) * total * (mg_dot(s.value, v + j * o.ldv, e) - mean) *
                               slope;
        }
        barrier();
        if (thread_id() < d)
            for (int at = 0; at < n; at++)
                dq = fma_(s.t[at],
                          mg_rotated(k + (first + at) * o.ldk, mg_turn(o, first + at), d,
                                     thread_id(), false),
                          dq);
    }
    barrier();
    if (thread_id() < d)
        s.own[thread_id()] = dq * o.scale;
    barrier();
    if (thread_id() < d)
        p.dq[row * p.lddq + (int64_t)h * d + thread_id()] = mg_rotated(s.own, mg_turn(o, i), d,
                                                                       thread_id(), true);
    if (thread_id() == 0) {
        p.sums[row * p.lds + 3 * h] = most;
        p.sums[row * p.lds + 3 * h + 1] = total;
        p.sums[row * p.lds + 3 * h + 2] = mean;
    }
}

/* Adds what queries of a head give to the sums of this thread for a key. */
DEV void mg_add_head(const struct bi_multiquery_grad_params &p, mg_tiles &s, int64_t run, int key,
                     int h, float *dk, float dv[MG_COLUMNS])
{
    const struct bi_multiquery_params &o = p.of;
    const float *q = o.q + run * o.n * o.ldq + (int64_t)h * o.d;
    const float *dy = p.dy + run * o.n * p.lddy + (int64_t)h * o.e;
    const float *sums = p.sums + run * o.n * p.lds + 3 * h;
    for (int first = 0; first < o.n; first += MG_THREADS) {
        const int i = first + thread_id(), n = o.n - first < MG_THREADS ? o.n - first : MG_THREADS;
        barrier();
        if (i < o.n) {
            float slope;
            const float z = mg_logit(o, s.own, q + i * o.ldq, i, run, i, key, h, &slope);
            const float *of = sums + i * p.lds, weight = exp_(z - of[0]) * of[1];
            s.p[thread_id()] = weight;
            s.t[thread_id()] = weight * (mg_dot(s.value, dy + i * p.lddy, o.e) - of[2]) * slope;
        }
        barrier();
        if (thread_id() < o.d)
            for (int at = 0; at < n; at++)
                *dk = fma_(s.t[at],
                           mg_rotated(q + (first + at) * o.ldq, mg_turn(o, first + at), o.d,
                                      thread_id(), false),
                           *dk);
#pragma GCC unroll 2
        for (int c = 0; c < MG_COLUMNS; c++)
            for (int at = 0; at < n && thread_id() + c * MG_THREADS < o.e; at++)
                dv[c] = fma_(s.p[at], dy[(first + at) * p.lddy + thread_id() + c * MG_THREADS],
                             dv[c]);
    }
}

KERNEL(multiquery_grad_keys_f32, struct bi_multiquery_grad_params, MG_THREADS, 4)
{
    SHARED(mg_tiles, s, sizeof(mg_tiles));
    const struct bi_multiquery_params &o = p.of;
    const int j = anew(block_x() % o.n); /* CDNA has too few scalar registers for all places */
    const int64_t run = anew(block_x() / o.n), row = anew(block_x());
    float dk = 0, dv[MG_COLUMNS];
#pragma GCC unroll 2
    for (int c = 0; c < MG_COLUMNS; c++)
        dv[c] = 0;
    if (thread_id() < o.d)
        s.own[thread_id()] = mg_rotated(o.k + row * o.ldk, mg_turn(o, j), o.d, thread_id(), false);
    for (int c = thread_id(); c < o.e; c += MG_THREADS)
        s.value[c] = o.v[row * o.ldv + c];
#pragma GCC unroll 1
    for (int h = 0; h < o.n_heads; h++)
        mg_add_head(p, s, run, j, anew(h), &dk, dv);
    barrier();
    if (thread_id() < o.d)
        s.own[thread_id()] = dk * o.scale;
    barrier();
    if (thread_id() < o.d)
        p.dk[row * p.lddk + thread_id()] = mg_rotated(s.own, mg_turn(o, j), o.d, thread_id(), true);
#pragma GCC unroll 2
    for (int c = 0; c < MG_COLUMNS; c++)
        if (thread_id() + c * MG_THREADS < o.e)
            p.dv[row * p.lddv + thread_id() + c * MG_THREADS] = dv[c];
}

KERNEL(multiquery_grad_bias_f32, struct bi_multiquery_grad_params, MG_THREADS, 4)
{
    SHARED(mg_tiles, s, sizeof(mg_tiles));
    const struct bi_multiquery_params &o = p.of;
    const int side = o.n / o.pool, h = anew(block_y()), place = anew(block_x() % side);
    const int d = o.d, e = o.e;
    const int64_t run = anew(block_x() / side);
    const int places = MG_THREADS / o.pool, chunk = places * o.pool; /* keys at a time */
    const float *k = o.k + run * o.n * o.ldk, *v = o.v + run * o.n * o.ldv;
    for (int first = 0; first < o.n; first += chunk) {
        const int j = first + thread_id();
        const bool there = thread_id() < chunk && j < o.n;
        float sum = 0;
#pragma GCC unroll 1
        for (int i = place * o.pool; i < (place + 1) * o.pool; i++) {
            const int64_t row = run * o.n + i;
            const float *q = o.q + row * o.ldq + (int64_t)h * d, *of = p.sums + row * p.lds + 3 * h;
            barrier();
            if (thread_id() < d)
                s.own[thread_id()] = mg_rotated(q, mg_turn(o, i), d, thread_id(), false);
            for (int c = thread_id(); c < e; c += MG_THREADS)
                s.value[c] = p.dy[row * p.lddy + (int64_t)h * e + c];
            barrier();
            if (there) {
                float slope;
                const float z = mg_logit(o, s.own, k + j * o.ldk, j, run, i, j, h, &slope);
                sum = fma_(exp_(z - of[0]) * of[1] * slope,
                           mg_dot(s.value, v + j * o.ldv, e) - of[2], sum);
            }
        }
        barrier();
        s.t[thread_id()] = sum;
        barrier();
        if (thread_id() < places && first + thread_id() * o.pool < o.n) {
            const int64_t pair = (run * side + place) * side + first / o.pool + thread_id();
            float all = 0;
            for (int c = 0; c < o.pool; c++)
                all += s.t[thread_id() * o.pool + c];
            p.dbias[pair * p.lddb + h] = all;
        }
    }
}
