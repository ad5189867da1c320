/* linear.cu - y = act(x w^T + bias) + residual on matrix units, f16 in, f32 sums. The residual is
 * of the type of y.
 *
 * A block makes a tile of y from k-slices of 32 in shared memory: four slices on their way by
 * asynchronous copies, or one, with the next in registers while it is multiplied, and several
 * blocks on a multiprocessor (its 64 KiB would hold one double-buffered block). A wave holds
 * 64 x 32 (wave 32) or 64 x 64 (wave 64) of a 128 x 128 tile, or half of that in each direction
 * of a 64 x 64 tile. Blocks go down groups of 8 row tiles, so that x and w stay in the cache.
 *
 * linear_gated: rows of w are gates and values in blocks of 16 (linear.h).
 *
 * Each element of y is one chain over k = 0, 16, 32, ..., whatever the tile: the same bits from
 * either tile size and for any number of rows. Rows and columns behind the end read zeros and
 * write nothing; k is zero-padded to 32. Any alignment works; 16 bytes is fast. */
#include "gpu_act.h"

enum { SLICE = 32, LD = SLICE + 8, STAGES = COPY_ASYNC ? 4 : 1, GROUP = 8 };

/* ---- shape of a tile ---- */

template <int size> struct shape {
    enum {
        THREADS = 2 * size,
        WAVES = THREADS / WAVE,
        WAVES_M = 2,
        WAVES_N = WAVES / WAVES_M,
        MT = size / WAVES_M / 16,
        NT = size / WAVES_N / 16,
        CHUNKS = size * SLICE / 8 / THREADS /* pieces of 8 elements, per thread and operand */
    };
    struct stages {
        f16 x[STAGES][size * LD], w[STAGES][size * LD];
    };
};

/* ---- slices ---- */

/* One operand: rows from `row` on, of which `rows` are there; zero elsewhere. */
struct operand {
    const f16 *base;
    int64_t ld;
    int rows, k;
    bool whole; /* 16-byte chunks are aligned and do not cross the end of k */
};

DEV operand make_operand(const void *base, int64_t ld, int64_t row, int64_t rows, int k)
{
    const f16 *first = (const f16 *)base + row * ld;
    const int64_t left = rows - row;
    return operand{first, ld, (int)(left < 128 ? left : 128), k,
                   ((u64)base | (u64)ld * 2 | (u64)k * 2) % 16 == 0};
}

DEV f16x8 chunk_of(const operand &o, int r, int c)
{
    f16x8 v = {0, 0, 0, 0, 0, 0, 0, 0};
    if (r < o.rows && c < o.k) {
        const f16 *at = o.base + r * o.ld + c;
        if (o.whole) {
            v = *(const f16x8 *)at;
        } else {
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++)
                if (c + i < o.k)
                    v[i] = at[i];
        }
    }
    return v;
}

/* Chunk i of this thread: row and column within the slice. */
template <int size> DEV int chunk_row(int i)
{
    return (thread_id() + i * shape<size>::THREADS) / (SLICE / 8);
}
DEV int chunk_column()
{
    return thread_id() % (SLICE / 8) * 8;
}

#if COPY_ASYNC
template <int size> DEV void fetch(const operand &o, f16 *to, int k0)
{
#pragma GCC unroll 4
    for (int i = 0; i < shape<size>::CHUNKS; i++) {
        const int r = chunk_row<size>(i), c = k0 + chunk_column();
        f16 *at = to + r * LD + chunk_column();
        if (o.whole) {
            const bool there = r < o.rows && c < o.k;
            copy_async(at, there ? o.base + r * o.ld + c : o.base, there ? 16 : 0);
        } else {
            *(f16x8 *)at = chunk_of(o, r, c);
        }
    }
}
#else
template <int size> struct chunks {
    f16x8 of[shape<size>::CHUNKS];
};

template <int size> DEV chunks<size> read_slice(const operand &o, int k0)
{
    chunks<size> v;
#pragma GCC unroll 4
    for (int i = 0; i < shape<size>::CHUNKS; i++)
        v.of[i] = chunk_of(o, chunk_row<size>(i), k0 + chunk_column());
    return v;
}

template <int size> DEV void write_slice(f16 *to, const chunks<size> &v)
{
#pragma GCC unroll 4
    for (int i = 0; i < shape<size>::CHUNKS; i++)
        *(f16x8 *)(to + chunk_row<size>(i) * LD + chunk_column()) = v.of[i];
}
#endif

/* ---- products ---- */

template <int size> struct sums {
    acc of[shape<size>::MT][shape<size>::NT];
};

