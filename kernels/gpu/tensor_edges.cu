/* tensor_edges.cu - what atoms gather from their neighbours, and its derivatives.
 *
 * A block has one atom. It reads the atom's edges some at a time: each thread one of them, whose
 * place in the table it puts into shared memory. Then groups of 32 threads take every eighth edge,
 * or in gradients every fourth and half of the channels. Groups add their edges in order, and the
 * sums of the groups are added in order, so the bits depend on the edges of the atom alone. */
#include "lib/gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "../tensor_edges.h"
#pragma clang force_cuda_host_device end

#define SQRT2 1.41421356237309504880f
#define SQRT3 1.73205080756887729353f
#define SIXTH 0.40824829046386301637f

enum { GROUPS = ROWS_PER_BLOCK, AT_ONCE = ROW_THREADS, CHANNELS = 4 * ROW_LANES, NUMBERS = 9 };

/* An edge as its thread has it. */
struct edge {
    float u[3], r;
};

/* Some edges of an atom, as all threads see them. */
struct near_edges {
    float x[AT_ONCE], u[3][AT_ONCE];
    int32_t knot[AT_ONCE], col[AT_ONCE];
};

/* N derivatives of each of them, of either half of the channels. */
template <int N> struct half_sums {
    float of[2][N][AT_ONCE];
};

/* The sums of four groups, or of as many pairs of them. */
struct group_sums {
    float of[GROUPS / 2][NUMBERS][CHANNELS];
};

struct gather_tile {
    near_edges edges;
    group_sums sums;
};

struct embed_grad_tile {
    near_edges edges;
    half_sums<4> by; /* by the length and the direction */
};

struct message_grad_tile {
    near_edges edges;
    half_sums<1> by; /* by the length */
    group_sums sums;
};

DEV int my_group()
{
    return thread_id() / ROW_LANES;
}

/* Puts the edges from e on to where all threads see them; n of them. Gives this thread's. own: they
 * come from that atom, not from the neighbours, if it is not negative. */
DEV edge show_edges(const struct bi_edge_list &l, near_edges &s, int e, int n, int own = -1)
{
    const int t = thread_id();
    edge d = {};
    barrier(); /* the last ones may still be read */
    if (t < n) {
        const float *v = l.vector + 3 * (int64_t)(e + t);
        d.r = __builtin_sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
        const struct bi_edge_place place = bi_edge_place_of(d.r, l.cutoff, l.knots);
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++)
            s.u[k][t] = d.u[k] = v[k] / d.r;
        s.x[t] = place.by[1];
        s.knot[t] = place.knot;
        s.col[t] = own < 0 ? l.col[e + t] : own;
    }
    barrier();
    return d;
}

/* Where edge t of those is in the table. */
DEV struct bi_edge_place place_of(const struct bi_edge_list &l, const near_edges &s, int t)
{
    return bi_edge_place_at(s.knot[t], s.x[t], l.cutoff, l.knots);
}

/* Calls use(first edge, number of edges) for at most AT_ONCE edges of atom i at a time. */
template <typename F> DEV void some_edges(const struct bi_edge_list &l, int64_t i, F use)
{
    const int end = l.start[i + 1];
#pragma GCC unroll 1
    for (int e = l.start[i]; e < end; e += AT_ONCE)
        use(e, end - e < AT_ONCE ? end - e : AT_ONCE);
}

