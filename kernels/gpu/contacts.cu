/* contacts.cu - attention maps to contact logits, one layer; f32 arithmetic. See contacts.h.
 *
 * Parts, launched one after another, which leave what they know of each residue in `sums`
 * [tokens, 2 n_heads], for each head
 *   attention_contacts   the logarithm of the sum of exponentials of its row, if maps are computed
 *   then_contact_sums    r, its row sum of M = A + A^T
 *   then_contact_tiles   a tile of y: all heads in order; t anew from r
 * Maps are stored (contacts), or computed each time they are used: by f32 products of rows, rotated
 * in f32 where there is a table, or on the matrix units from f16 rows as they are (plain, head
 * widths up to 128). Sums go by tiles counted from the start of the sequence: the same bits in any
 * batch. Grid: tiles of gpu_tiles.h; heads, or tiles of columns of y. */
#include "lib/gpu_heads.h"

#include "../contacts.h"
#include "lib/gpu_math.h"

/* ---- two ways to multiply rows of a tile and rows of another; numbers of a thread ---- */

template <typename T> struct core_products {
    enum { ROWS = PAIR_ROWS, COLUMNS = PAIR_ROWS, THREADS = PAIR_THREADS, OF = PAIR_OF, SLOTS = 1 };
    typedef pair_tiles shared;

    METHOD static int row(int)
    {
        return pair_row();
    }
    METHOD static int column(int e)
    {
        return pair_column(e);
    }
    METHOD static int slot(int) /* number of the row among the thread's */
    {
        return 0;
    }
    METHOD static float sum_of_row(float x)
    {
        return lanes_sum<8>(x);
    }
    METHOD static float max_of_row(float x)
    {
        return lanes_max<8>(x);
    }
    METHOD static void multiply_rows(shared &s, const head_rows &x, const head_rows &w, float *of)
    {
        const pair_scores d = multiply_pairs<T>(s, x, w);
#pragma GCC unroll 4
        for (int e = 0; e < OF; e++)
            of[e] = d.of[e];
    }
};

struct matrix_products {
    enum {
        ROWS = 64,
        COLUMNS = 64,
        THREADS = 128,
        MT = ROWS / 16 / (THREADS / WAVE), /* 16-row parts of a wave */
        NT = COLUMNS / 16,
        OF = MT * NT * ACC,
        SLOTS = MT * ACC_ROWS,
        LD = 128 + 8
    };
    struct shared {
        f16 x[ROWS * LD], w[COLUMNS * LD];
    };

    METHOD static int row(int e)
    {
        return (wave_id() * MT + e / (NT * ACC)) * 16 + acc_m(e % ACC);
    }
    METHOD static int column(int e)
    {
        return e / ACC % NT * 16 + acc_n(e % ACC);
    }
    METHOD static int slot(int e)
    {
        return e / (NT * ACC) * ACC_ROWS + acc_row(e % ACC);
    }
    METHOD static float sum_of_row(float x)
    {
        return row_sum(x);
    }
    METHOD static float max_of_row(float x)
    {
        return row_max(x);
    }
    /* Two threads to a row; zeros up to a multiple of 16 columns. */
    METHOD static void read(const head_rows &h, f16 *to)
    {
        const int thread = anew(thread_id()), r = thread / 2; /* no masks kept from head to head */
        const f16 *x = (const f16 *)h.base + r * h.ld;
        const bool whole = ((u64)h.base | (u64)h.ld * 2) % 16 == 0;
#pragma GCC unroll 4
        for (int i = thread % 2 * 8; i < (h.d + 15) / 16 * 16; i += 16) {
            f16x8 v = {0, 0, 0, 0, 0, 0, 0, 0};
            if (r < h.rows && whole && i + 8 <= h.d)
                v = *(const f16x8 *)(x + i);
            else if (r < h.rows)
#pragma GCC unroll 8
                for (int u = 0; u < 8; u++)
                    v[u] = i + u < h.d ? x[i + u] : (f16)0;
            *(f16x8 *)(to + r * LD + i) = v;
        }
    }
    METHOD static void multiply_rows(shared &s, const head_rows &x, const head_rows &w, float *of)
    {
        acc d[MT][NT] = {};
        barrier(); /* the numbers there are used up */
        read(x, s.x);
        read(w, s.w);
        barrier();
        for (int k = 0; k < x.d; k += 16) {
            frag rows[MT];
#pragma GCC unroll 2
            for (int m = 0; m < MT; m++)
                rows[m] = frag_x(s.x + (wave_id() * MT + m) * 16 * LD + k, LD);
#pragma GCC unroll 4
            for (int n = 0; n < NT; n++) {
                const frag columns = frag_w(s.w + n * 16 * LD + k, LD);
#pragma GCC unroll 2
                for (int m = 0; m < MT; m++)
                    multiply(d[m][n], rows[m], columns);
            }
        }
#pragma GCC unroll 64
        for (int e = 0; e < OF; e++)
            of[e] = d[e / (NT * ACC)][e / ACC % NT].of[e % ACC];
    }
};