/* x, w: this wave's rows of a slice. */
template <int size> DEV void multiply_slice(sums<size> &d, const f16 *x, const f16 *w)
{
    typedef shape<size> S;
#pragma GCC unroll 2
    for (int k = 0; k < SLICE; k += 16) {
        frag a[S::MT], b[S::NT];
#pragma GCC unroll 8
        for (int i = 0; i < S::MT; i++)
            a[i] = frag_x(x + i * 16 * LD + k, LD);
#pragma GCC unroll 8
        for (int j = 0; j < S::NT; j++)
            b[j] = frag_w(w + j * 16 * LD + k, LD);
#pragma GCC unroll 8
        for (int i = 0; i < S::MT; i++)
#pragma GCC unroll 8
            for (int j = 0; j < S::NT; j++)
                multiply(d.of[i][j], a[i], b[j]);
    }
}

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

/* m0, n0: of this wave. */
template <int size, typename Y>
DEV void finish(const struct bi_linear_params &p, const sums<size> &d, int64_t m0, int n0,
                int64_t rows)
{
    typedef shape<size> S;
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
                    v[i] = linear_act(v[i], p.act);
                    if (p.residual && n + i < p.n)
                        v[i] += (float)((const Y *)p.residual)[m * p.ldr + n + i];
                }
                store_run((Y *)p.y + m * p.ldy + n, v, whole, p.n - n);
            }
        }
}

/* Columns of gates and of their values take turns, 16 each: both are in one thread. */
template <int size, typename Y>
DEV void finish_gated(const struct bi_linear_params &p, const sums<size> &d, int64_t m0, int n0,
                      int64_t rows)
{
    typedef shape<size> S;
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

/* ---- the kernel ---- */

template <int size, typename Y, bool gated = false>
DEV void linear(const struct bi_linear_params &p)
{
    typedef shape<size> S;
    SHARED(typename S::stages, s, sizeof(typename S::stages));
    const int64_t rows = bi_live_rows(p.counts, p.axis, p.rows);
    const int tiles_m = (int)((rows + size - 1) / size), tiles_n = (p.n + size - 1) / size;
    if (block_x() >= (int64_t)tiles_m * tiles_n)
        return;
    const int group = block_x() / (GROUP * tiles_n), within = block_x() % (GROUP * tiles_n);
    const int first = group * GROUP, high = tiles_m - first < GROUP ? tiles_m - first : GROUP;
    const int64_t m0 = (int64_t)(first + within % high) * size;
    const int n0 = within / high * size;
    const operand x = make_operand(p.x, p.ldx, m0, rows, p.k),
                  w = make_operand(p.w, p.k, n0, p.n, p.k);
    const int slices = (p.k + SLICE - 1) / SLICE;
    const int wm = wave_id() % S::WAVES_M * (S::MT * 16);
    const int wn = wave_id() / S::WAVES_M * (S::NT * 16);
    sums<size> d = {};

#if COPY_ASYNC
#pragma GCC unroll 4
    for (int i = 0; i < STAGES - 1; i++) {
        if (i < slices) {
            fetch<size>(x, s.x[i], i * SLICE);
            fetch<size>(w, s.w[i], i * SLICE);
        }
        copy_commit();
    }
    for (int i = 0; i < slices; i++) {
        const int next = i + STAGES - 1;
        copy_wait<STAGES - 2>();
        barrier(); /* slice i is there for all, and slice i - 1 is used up */
        if (next < slices) {
            fetch<size>(x, s.x[next % STAGES], next * SLICE);
            fetch<size>(w, s.w[next % STAGES], next * SLICE);
        }
        copy_commit();
        multiply_slice<size>(d, s.x[i % STAGES] + wm * LD, s.w[i % STAGES] + wn * LD);
    }
#else
    chunks<size> cx = read_slice<size>(x, 0), cw = read_slice<size>(w, 0);
    for (int i = 0; i < slices; i++) {
        barrier(); /* slice i - 1 is used up */
        write_slice(s.x[0], cx);
        write_slice(s.w[0], cw);
        barrier(); /* slice i is there for all */
        if (i + 1 < slices) {
            cx = read_slice<size>(x, (i + 1) * SLICE);
            cw = read_slice<size>(w, (i + 1) * SLICE);
        }
        multiply_slice<size>(d, s.x[0] + wm * LD, s.w[0] + wn * LD);
    }
#endif
    if (gated)
        finish_gated<size, Y>(p, d, m0 + wm, n0 + wn, rows);
    else
        finish<size, Y>(p, d, m0 + wm, n0 + wn, rows);
}

KERNEL(linear_f16_f16, struct bi_linear_params, 256, 2)
{
    linear<128, f16>(p);
}

KERNEL(linear_f16_f32, struct bi_linear_params, 256, 2)
{
    linear<128, float>(p);
}

KERNEL(linear_small_f16_f16, struct bi_linear_params, 128, 4)
{
    linear<64, f16>(p);
}

KERNEL(linear_gated_f16_f16, struct bi_linear_params, 256, 2)
{
    linear<128, f16, true>(p);
}

KERNEL(linear_gated_small_f16_f16, struct bi_linear_params, 128, 4)
{
    linear<64, f16, true>(p);
}

KERNEL(linear_small_f16_f32, struct bi_linear_params, 128, 4)
{
    linear<64, float>(p);
}
