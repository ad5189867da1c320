/* linear_tile.h - tiles of y = act(x w^T + bias) + residual on matrix units (linear.cu,
 * linear_near.cu).
 *
 * A block makes a tile of y from slices of k in shared memory: several slices on their way by
 * asynchronous copies, or one, with the next in registers while it is multiplied. A wave holds a
 * part of the tile. Blocks go down groups of 8 row tiles, so that x and w stay in the cache. Rows
 * and columns behind the end read zeros and write nothing; k is zero-padded to a slice. Any
 * alignment works; 16 bytes is fast.
 *
 * A file of kernels gives the shape of its tiles, derived from linear_shape, and multiply_slice()
 * of its sums. */
#ifndef BI_LINEAR_TILE_H
#define BI_LINEAR_TILE_H

#include "gpu_act.h"

/* ---- shape of a tile ---- */

/* Tiles of size x size by so many threads, from slices of k columns of elements T, whose rows lie
 * `ld` elements apart in shared memory; V is a vector of 16 bytes of them. */
template <typename T, typename V, int size, int threads, int k, int ld, int stages_>
struct linear_shape {
    typedef T element;
    typedef V chunk;
    enum {
        SIZE = size,
        THREADS = threads,
        SLICE = k,
        LD = ld,
        STAGES = stages_,
        EACH = 16 / sizeof(T),
        WAVES = THREADS / WAVE,
        WAVES_M = 2,
        WAVES_N = WAVES / WAVES_M,
        MT = size / WAVES_M / 16,
        NT = size / WAVES_N / 16,
        CHUNKS = size * k / EACH / THREADS /* per thread and operand */
    };
    struct stages {
        T x[STAGES][size * LD], w[STAGES][size * LD];
    };
};

/* A wave's part of a tile. */
template <typename S> struct linear_sums {
    acc of[S::MT][S::NT];
};

/* ---- slices ---- */

/* One operand: rows from `row` on, of which `rows` are there; zero elsewhere. */
template <typename S> struct linear_operand {
    const typename S::element *base;
    int64_t ld;
    int rows, k;
    bool whole; /* chunks are aligned and do not cross the end of k */
};

/* The rows of an array [rows, k] from `row` on, as far as the largest tile reaches. */
template <typename S>
DEV linear_operand<S> make_linear_operand(const void *base, int64_t ld, int64_t row, int64_t rows,
                                          int k)
{
    typedef typename S::element T;
    const int64_t left = rows - row;
    return linear_operand<S>{(const T *)base + row * ld, ld, (int)(left < 128 ? left : 128), k,
                             ((u64)base | (u64)ld * sizeof(T) | (u64)k * sizeof(T)) % 16 == 0};
}

/* Elements [c, c + EACH) of row r. */
template <typename S>
DEV typename S::chunk linear_chunk_of(const linear_operand<S> &o, int r, int c)
{
    typename S::chunk v = {};
    if (r < o.rows && c < o.k) {
        const typename S::element *at = o.base + r * o.ld + c;
        if (o.whole) {
            v = *(const typename S::chunk *)at;
        } else {
#pragma GCC unroll 8
            for (int i = 0; i < S::EACH; i++)
                if (c + i < o.k)
                    v[i] = at[i];
        }
    }
    return v;
}

/* Row, and column, within the slice of chunk i of this thread. */
template <typename S> DEV int linear_chunk_row(int i)
{
    return (thread_id() + i * S::THREADS) / (S::SLICE / S::EACH);
}

/* See linear_chunk_row(); it is the same for all chunks. */
template <typename S> DEV int linear_chunk_column()
{
    return thread_id() % (S::SLICE / S::EACH) * S::EACH;
}

