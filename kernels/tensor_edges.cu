/* tensor_edges.cu - what atoms gather from their neighbours, and its derivatives: 32 threads to an
 * atom, some channels each at a time. Atoms that share a wave go through as many edges as the one
 * that has most, as their lanes add up together. */
#include "gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "tensor_edges.h"
#pragma clang force_cuda_host_device end

#define SQRT2 1.41421356237309504880f
#define SQRT3 1.73205080756887729353f
#define SIXTH 0.40824829046386301637f

/* The edges of an atom, and how many its wave goes through. */
struct some_edges {
    int64_t atom;
    int first, n, most;
};

DEV int edges_of(const struct bi_edge_list &l, int64_t i)
{
    return i < bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows) ? l.start[i + 1] - l.start[i] : 0;
}

DEV some_edges my_edges(const struct bi_edge_list &l)
{
    const int64_t i = my_row();
    some_edges s = {i, 0, edges_of(l, i), 0};
    s.first = s.n ? l.start[i] : 0;
    s.most = s.n;
    if (WAVE > ROW_LANES) {
        const int other = edges_of(l, i ^ 1);
        s.most = other > s.most ? other : s.most;
    }
    return s;
}

struct edge {
    struct bi_edge_place place;
    float u[3], r;
};

DEV edge edge_at(const struct bi_edge_list &l, int64_t e)
{
    edge d;
    const float *v = l.vector + 3 * e;
    d.r = __builtin_sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
#pragma GCC unroll 3
    for (int k = 0; k < 3; k++)
        d.u[k] = v[k] / d.r;
    d.place = bi_edge_place_of(d.r, l.cutoff, l.knots);
    return d;
}

/* Channels that a thread has at a time: four, and in gradients, which hold more, two. */
template <typename V> struct channels {
    static const int n = sizeof(V) / sizeof(float), step = n * ROW_LANES;
    static METHOD int mine()
    {
        return thread_id() % ROW_LANES * n;
    }
};

/* Channels c ... of a row; zero from `width` on. */
template <typename V> DEV V load(const float *row, int c, int width, bool whole)
{
    const int n = channels<V>::n;
    V v = {};
    if (whole && c + n <= width) {
        v = *(const V *)(row + c);
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
            if (c + i < width)
                v[i] = row[c + i];
    }
    return v;
}

template <typename V> DEV void store(float *row, int c, int width, bool whole, const V &v)
{
    const int n = channels<V>::n;
    if (whole && c + n <= width) {
        *(V *)(row + c) = v;
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < n; i++)
            if (c + i < width)
                row[c + i] = v[i];
    }
}

/* Factor k of the channels, or its derivative. */
template <typename V, bool SLOPE>
DEV V factor(const struct bi_edge_list &l, const edge &d, int k, int c, bool whole)
{
    const int64_t w = l.width;
    const float *at = l.table + d.place.knot * 12 * w + k * w;
    const float *by = SLOPE ? d.place.d : d.place.by;
    V y = load<V>(at + 9 * w, c, l.width, whole) * by[3];
    y += load<V>(at + 6 * w, c, l.width, whole) * by[2];
    y += load<V>(at + 3 * w, c, l.width, whole) * by[1];
    return SLOPE ? y : y + load<V>(at, c, l.width, whole);
}

/* May the rows of the table, and of an atom's numbers, be read some channels at a time? */
DEV bool whole_of(const struct bi_edge_list &l, const float *const x[3], const float *const y[3],
                  const float *const z[3], const float *self)
{
    const u64 all = (u64)l.table | (u64)x[0] | (u64)x[1] | (u64)x[2] | (u64)y[0] | (u64)y[1] |
                    (u64)y[2] | (u64)z[0] | (u64)z[1] | (u64)z[2] | (u64)self;
    return (all | (u64)l.width * sizeof(float)) % 16 == 0;
}

/* Part K of the nine numbers of atom i, 0 where it is left out. */
template <typename V, int K>
DEV void load_part(const float *x, int64_t i, int c, int width, bool whole, V *y)
{
#pragma GCC unroll 5
    for (int j = 0; j < 2 * K + 1; j++)
        y[j] = x ? load<V>(x + (i * (2 * K + 1) + j) * width, c, width, whole) : V{};
}