/* ---- A[i][j] + A[j][i] of a tile: rows i from t.first, columns j from `column0` ---- */

struct stored_maps : core_products<float> {
    typedef struct bi_contacts_params params;
    struct shared {
    };

    METHOD static void both_ways(shared &, const params &p, const tile &t, int h, int column0,
                                 float *of)
    {
        const float *a = p.p + t.start * p.ldp + h * p.ldh;
        const int64_t i = t.first + pair_row();
#pragma GCC unroll 4
        for (int e = 0; e < OF; e++) {
            const int64_t j = column0 + pair_column(e);
            of[e] = i < t.length && j < t.length ? a[i * p.ldp + j] + a[j * p.ldp + i] : 0;
        }
    }
};

template <typename T, typename products> struct computed_maps : products {
    typedef struct bi_attention_contacts_params params;
    struct shared {
        typename products::shared tiles;
        float log[products::ROWS + products::COLUMNS]; /* for rows, then columns */
    };

    METHOD static head_rows rows(const params &p, const tile &t, const float *x, int64_t ld, int h,
                                 int first)
    {
        return head_rows{(const T *)x + (t.start + first) * ld + (int64_t)h * p.head_dim, ld,
                         p.table ? p.table + (int64_t)first * p.head_dim : p.table,
                         t.length - first, p.head_dim};
    }
    METHOD static void both_ways(shared &s, const params &p, const tile &t, int h, int column0,
                                 float *of)
    {
        float x[products::OF];
        barrier(); /* the last logarithms are used up */
        if (thread_id() < products::ROWS + products::COLUMNS) {
            const int k = thread_id();
            const int token = k < products::ROWS ? t.first + k : column0 + k - products::ROWS;
            s.log[k] = token < t.length ? p.sums[(t.start + token) * 2 * p.n_heads + h] : 0;
        }
#pragma GCC unroll 64
        for (int e = 0; e < products::OF; e++)
            of[e] = 0;
#pragma GCC unroll 1 /* the code once: it is long */
        for (int back = 0; back < 2; back++) {
            products::multiply_rows(
                s.tiles, rows(p, t, back ? p.k : p.q, back ? p.ldk : p.ldq, h, t.first),
                rows(p, t, back ? p.q : p.k, back ? p.ldq : p.ldk, h, column0), x);
#pragma GCC unroll 64
            for (int e = 0; e < products::OF; e++)
                of[e] += exp_(
                    x[e] * p.scale -
                    s.log[back ? products::ROWS + products::column(e) : products::row(e)]);
        }
    }
};

/* ---- parts ---- */

/* Residues are tokens n_prefix ... end - 1 of a sequence. */
template <typename P> DEV int end_of(const P &p, const tile &t)
{
    return t.length - p.n_suffix;
}

