/* rel_attention_grad.cu - derivatives of attention with relative positions, see
 * rel_attention_grad.h.
 *
 * A block of 128 threads is one query, or one key, of a head. Partners are taken 128 at a time, one
 * to a thread for logits; then each thread adds columns of their rows. Sums of a thread are in the
 * order of partners, sums over threads in that of a tree: no bit depends on other rows. */
#include "lib/gpu.h"

#include "lib/gpu_math.h"
#include "../rel_attention_grad.h"

enum { RG_THREADS = 128, RG_COLUMNS = BI_REL_GRAD_VALUE / RG_THREADS };

struct rg_tiles {
    float own[2 * BI_REL_GRAD_KEY]; /* a query: scale q + u, scale q + w; or a key: k */
    float value[BI_REL_GRAD_VALUE]; /* dy of the query, or v of the key */
    float t[RG_THREADS], p[RG_THREADS];
};

DEV float rg_sum(rg_tiles &s, float x)
{
    barrier();
    s.t[thread_id()] = x;
    barrier();
#pragma GCC unroll 1
    for (int half = RG_THREADS / 2; half; half /= 2) {
        if (thread_id() < half)
            s.t[thread_id()] += s.t[thread_id() + half];
        barrier();
    }
    return s.t[0];
}

DEV float rg_max(rg_tiles &s, float x)
{
    barrier();
    s.t[thread_id()] = x;
    barrier();
#pragma GCC unroll 1
    for (int half = RG_THREADS / 2; half; half /= 2) {
        if (thread_id() < half)
            s.t[thread_id()] = max_(s.t[thread_id()], s.t[thread_id() + half]);
        barrier();
    }
    return s.t[0];
}

DEV float rg_dot(const float *a, const float *b, int n)
{
    float sum = 0;
#pragma GCC unroll 1
    for (int c = 0; c < n; c++)
        sum = fma_(a[c], b[c], sum);
    return sum;
}

KERNEL(rel_attention_grad_f32, struct bi_rel_attention_grad_params, RG_THREADS, 4)
{
    SHARED(rg_tiles, s, sizeof(rg_tiles));
    const int h = block_y(), i = block_x() % p.n_queries, d = p.key_dim, e = p.value_dim;
    const int64_t window = block_x() / p.n_queries, row = block_x();
    const float *q = p.q + row * p.ldq + h * d, *dy = p.dy + row * p.lddy + h * e;
    const float *k = p.k + window * p.n * p.ldk + h * d, *v = p.v + window * p.n * p.ldv + h * e;
    const float *r = p.r + (int64_t)(p.n - 1 - (p.first + i)) * p.ldr + h * d;
    float most = -INF, total = 0, mean = 0, dq = 0;
    for (int c = thread_id(); c < d; c += RG_THREADS) {
        s.own[c] = fma_(q[c], p.scale, p.u[h * d + c]);
        s.own[BI_REL_GRAD_KEY + c] = fma_(q[c], p.scale, p.w[h * d + c]);
    }
    for (int c = thread_id(); c < e; c += RG_THREADS)
        s.value[c] = dy[c];
    barrier();
    auto logit = [&](int j) {
        return rg_dot(s.own, k + j * p.ldk, d) + rg_dot(s.own + BI_REL_GRAD_KEY, r + j * p.ldr, d);
    };
    for (int j = thread_id(); j < p.n; j += RG_THREADS)
        most = max_(most, logit(j));
    most = rg_max(s, most);
    for (int j = thread_id(); j < p.n; j += RG_THREADS) {
        const float weight = exp_(logit(j) - most);
        total += weight;
        mean = fma_(weight, rg_dot(s.value, v + j * p.ldv, e), mean);
    }
    total = 1 / rg_sum(s, total);
    mean = rg_sum(s, mean) * total;
    for (int first = 0; first < p.n; first += RG_THREADS) {
        const int j = first + thread_id(), n = p.n - first < RG_THREADS ? p.n - first : RG_THREADS;
        barrier();
        if (j < p.n)
            s.t[thread_id()] = exp_(logit(j) - most) * total *
                               (rg_dot(s.value, v + j * p.ldv, e) - mean);
        barrier();
        if (thread_id() < d)
            for (int at = 0; at < n; at++)
                dq = fma_(s.t[at],
                          k[(first + at) * p.ldk + thread_id()] +
                              r[(first + at) * p.ldr + thread_id()],
                          dq);
    }
    if (thread_id() < d)
        p.dq[row * p.lddq + h * d + thread_id()] = dq * p.scale;
    if (thread_id() == 0) {
        p.sums[row * p.lds + 3 * h] = most;
        p.sums[row * p.lds + 3 * h + 1] = total;
        p.sums[row * p.lds + 3 * h + 2] = mean;
    }
}