template <typename V>
DEV void load_atom(const float *const x[3], int64_t i, int c, int width, bool whole, V y[9])
{
    load_part<V, 0>(x[0], i, c, width, whole, y);
    load_part<V, 1>(x[1], i, c, width, whole, y + 1);
    load_part<V, 2>(x[2], i, c, width, whole, y + 4);
}

template <typename V, int K>
DEV void store_part(float *y, int64_t i, int c, int width, bool whole, const V *sum)
{
#pragma GCC unroll 5
    for (int j = 0; j < 2 * K + 1; j++)
        store<V>(y + (i * (2 * K + 1) + j) * width, c, width, whole, sum[j]);
}

template <typename V>
DEV void store_atom(float *const y[3], int64_t i, int c, int width, bool whole, const V sum[9])
{
    store_part<V, 0>(y[0], i, c, width, whole, sum);
    store_part<V, 1>(y[1], i, c, width, whole, sum + 1);
    store_part<V, 2>(y[2], i, c, width, whole, sum + 4);
}

template <typename V> DEV void zero(V sum[9])
{
#pragma GCC unroll 9
    for (int k = 0; k < 9; k++)
        sum[k] = V{};
}

DEV float total(const f32x4 &v)
{
    return (v[0] + v[1]) + (v[2] + v[3]);
}

DEV float total(const f32x2 &v)
{
    return v[0] + v[1];
}

KERNEL(tensor_embed_f32, struct bi_tensor_embed_params, ROW_THREADS, 2)
{
    typedef f32x4 V;
    const struct bi_edge_list &l = p.edges;
    const int64_t i = my_row();
    const int w = l.width;
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    const bool whole = whole_of(l, p.y, p.y, p.y, p.self),
               fine = fours(p.own, w) && fours(p.other, w);
    for (int c = channels<V>::mine(); c < w; c += channels<V>::step) {
        const V own = load<V>(p.own + (int64_t)p.code[i] * w, c, w, fine);
        V sum[9];
        zero(sum);
        if (p.self)
            sum[0] = load<V>(p.self, c, w, whole) * SQRT3 *
                     (own + load<V>(p.other + (int64_t)p.code[i] * w, c, w, fine));
#pragma GCC unroll 1
        for (int e = l.start[i]; e < l.start[i + 1]; e++) {
            const edge d = edge_at(l, e);
            const V z = own + load<V>(p.other + (int64_t)p.code[l.col[e]] * w, c, w, fine);
            const V a = z * factor<V, false>(l, d, 1, c, whole) * SQRT2;
            const V b = z * factor<V, false>(l, d, 2, c, whole);
            float square[5];
            bi_edge_square(d.u, square);
            sum[0] += z * factor<V, false>(l, d, 0, c, whole) * SQRT3;
#pragma GCC unroll 3
            for (int k = 0; k < 3; k++)
                sum[1 + k] += a * d.u[k];
#pragma GCC unroll 5
            for (int k = 0; k < 5; k++)
                sum[4 + k] += b * square[k];
        }
        store_atom(p.y, i, c, w, whole, sum);
    }
}

/* Derivatives by length and direction: sums over channels. */
template <typename V> struct by_edge {
    V r, u[3];
};

template <typename V>
DEV void add_channels(const struct bi_edge_list &l, const edge &d, const V &z, const V g[9], int c,
                      bool whole, by_edge<V> &to)
{
    const V a = z * factor<V, false>(l, d, 1, c, whole) * SQRT2;
    const V b = z * factor<V, false>(l, d, 2, c, whole);
    const V along = (g[1] * d.u[0] + g[2] * d.u[1] + g[3] * d.u[2]) * SQRT2;
    const V sixth = g[8] * (2.0f * SIXTH);
    float square[5];
    bi_edge_square(d.u, square);
    V part = g[4] * square[0] + g[5] * square[1] + g[6] * square[2] + g[7] * square[3] +
             g[8] * square[4];
    part = part * factor<V, true>(l, d, 2, c, whole) + along * factor<V, true>(l, d, 1, c, whole) +
           g[0] * factor<V, true>(l, d, 0, c, whole) * SQRT3;
    to.r += z * part;
    const float x = d.u[0], y = d.u[1], w = d.u[2];
    to.u[0] += a * g[1] + b * ((g[4] * y + g[5] * w + g[7] * x) * SQRT2 - sixth * x);
    to.u[1] += a * g[2] + b * ((g[4] * x + g[6] * w - g[7] * y) * SQRT2 - sixth * y);
    to.u[2] += a * g[3] + b * ((g[5] * x + g[6] * y) * SQRT2 + sixth * (w + w));
}