/* p.sums[..., at] of the residues among the rows of a tile, from the slots of its threads. */
template <typename M, typename P>
DEV void put_sums(const P &p, const tile &t, int at, const float *of)
{
#pragma GCC unroll 64
    for (int e = 0; e < M::OF; e++) {
        const int i = t.first + M::row(e);
        if (M::column(e) == 0 && i >= p.n_prefix && i < end_of(p, t))
            p.sums[(t.start + i) * 2 * p.n_heads + at] = of[M::slot(e)];
    }
}

template <typename M> DEV void contact_logs(const typename M::params &p)
{
    SHARED(typename M::shared, s, sizeof(typename M::shared));
    const tile t = find_tile<M::ROWS>(p.counts, p.start, block_x());
    const int h = block_y();
    float max[M::SLOTS], sum[M::SLOTS], x[M::OF];
    if (t.first >= end_of(p, t))
        return;
#pragma GCC unroll 8
    for (int k = 0; k < M::SLOTS; k++) {
        max[k] = -INF;
        sum[k] = 0;
    }
    for (int j0 = 0; j0 < t.length; j0 += M::COLUMNS) {
        float high[M::SLOTS];
        M::multiply_rows(s.tiles, M::rows(p, t, p.q, p.ldq, h, t.first),
                         M::rows(p, t, p.k, p.ldk, h, j0), x);
#pragma GCC unroll 8
        for (int k = 0; k < M::SLOTS; k++)
            high[k] = max[k];
#pragma GCC unroll 64
        for (int e = 0; e < M::OF; e++) {
            x[e] *= p.scale;
            if (j0 + M::column(e) < t.length)
                high[M::slot(e)] = max_(high[M::slot(e)], x[e]);
        }
#pragma GCC unroll 8
        for (int k = 0; k < M::SLOTS; k++) {
            high[k] = M::max_of_row(high[k]);
            sum[k] *= max[k] == high[k] ? 1 : exp_(max[k] - high[k]);
            max[k] = high[k];
        }
#pragma GCC unroll 64
        for (int e = 0; e < M::OF; e++)
            if (j0 + M::column(e) < t.length)
                sum[M::slot(e)] += exp_(x[e] - max[M::slot(e)]);
    }
#pragma GCC unroll 8
    for (int k = 0; k < M::SLOTS; k++)
        sum[k] = max[k] + log_(M::sum_of_row(sum[k]));
    put_sums<M>(p, t, h, sum);
}

template <typename M> DEV void contact_sums(const typename M::params &p)
{
    SHARED(typename M::shared, s, sizeof(typename M::shared));
    const tile t = find_tile<M::ROWS>(p.counts, p.start, block_x());
    const int h = block_y(), end = end_of(p, t);
    float sum[M::SLOTS] = {}, of[M::OF];
    if (t.first >= end)
        return;
    for (int j0 = 0; j0 < end; j0 += M::COLUMNS) {
        M::both_ways(s, p, t, h, j0, of);
#pragma GCC unroll 64
        for (int e = 0; e < M::OF; e++) {
            const int j = j0 + M::column(e);
            sum[M::slot(e)] += j >= p.n_prefix && j < end ? of[e] : 0;
        }
    }
#pragma GCC unroll 8
    for (int k = 0; k < M::SLOTS; k++)
        sum[k] = M::sum_of_row(sum[k]);
    put_sums<M>(p, t, p.n_heads + h, sum);
}

enum { CONTACT_HEADS = 32 }; /* whose totals are made at once */

template <typename M> struct contact_tile_shared {
    typename M::shared maps;
    float r[M::ROWS + M::COLUMNS]; /* for rows, then columns */
    float part[M::THREADS / CONTACT_HEADS][CONTACT_HEADS];
};