KERNEL(rel_attention_grad_keys_f32, struct bi_rel_attention_grad_keys_params, RG_THREADS, 4)
{
    SHARED(rg_tiles, s, sizeof(rg_tiles));
    const int h = block_y(), j = block_x() % p.n, d = p.key_dim, e = p.value_dim;
    const int64_t window = block_x() / p.n, row = block_x(), queries = window * p.n_queries;
    const float *q = p.q + queries * p.ldq + h * d, *dy = p.dy + queries * p.lddy + h * e;
    const float *u = p.u + h * d, *w = p.w + h * d, *sums = p.sums + queries * p.lds + 3 * h;
    float dk = 0, dv[RG_COLUMNS];
#pragma GCC unroll 2
    for (int c = 0; c < RG_COLUMNS; c++)
        dv[c] = 0;
    for (int c = thread_id(); c < d; c += RG_THREADS)
        s.own[c] = p.k[row * p.ldk + h * d + c];
    for (int c = thread_id(); c < e; c += RG_THREADS)
        s.value[c] = p.v[row * p.ldv + h * e + c];
    for (int first = 0; first < p.n_queries; first += RG_THREADS) {
        const int i = first + thread_id();
        const int n = p.n_queries - first < RG_THREADS ? p.n_queries - first : RG_THREADS;
        barrier();
        if (i < p.n_queries) {
            const float *r = p.r + (int64_t)(p.n - 1 - (p.first + i) + j) * p.ldr + h * d;
            const float *of = sums + i * p.lds;
            float by_key = 0, by_place = 0;
#pragma GCC unroll 1
            for (int c = 0; c < d; c++) {
                const float x = q[i * p.ldq + c];
                by_key = fma_(fma_(x, p.scale, u[c]), s.own[c], by_key);
                by_place = fma_(fma_(x, p.scale, w[c]), r[c], by_place);
            }
            const float weight = exp_(by_key + by_place - of[0]) * of[1];
            s.p[thread_id()] = weight;
            s.t[thread_id()] = weight * (rg_dot(s.value, dy + i * p.lddy, e) - of[2]);
        }
        barrier();
        if (thread_id() < d)
            for (int at = 0; at < n; at++)
                dk = fma_(s.t[at],
                          fma_(q[(first + at) * p.ldq + thread_id()], p.scale, u[thread_id()]), dk);
#pragma GCC unroll 2
        for (int c = 0; c < RG_COLUMNS; c++)
            for (int at = 0; at < n && thread_id() + c * RG_THREADS < e; at++)
                dv[c] = fma_(s.p[at], dy[(first + at) * p.lddy + thread_id() + c * RG_THREADS],
                             dv[c]);
    }
    if (thread_id() < d)
        p.dk[row * p.lddk + h * d + thread_id()] = dk;
#pragma GCC unroll 2
    for (int c = 0; c < RG_COLUMNS; c++)
        if (thread_id() + c * RG_THREADS < e)
            p.dv[row * p.lddv + h * e + thread_id() + c * RG_THREADS] = dv[c];
}