KERNEL(tensor_embed_grad_f32, struct bi_tensor_embed_params, ROW_THREADS, 1)
{
    typedef f32x2 V;
    const struct bi_edge_list &l = p.edges;
    const some_edges s = my_edges(l);
    const int w = l.width;
    const bool whole = whole_of(l, p.g, p.g, p.g, nullptr),
               fine = fours(p.own, w) && fours(p.other, w);
#pragma GCC unroll 1
    for (int n = 0; n < s.most; n++) {
        const bool in = n < s.n;
        const int64_t e = in ? s.first + n : l.start[0], i = in ? s.atom : 0;
        by_edge<V> by = {};
        const edge d = edge_at(l, e);
        for (int c = channels<V>::mine(); in && c < w; c += channels<V>::step) {
            V g[9];
            load_atom(p.g, i, c, w, whole, g);
            add_channels(l, d,
                         load<V>(p.own + (int64_t)p.code[i] * w, c, w, fine) +
                             load<V>(p.other + (int64_t)p.code[l.col[e]] * w, c, w, fine),
                         g, c, whole, by);
        }
        const float r = lanes_sum(total(by.r));
        const float x = lanes_sum(total(by.u[0])), y = lanes_sum(total(by.u[1]));
        const float z = lanes_sum(total(by.u[2])), along = d.u[0] * x + d.u[1] * y + d.u[2] * z;
        if (in && thread_id() % ROW_LANES == 0) {
            const float of[3] = {x, y, z};
#pragma GCC unroll 3
            for (int k = 0; k < 3; k++)
                p.dvector[3 * e + k] = r * d.u[k] + (of[k] - along * d.u[k]) / d.r;
        }
    }
}

/* Part K of the sums times a factor. */
template <typename V, int K> DEV void scale_part(V *sum, const V &by)
{
#pragma GCC unroll 5
    for (int j = 0; j < 2 * K + 1; j++)
        sum[j] *= by;
}

template <typename V>
DEV void start_sum(const struct bi_tensor_message_params &p, const float *const x[3], int64_t i,
                   int c, bool whole, V sum[9])
{
    const int w = p.edges.width;
    zero(sum);
    if (!p.self)
        return;
    load_atom(x, i, c, w, whole, sum);
    scale_part<V, 0>(sum, load<V>(p.self, c, w, whole));
    scale_part<V, 1>(sum + 1, load<V>(p.self + w, c, w, whole));
    scale_part<V, 2>(sum + 4, load<V>(p.self + 2 * w, c, w, whole));
}

/* Adds part K of a message, and gives its product with the numbers of the atom itself. */
template <typename V, int K> DEV V add_part(V *sum, const V *from, const V &g, const V *own)
{
    V dot = {};
#pragma GCC unroll 5
    for (int j = 0; j < 2 * K + 1; j++) {
        sum[j] += g * from[j];
        if (own)
            dot += own[j] * from[j];
    }
    return dot;
}