#if COPY_ASYNC
/* Begins the copies of the slice from column k0 on. */
template <typename S>
DEV void fetch_slice(const linear_operand<S> &o, typename S::element *to, int k0)
{
#pragma GCC unroll 4
    for (int i = 0; i < S::CHUNKS; i++) {
        const int r = linear_chunk_row<S>(i), c = k0 + linear_chunk_column<S>();
        typename S::element *at = to + r * S::LD + linear_chunk_column<S>();
        if (o.whole) {
            const bool there = r < o.rows && c < o.k;
            copy_async(at, there ? o.base + r * o.ld + c : o.base, there ? 16 : 0);
        } else {
            *(typename S::chunk *)at = linear_chunk_of<S>(o, r, c);
        }
    }
}
#else
template <typename S> struct linear_chunks {
    typename S::chunk of[S::CHUNKS];
};

/* Reads this thread's chunks of the slice from column k0 on. */
template <typename S> DEV linear_chunks<S> read_slice(const linear_operand<S> &o, int k0)
{
    linear_chunks<S> v;
#pragma GCC unroll 4
    for (int i = 0; i < S::CHUNKS; i++)
        v.of[i] = linear_chunk_of<S>(o, linear_chunk_row<S>(i), k0 + linear_chunk_column<S>());
    return v;
}

/* Writes them to shared memory. */
template <typename S> DEV void write_slice(typename S::element *to, const linear_chunks<S> &v)
{
#pragma GCC unroll 4
    for (int i = 0; i < S::CHUNKS; i++)
        *(typename S::chunk *)(to + linear_chunk_row<S>(i) * S::LD +
                               linear_chunk_column<S>()) = v.of[i];
}
#endif

/* ---- results ---- */

/* Writes the first n, at most ACC_RUN, of v. whole: y is aligned for all of them. */
template <typename Y> DEV void store_run(Y *y, const float *v, bool whole, int n)
{
    typedef Y run __attribute__((vector_size(ACC_RUN * sizeof(Y))));
    if (whole && n >= ACC_RUN) {
        run r;
#pragma GCC unroll 4
        for (int i = 0; i < ACC_RUN; i++)
            r[i] = (Y)v[i];
        *(run *)y = r;
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < ACC_RUN; i++)
            if (i < n)
                y[i] = (Y)v[i];
    }
}

/* Writes a wave's part of y, which begins at row m0, column n0. */
template <typename S, typename Y>
DEV void finish_linear(const struct bi_linear_params &p, const linear_sums<S> &d, int64_t m0,
                       int n0, int64_t rows)
{
    const bool whole = ((u64)p.y | (u64)p.ldy * sizeof(Y)) % (ACC_RUN * sizeof(Y)) == 0;
#pragma GCC unroll 8
    for (int j = 0; j < S::NT; j++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e += ACC_RUN) {
            const int n = n0 + j * 16 + acc_n(e);
            float bias[ACC_RUN];
#pragma GCC unroll 4
            for (int i = 0; i < ACC_RUN; i++)
                bias[i] = p.bias && n + i < p.n ? p.bias[n + i] : 0;
#pragma GCC unroll 8
            for (int t = 0; t < S::MT; t++) {
                const int64_t m = m0 + t * 16 + acc_m(e);
                float v[ACC_RUN];
                if (m >= rows || n >= p.n)
                    continue;
#pragma GCC unroll 4
                for (int i = 0; i < ACC_RUN; i++) {
                    v[i] = d.of[t][j].of[e + i] + bias[i];
                    if (sizeof(typename S::element) == 2) /* no gradient asks for more */
                        v[i] = linear_act(v[i], p.act);
                    else if (n + i < p.n)
                        v[i] = linear_result(p, m, n + i, v[i]);
                    if (p.residual && n + i < p.n)
                        v[i] += (float)((const Y *)p.residual)[m * p.ldr + n + i];
                }
                store_run((Y *)p.y + m * p.ldy + n, v, whole, p.n - n);
            }
        }
}