/* Channels that a thread has at a time: four, and in gradients, which hold more, two. */
template <typename V> struct channels {
    static const int n = sizeof(V) / sizeof(float);
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
DEV V factor(const struct bi_edge_list &l, const struct bi_edge_place &d, int k, int c, bool whole)
{
    const int64_t w = l.width;
    const float *at = l.table + (d.knot * 12 + k) * w;
    const float *by = SLOPE ? d.d : d.by;
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

/* Row of number k, of nine, of atom i; NULL where its part is left out. */
template <typename T> DEV T *number_row(T *const x[3], int64_t i, int k, int width)
{
    T *part = k == 0 ? x[0] : k < 4 ? x[1] : x[2];
    const int n = k == 0 ? 1 : k < 4 ? 3 : 5, first = k == 0 ? 0 : k < 4 ? 1 : 4;
    return part ? part + (i * n + (k - first)) * width : nullptr;
}

/* Adds the sums of the last four groups to those of the first four, which then have four. */
DEV void add_last_groups(group_sums &s, f32x4 sum[NUMBERS])
{
    const int group = my_group(), c = my_column();
    float(*mine)[CHANNELS] = s.of[group % (GROUPS / 2)];
    if (group >= GROUPS / 2) {
#pragma GCC unroll 9
        for (int k = 0; k < NUMBERS; k++)
            *(f32x4 *)&mine[k][c] = sum[k];
    }
    barrier();
    if (group < GROUPS / 2) {
#pragma GCC unroll 9
        for (int k = 0; k < NUMBERS; k++)
            sum[k] += *(const f32x4 *)&mine[k][c];
    }
}

/* Adds up what groups 0 to 3 have of channels c0 ... c0 + 127, of which a thread has those from c
 * on, behind what begin(k, c) gives, and stores the sums. */
template <typename V, typename F>
DEV void store_sums(group_sums &s, const V sum[NUMBERS], int group, int c, int c0,
                    float *const y[3], int64_t i, int width, bool whole, F begin,
                    const float *const *more = nullptr)
{
    if (group < GROUPS / 2) {
#pragma GCC unroll 9
        for (int k = 0; k < NUMBERS; k++)
            *(V *)&s.of[group][k][c - c0] = sum[k];
    }
    barrier();
#pragma GCC unroll 1
    for (int at = thread_id(); at < NUMBERS * ROW_LANES; at += ROW_THREADS) {
        const int k = at / ROW_LANES, f = at % ROW_LANES * 4;
        f32x4 all = begin(k, c0 + f);
#pragma GCC unroll 4
        for (int g = 0; g < GROUPS / 2; g++)
            all += *(const f32x4 *)&s.of[g][k][f];
        if (more && more[0])
            all += load<f32x4>(number_row(more, i, k, width), c0 + f, width, whole);
        if (c0 + f < width)
            store<f32x4>(number_row(y, i, k, width), c0 + f, width, whole, all);
    }
    barrier(); /* s may be written again */
}

template <typename V> DEV void zero(V sum[NUMBERS])
{
#pragma GCC unroll 9
    for (int k = 0; k < NUMBERS; k++)
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

/* The number of an element's row in a table of them. */
template <typename V>
DEV V element(const float *table, const int32_t *code, int64_t i, int c, int width, bool whole)
{
    return load<V>(table + (int64_t)code[i] * width, c, width, whole);
}

KERNEL(tensor_embed_f32, struct bi_tensor_embed_params, ROW_THREADS, 2)
{
    typedef f32x4 V;
    SHARED(gather_tile, s, 24576);
    const struct bi_edge_list &l = p.edges;
    const int64_t i = block_x();
    const int w = l.width;
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    const bool whole = whole_of(l, p.y, p.y, p.y, p.self),
               fine = fours(p.own, w) && fours(p.other, w);
#pragma GCC unroll 1
    for (int c0 = 0; c0 < w; c0 += CHANNELS) {
        const int c = c0 + my_column();
        const V own = element<V>(p.own, p.code, i, c, w, fine);
        V sum[NUMBERS];
        zero(sum);
        some_edges(l, i, [&](int e, int n) ALWAYS_INLINE {
            show_edges(l, s.edges, e, n);
#pragma GCC unroll 1
            for (int t = my_group(); t < n; t += GROUPS) {
                const struct bi_edge_place d = place_of(l, s.edges, t);
                const float u[3] = {s.edges.u[0][t], s.edges.u[1][t], s.edges.u[2][t]};
                const V z = own + element<V>(p.other, p.code, s.edges.col[t], c, w, fine);
                const V a = z * factor<V, false>(l, d, 1, c, whole) * SQRT2;
                const V b = z * factor<V, false>(l, d, 2, c, whole);
                float square[5];
                bi_edge_square(u, square);
                sum[0] += z * factor<V, false>(l, d, 0, c, whole) * SQRT3;
#pragma GCC unroll 3
                for (int k = 0; k < 3; k++)
                    sum[1 + k] += a * u[k];
#pragma GCC unroll 5
                for (int k = 0; k < 5; k++)
                    sum[4 + k] += b * square[k];
            }
        });
        add_last_groups(s.sums, sum);
        store_sums(s.sums, sum, my_group(), c, c0, p.y, i, w, whole,
                   [&](int k, int f) ALWAYS_INLINE {
                       return k || !p.self ? V{}
                                           : load<V>(p.self, f, w, whole) * SQRT3 *
                                                 (element<V>(p.own, p.code, i, f, w, fine) +
                                                  element<V>(p.other, p.code, i, f, w, fine));
                   });
    }
}

/* ---- derivatives: half of the channels to a group ---- */

enum { HALF = CHANNELS / 2, PAIRS = GROUPS / 2 };

/* Calls use(t, is it there?) for the edges of this group, of n; as often for all of them, as lanes
 * add up together. */
template <typename F> DEV void each_fourth(int n, F use)
{
#pragma GCC unroll 1
    for (int first = 0; first < n; first += PAIRS) {
        const int t = first + my_group() / 2;
        use(t < n ? t : n - 1, t < n);
    }
}

/* Derivatives by length and direction: sums over channels. */
template <typename V> struct by_edge {
    V r, u[3];
};

template <typename V>
DEV void add_channels(const struct bi_edge_list &l, const struct bi_edge_place &d, const float u[3],
                      const V &z, const V g[NUMBERS], int c, bool whole, by_edge<V> &to)
{
    const V a = z * factor<V, false>(l, d, 1, c, whole) * SQRT2;
    const V b = z * factor<V, false>(l, d, 2, c, whole);
    const V along = (g[1] * u[0] + g[2] * u[1] + g[3] * u[2]) * SQRT2;
    const V sixth = g[8] * (2.0f * SIXTH);
    float square[5];
    bi_edge_square(u, square);
    V part = g[4] * square[0] + g[5] * square[1] + g[6] * square[2] + g[7] * square[3] +
             g[8] * square[4];
    part = part * factor<V, true>(l, d, 2, c, whole) + along * factor<V, true>(l, d, 1, c, whole) +
           g[0] * factor<V, true>(l, d, 0, c, whole) * SQRT3;
    to.r = z * part;
    const float x = u[0], y = u[1], w = u[2];
    to.u[0] = a * g[1] + b * ((g[4] * y + g[5] * w + g[7] * x) * SQRT2 - sixth * x);
    to.u[1] = a * g[2] + b * ((g[4] * x + g[6] * w - g[7] * y) * SQRT2 - sixth * y);
    to.u[2] = a * g[3] + b * ((g[5] * x + g[6] * y) * SQRT2 + sixth * (w + w));
}

/* The derivative of edge t by the channels of this group goes to where all threads see it. */
template <typename V>
DEV void show_derivative(half_sums<4> &s, int t, bool in, const by_edge<V> &by)
{
    const float r = lanes_sum(total(by.r)), x = lanes_sum(total(by.u[0])),
                y = lanes_sum(total(by.u[1])), z = lanes_sum(total(by.u[2]));
    if (in && thread_id() % ROW_LANES == 0) {
        float(*to)[AT_ONCE] = s.of[my_group() % 2];
        to[0][t] = r;
        to[1][t] = x;
        to[2][t] = y;
        to[3][t] = z;
    }
}

/* Adds what others gave to the derivative by the vector of edge e. */
DEV void add_vector(float *to, const float *more, int e)
{
    if (more)
#pragma GCC unroll 3
        for (int k = 0; k < 3; k++)
            to[k] += more[3 * (int64_t)e + k];
}

KERNEL(tensor_embed_grad_f32, struct bi_tensor_embed_params, ROW_THREADS, 2)
{
    typedef f32x2 V;
    SHARED(embed_grad_tile, s, 14336);
    const struct bi_edge_list &l = p.edges;
    const int64_t i = block_x();
    const int w = l.width, t = thread_id();
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    const bool whole = whole_of(l, p.g, p.g, p.g, nullptr),
               fine = fours(p.own, w) && fours(p.other, w);
    some_edges(l, i, [&](int e, int n) ALWAYS_INLINE {
        const edge mine = show_edges(l, s.edges, e, n);
        float by[4] = {};
#pragma GCC unroll 1
        for (int c0 = 0; c0 < w; c0 += CHANNELS) {
            const int c = c0 + my_group() % 2 * HALF + thread_id() % ROW_LANES * 2;
            const V own = c < w ? element<V>(p.own, p.code, i, c, w, fine) : V{};
            V g[NUMBERS];
            /* CDNA has too few scalar registers for the places of all rows */
            load_atom(p.g, anew((int)i), c, w, whole, g);
            if (c0)
                barrier(); /* s.by may still be read */
            each_fourth(n, [&](int at, bool in) ALWAYS_INLINE {
                const float u[3] = {s.edges.u[0][at], s.edges.u[1][at], s.edges.u[2][at]};
                by_edge<V> d;
                add_channels(l, place_of(l, s.edges, at), u,
                             own + element<V>(p.other, p.code, s.edges.col[at], c, w, fine), g, c,
                             whole, d);
                show_derivative(s.by, at, in, d);
            });
            barrier();
#pragma GCC unroll 4
            for (int k = 0; k < 4; k++)
                by[k] += t < n ? s.by.of[0][k][t] + s.by.of[1][k][t] : 0.0f;
        }
        if (t < n) {
            const float *u = mine.u, along = u[0] * by[1] + u[1] * by[2] + u[2] * by[3];
            float *to = p.dvector + 3 * (int64_t)(e + t);
#pragma GCC unroll 3
            for (int k = 0; k < 3; k++)
                to[k] = by[0] * u[k] + (by[1 + k] - along * u[k]) / mine.r;
            add_vector(to, p.more_vector, e + t);
        }
    });
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

/* The share of an atom itself in its number k, in channels f ... */
DEV f32x4 own_share(const float *self, const float *const x[3], int64_t i, int k, int f, int width,
                    bool whole)
{
    const float *row = number_row(x, i, k, width);
    if (!self || !row)
        return f32x4{};
    return load<f32x4>(row, f, width, whole) * load<f32x4>(self + (k == 0  ? 0
                                                                   : k < 4 ? 1
                                                                           : 2) *
                                                                      (int64_t)width,
                                                           f, width, whole);
}

KERNEL(tensor_message_f32, struct bi_tensor_message_params, ROW_THREADS, 2)
{
    typedef f32x4 V;
    SHARED(gather_tile, s, 24576);
    const struct bi_edge_list &l = p.edges;
    const int64_t i = block_x();
    const int w = l.width;
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    const bool whole = whole_of(l, p.x, p.y, p.y, p.self);
#pragma GCC unroll 1
    for (int c0 = 0; c0 < w; c0 += CHANNELS) {
        const int c = c0 + my_column();
        V sum[NUMBERS];
        zero(sum);
        some_edges(l, i, [&](int e, int n) ALWAYS_INLINE {
            show_edges(l, s.edges, e, n, l.reverse ? -1 : (int)i);
#pragma GCC unroll 1
            for (int t = my_group(); t < n; t += GROUPS) {
                const struct bi_edge_place d = place_of(l, s.edges, t);
                V from[NUMBERS];
                load_atom(p.x, s.edges.col[t], c, w, whole, from);
                add_part<V, 0>(sum, from, factor<V, false>(l, d, 0, c, whole), nullptr);
                add_part<V, 1>(sum + 1, from + 1, factor<V, false>(l, d, 1, c, whole), nullptr);
                add_part<V, 2>(sum + 4, from + 4, factor<V, false>(l, d, 2, c, whole), nullptr);
            }
        });
        add_last_groups(s.sums, sum);
        store_sums(s.sums, sum, my_group(), c, c0, p.y, i, w, whole,
                   [&](int k, int f)
                       ALWAYS_INLINE { return own_share(p.self, p.x, i, k, f, w, whole); });
    }
}

/* The derivatives of the edges by 128 channels: those from c0 = 0 set dvector, others add to it. */
KERNEL(tensor_message_grad_f32, struct bi_tensor_message_params, ROW_THREADS, 2)
{
    typedef f32x2 V;
    SHARED(message_grad_tile, s, 26624);
    const struct bi_edge_list &l = p.edges;
    const int64_t i = block_x();
    const int w = l.width, t = thread_id();
    if (i >= bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows))
        return;
    const bool whole = whole_of(l, p.x, p.g, p.y, p.self) &&
                       ((u64)p.more[0] | (u64)p.more[1] | (u64)p.more[2]) % 16 == 0;
    const float *const more[3] = {anew(p.more[0]), anew(p.more[1]), anew(p.more[2])};
    const float *const more_vector = anew(p.more_vector);
    float *const dvector = anew(p.dvector);
    const int32_t *const reverse = anew(l.reverse); /* without it atoms get their own */
    float *const y[3] = {anew(p.y[0]), anew(p.y[1]), anew(p.y[2])};
#pragma GCC unroll 1
    for (int c0 = 0; c0 < w; c0 += CHANNELS) {
        const int c = c0 + my_group() % 2 * HALF + thread_id() % ROW_LANES * 2;
        V sum[NUMBERS], own[NUMBERS];
        zero(sum);
        /* CDNA has too few scalar registers for the places of all rows */
        load_atom(p.x, anew((int)i), c, w, whole, own);
        some_edges(l, i, [&](int e, int n) ALWAYS_INLINE {
            const edge mine = show_edges(l, s.edges, e, n, reverse ? -1 : (int)i);
            each_fourth(n, [&](int at, bool in) ALWAYS_INLINE {
                const struct bi_edge_place d = place_of(l, s.edges, at);
                V by = {};
                if (in) {
                    V from[NUMBERS];
                    load_atom(p.g, s.edges.col[at], c, w, whole, from);
                    by = add_part<V, 0>(sum, from, factor<V, false>(l, d, 0, c, whole), own) *
                         factor<V, true>(l, d, 0, c, whole);
                    by += add_part<V, 1>(sum + 1, from + 1, factor<V, false>(l, d, 1, c, whole),
                                         own + 1) *
                          factor<V, true>(l, d, 1, c, whole);
                    by += add_part<V, 2>(sum + 4, from + 4, factor<V, false>(l, d, 2, c, whole),
                                         own + 4) *
                          factor<V, true>(l, d, 2, c, whole);
                }
                const float r = lanes_sum(total(by));
                if (in && t % ROW_LANES == 0)
                    s.by.of[my_group() % 2][0][at] = r;
            });
            barrier();
            if (t < n) {
                const int back = reverse ? reverse[e + t] : e + t;
                const float all = s.by.of[0][0][t] + s.by.of[1][0][t], r = reverse ? -all : all;
                float *to = dvector + 3 * (int64_t)back;
#pragma GCC unroll 3
                for (int k = 0; k < 3; k++)
                    to[k] = (c0 ? to[k] : 0.0f) + r * mine.u[k];
                if (c0 + CHANNELS >= w)
                    add_vector(to, more_vector, back);
            }
        });
        store_sums(
            s.sums, sum, my_group() / 2, c, c0, y, i, w, whole,
            [&](int k, int f) ALWAYS_INLINE { return own_share(p.self, p.g, i, k, f, w, whole); },
            more);
    }
}

/* ---- forces: 32 threads to an atom ---- */

enum { FORCE_NUMBERS = 12 };

struct lane_sums {
    double of[ROWS_PER_BLOCK][ROW_LANES][FORCE_NUMBERS];
};

KERNEL(edge_forces_f32, struct bi_edge_forces_params, ROW_THREADS, 2)
{
    SHARED(lane_sums, s, 24576);
    const struct bi_edge_list &l = p.edges;
    const int64_t i = my_row();
    const int lane = thread_id() % ROW_LANES;
    double(*rows)[FORCE_NUMBERS] = s.of[my_group()], sum[FORCE_NUMBERS];
    const bool mine = i < bi_live_rows(l.counts, BI_AXIS_TOKENS, l.rows);
#pragma GCC unroll 12
    for (int k = 0; k < FORCE_NUMBERS; k++)
        sum[k] = 0;
#pragma GCC unroll 1
    for (int e = mine ? l.start[i] + lane : 0; mine && e < l.start[i + 1]; e += ROW_LANES) {
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
    for (int k = 0; k < FORCE_NUMBERS; k++)
        rows[lane][k] = sum[k];
    barrier();
    if (mine && lane < FORCE_NUMBERS) {
        double all = 0;
        for (int k = 0; k < ROW_LANES; k++)
            all += rows[k][lane];
        p.y[FORCE_NUMBERS * i + lane] = (float)all;
    }
}