KERNEL(tensor_message_f32, struct bi_tensor_message_params, ROW_THREADS, 2)
{
    typedef f32x4 V;
    const struct bi_edge_list &l = p.edges;
    const int64_t i = my_row();
    const int w = l.width;
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    const bool whole = whole_of(l, p.x, p.y, p.y, p.self);
    for (int c = channels<V>::mine(); c < w; c += channels<V>::step) {
        V sum[9];
        start_sum(p, p.x, i, c, whole, sum);
#pragma GCC unroll 1
        for (int e = l.start[i]; e < l.start[i + 1]; e++) {
            const edge d = edge_at(l, e);
            V from[9];
            load_atom(p.x, l.col[e], c, w, whole, from);
            add_part<V, 0>(sum, from, factor<V, false>(l, d, 0, c, whole), nullptr);
            add_part<V, 1>(sum + 1, from + 1, factor<V, false>(l, d, 1, c, whole), nullptr);
            add_part<V, 2>(sum + 4, from + 4, factor<V, false>(l, d, 2, c, whole), nullptr);
        }
        store_atom(p.y, i, c, w, whole, sum);
    }
}

/* One pass over the edges for some channels: the first one sets dvector, the others add to it. */
template <typename V>
DEV void gather_gradient(const struct bi_tensor_message_params &p, const some_edges &s, int c,
                         bool first)
{
    const struct bi_edge_list &l = p.edges;
    const int w = l.width;
    const bool whole = whole_of(l, p.x, p.g, p.y, p.self),
               mine = s.atom < bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows);
    V sum[9], own[9];
    zero(sum);
    zero(own);
    if (mine && c < w) {
        start_sum(p, p.g, s.atom, c, whole, sum);
        load_atom(p.x, s.atom, c, w, whole, own);
    }
#pragma GCC unroll 1
    for (int n = 0; n < s.most; n++) {
        const bool in = n < s.n;
        const int64_t e = in ? s.first + n : l.start[0];
        const edge d = edge_at(l, e);
        V by = {};
        if (in && c < w) {
            V from[9];
            load_atom(p.g, l.col[e], c, w, whole, from);
            by = add_part<V, 0>(sum, from, factor<V, false>(l, d, 0, c, whole), own) *
                 factor<V, true>(l, d, 0, c, whole);
            by += add_part<V, 1>(sum + 1, from + 1, factor<V, false>(l, d, 1, c, whole), own + 1) *
                  factor<V, true>(l, d, 1, c, whole);
            by += add_part<V, 2>(sum + 4, from + 4, factor<V, false>(l, d, 2, c, whole), own + 4) *
                  factor<V, true>(l, d, 2, c, whole);
        }
        const float r = lanes_sum(total(by));
        if (in && thread_id() % ROW_LANES == 0) {
            float *to = p.dvector + 3 * (int64_t)l.reverse[e];
#pragma GCC unroll 3
            for (int k = 0; k < 3; k++)
                to[k] = (first ? 0.0f : to[k]) - r * d.u[k];
        }
    }
    if (mine && c < w)
        store_atom(p.y, s.atom, c, w, whole, sum);
}

KERNEL(tensor_message_grad_f32, struct bi_tensor_message_params, ROW_THREADS, 1)
{
    typedef f32x2 V;
    const some_edges s = my_edges(p.edges);
    for (int first = 0; first < p.edges.width; first += channels<V>::step)
        gather_gradient<V>(p, s, first + channels<V>::mine(), first == 0);
}

KERNEL(edge_forces_f32, struct bi_edge_forces_params, ROW_THREADS, 2)
{
    const struct bi_edge_list &l = p.edges;
    const int64_t i = (int64_t)block_x() * ROW_THREADS + thread_id();
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    double sum[12];
#pragma GCC unroll 12
    for (int k = 0; k < 12; k++)
        sum[k] = 0;
#pragma GCC unroll 1
    for (int e = l.start[i]; e < l.start[i + 1]; e++) {
        const float *d = p.d + 3 * (int64_t)e, *back = p.d + 3 * (int64_t)l.reverse[e];
#pragma GCC unroll 3
        for (int b = 0; b < 3; b++) {
            sum[b] += (double)back[b] - (double)d[b];
#pragma GCC unroll 3
            for (int a = 0; a < 3; a++)
                sum[3 + 3 * a + b] += (double)l.vector[3 * (int64_t)e + a] * (double)d[b];
        }
    }
#pragma GCC unroll 12
    for (int k = 0; k < 12; k++)
        p.y[12 * i + k] = (float)sum[k];
}