/* The same of gates and values: 16 columns of each take turns, and both are in one thread. */
template <typename S, typename Y>
DEV void finish_gated(const struct bi_linear_params &p, const linear_sums<S> &d, int64_t m0, int n0,
                      int64_t rows)
{
    const bool whole = ((u64)p.y | (u64)p.ldy * sizeof(Y)) % (ACC_RUN * sizeof(Y)) == 0;
#pragma GCC unroll 8
    for (int j = 0; j < S::NT; j += 2)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e += ACC_RUN) {
            const int n = n0 / 2 + j * 8 + acc_n(e);
#pragma GCC unroll 8
            for (int t = 0; t < S::MT; t++) {
                const int64_t m = m0 + t * 16 + acc_m(e);
                float v[ACC_RUN];
                if (m >= rows || n >= p.n / 2)
                    continue;
#pragma GCC unroll 4
                for (int i = 0; i < ACC_RUN; i++)
                    v[i] = linear_act(d.of[t][j].of[e + i], p.act) * d.of[t][j + 1].of[e + i];
                store_run((Y *)p.y + m * p.ldy + n, v, whole, p.n / 2 - n);
            }
        }
}

/* ---- a tile ---- */

enum linear_gates { GATES_NEVER, GATES_ALWAYS, GATES_AS_TOLD /* by p.gated */ };

/* Makes tile `block` of y, of which `rows` rows are there; nothing where there are not so many
 * tiles. gates: whether the layer is gated. */
template <typename S, typename Y, linear_gates gates>
DEV void linear_tile(const struct bi_linear_params &p, typename S::stages &s, int64_t rows,
                     int block)
{
    enum { GROUP = 8, SIZE = S::SIZE, SLICE = S::SLICE, STAGES = S::STAGES, LD = S::LD };
    const int tiles_m = (int)((rows + SIZE - 1) / SIZE), tiles_n = (p.n + SIZE - 1) / SIZE;
    if (block >= (int64_t)tiles_m * tiles_n)
        return;
    const int group = block / (GROUP * tiles_n), within = block % (GROUP * tiles_n);
    const int first = group * GROUP, high = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    const int64_t m0 = (int64_t)(first + within % high) * SIZE;
    const int n0 = within / high * SIZE;
    const linear_operand<S> x = make_linear_operand<S>(p.x, p.ldx, m0, rows, p.k),
                            w = make_linear_operand<S>(p.w, p.k, n0, p.n, p.k);
    const int slices = (p.k + SLICE - 1) / SLICE;
    const int wm = wave_id() % S::WAVES_M * (S::MT * 16);
    const int wn = wave_id() / S::WAVES_M * (S::NT * 16);
    linear_sums<S> d = {};

#if COPY_ASYNC
#pragma GCC unroll 8
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < slices) {
            fetch_slice<S>(x, s.x[i], i * SLICE);
            fetch_slice<S>(w, s.w[i], i * SLICE);
        }
        copy_commit();
    }
    for (int i = 0; i < slices; i++) {
        const int next = i + STAGES - 1;
        copy_wait<STAGES - 2>();
        barrier(); /* slice i is there for all, and slice i - 1 is used up */
        if (next < slices) {
            fetch_slice<S>(x, s.x[next % STAGES], next * SLICE);
            fetch_slice<S>(w, s.w[next % STAGES], next * SLICE);
        }
        copy_commit();
        multiply_slice(d, s.x[i % STAGES] + wm * LD, s.w[i % STAGES] + wn * LD);
    }
#else
    linear_chunks<S> cx = read_slice<S>(x, 0), cw = read_slice<S>(w, 0);
    for (int i = 0; i < slices; i++) {
        barrier(); /* slice i - 1 is used up */
        write_slice<S>(s.x[0], cx);
        write_slice<S>(s.w[0], cw);
        barrier(); /* slice i is there for all */
        if (i + 1 < slices) {
            cx = read_slice<S>(x, (i + 1) * SLICE);
            cw = read_slice<S>(w, (i + 1) * SLICE);
        }
        multiply_slice(d, s.x[0] + wm * LD, s.w[0] + wn * LD);
    }
#endif
    if (gates == GATES_ALWAYS || (gates == GATES_AS_TOLD && p.gated))
        finish_gated<S, Y>(p, d, m0 + wm, n0 + wn, rows);
    else
        finish_linear<S, Y>(p, d, m0 + wm, n0 + wn, rows);
}

#endif