template <typename M> DEV void contact_tiles(const typename M::params &p)
{
    enum { PARTS = M::THREADS / CONTACT_HEADS };
    SHARED(contact_tile_shared<M>, s, sizeof(contact_tile_shared<M>));
    const tile t = find_tile<M::ROWS>(p.counts, p.start, block_x());
    const int end = end_of(p, t), n = end - p.n_prefix, c0 = block_y() * M::COLUMNS;
    const bool any = t.first < end && t.first + M::ROWS > p.n_prefix && c0 < n;
    const int64_t width = 2 * p.n_heads;
    const float *r = p.sums + t.start * width + p.n_heads;
    float y[M::OF], of[M::OF];
    if (t.first >= t.length)
        return;
#pragma GCC unroll 64
    for (int e = 0; e < M::OF; e++)
        y[e] = 0;
    /* needed at the end: a copy a lane, as scalar registers are few */
    const int first = anew(t.first), length = anew(t.length), first_column = anew(c0);
    const int residues = anew(n > 0 ? n : 0), ldy = anew((int)p.ldy), ldb = anew((int)p.ldb);
    for (int h0 = 0; h0 < p.n_heads && any; h0 += CONTACT_HEADS) {
        const int lane = thread_id() % CONTACT_HEADS, part = thread_id() / CONTACT_HEADS;
        float sum = 0;
        for (int i = p.n_prefix + anew(part); i < end && h0 + lane < p.n_heads; i += PARTS)
            sum += r[i * width + h0 + lane];
        barrier(); /* the last totals are used up */
        s.part[part][lane] = sum;
        for (int h = h0; h < p.n_heads && h < h0 + CONTACT_HEADS; h++) {
            float total = 0;
            barrier(); /* the last r are used up; totals are there */
            if (thread_id() < M::ROWS + M::COLUMNS) {
                const int k = thread_id();
                const int i = k < M::ROWS ? t.first + k : p.n_prefix + c0 + k - M::ROWS;
                s.r[k] = i >= p.n_prefix && i < end ? r[i * width + h] : 0;
            }
            barrier();
#pragma GCC unroll 8
            for (int k = 0; k < PARTS; k++)
                total += s.part[k][h - h0];
            M::both_ways(s.maps, p, t, h, p.n_prefix + c0, of);
            const float w = p.w[h], rest = 1 / total;
#pragma GCC unroll 64
            for (int e = 0; e < M::OF; e++)
                y[e] = fma_(w, of[e] - s.r[M::row(e)] * s.r[M::ROWS + M::column(e)] * rest, y[e]);
        }
    }
#pragma GCC unroll 64
    for (int e = 0; e < M::OF; e++) {
        const int i = first + M::row(e), c = first_column + M::column(e);
        const unsigned residue = (unsigned)(i - p.n_prefix), column = (unsigned)c;
        const int64_t at = t.start + i;
        if ((residue > column ? residue : column) < (unsigned)residues)
            p.y[at * ldy + c] = p.before ? p.before[at * ldb + c] + y[e] : y[e];
        else if (i < length && c < ldy)
            p.y[at * ldy + c] = 0;
    }
}

/* ---- entries ---- */

KERNEL(contacts_f32, struct bi_contacts_params, 256, 2)
{
    contact_sums<stored_maps>(p);
}

KERNEL(then_contacts_tiles_f32, struct bi_contacts_params, 256, 2)
{
    contact_tiles<stored_maps>(p);
}

#define PARTS(name, threads, blocks, ...)                                                          \
    KERNEL(attention_contacts_##name, struct bi_attention_contacts_params, threads, blocks)        \
    {                                                                                              \
        contact_logs<computed_maps<__VA_ARGS__>>(p);                                               \
    }                                                                                              \
    KERNEL(then_contact_sums_##name, struct bi_attention_contacts_params, threads, blocks)         \
    {                                                                                              \
        contact_sums<computed_maps<__VA_ARGS__>>(p);                                               \
    }                                                                                              \
    KERNEL(then_contact_tiles_##name, struct bi_attention_contacts_params, threads, blocks)        \
    {                                                                                              \
        contact_tiles<computed_maps<__VA_ARGS__>>(p);                                              \
    }
PARTS(f32, 256, 2, float, core_products<float>)
PARTS(f16, 256, 2, f16, core_products<f16>)
PARTS(plain_f16, 128, (WAVE == 32 ? 3 : 1), f16, matrix_products)
#undef PARTS
