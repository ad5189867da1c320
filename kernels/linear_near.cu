/* linear_near.cu - y = act(x w^T + bias) + residual, all in f32, on matrix units.
 *
 * As linear.cu, with slices of 16 columns: a block makes a tile of y, a wave holds a part of it.
 * Every element of y is one chain over k = 0, 16, 32, ..., whatever the tile: the same bits from
 * both sizes and for any number of rows. Errors are those of float32 sums, and on NVIDIA
 * 2^-21 of the products beside (gpu.h). Rows and columns behind the end read zeros and write
 * nothing; k is zero-padded to 16. Any alignment works; 16 bytes is fast. */
#include "gpu_act.h"
#include "gpu_mix.h"

enum { NEAR_SLICE = 16, NEAR_LD = COPY_ASYNC ? NEAR_SLICE : NEAR_SLICE + 4, NEAR_GROUP = 8 };

/* ---- shape of a tile ---- */

template <int size> struct near_shape {
    enum {
        THREADS = 128,
        WAVES = THREADS / WAVE,
        WAVES_M = 2,
        WAVES_N = WAVES / WAVES_M,
        MT = size / WAVES_M / 16,
        NT = size / WAVES_N / 16,
        STAGES = !COPY_ASYNC  ? 1
                 : size == 32 ? 8
                              : 4,
        CHUNKS = size * NEAR_SLICE / 4 / THREADS /* each of 4 elements, per thread and operand */
    };
    struct stages {
        float x[STAGES][size * NEAR_LD], w[STAGES][size * NEAR_LD];
    };
};

/* ---- slices ---- */

/* One operand: rows from `row` on, of which `rows` are there; zero elsewhere. */
struct near_operand {
    const float *base;
    int64_t ld;
    int rows, k;
    bool whole; /* 16-byte chunks are aligned and do not cross the end of k */
};

DEV near_operand make_near_operand(const void *base, int64_t ld, int64_t row, int64_t rows, int k)
{
    const float *first = (const float *)base + row * ld;
    const int64_t left = rows - row;
    return near_operand{first, ld, (int)(left < 128 ? left : 128), k,
                        ((u64)base | (u64)ld * 4 | (u64)k * 4) % 16 == 0};
}

DEV f32x4 near_chunk_of(const near_operand &o, int r, int c)
{
    f32x4 v = {0, 0, 0, 0};
    if (r < o.rows && c < o.k) {
        const float *at = o.base + r * o.ld + c;
        if (o.whole) {
            v = *(const f32x4 *)at;
        } else {
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                if (c + i < o.k)
                    v[i] = at[i];
        }
    }
    return v;
}

/* Chunk i of this thread: row and column within the slice. */
template <int size> DEV int near_chunk_row(int i)
{
    return (thread_id() + i * near_shape<size>::THREADS) / (NEAR_SLICE / 4);
}
DEV int near_chunk_column()
{
    return thread_id() % (NEAR_SLICE / 4) * 4;
}

#if COPY_ASYNC
template <int size> DEV void near_fetch(const near_operand &o, float *to, int k0)
{
#pragma GCC unroll 2
    for (int i = 0; i < near_shape<size>::CHUNKS; i++) {
        const int r = near_chunk_row<size>(i), c = k0 + near_chunk_column();
        float *at = to + r * NEAR_LD + near_chunk_column();
        if (o.whole) {
            const bool there = r < o.rows && c < o.k;
            copy_async(at, there ? o.base + r * o.ld + c : o.base, there ? 16 : 0);
        } else {
            *(f32x4 *)at = near_chunk_of(o, r, c);
        }
    }
}
#else
template <int size> struct near_chunks {
    f32x4 of[near_shape<size>::CHUNKS];
};

template <int size> DEV near_chunks<size> read_near_slice(const near_operand &o, int k0)
{
    near_chunks<size> v;
#pragma GCC unroll 2
    for (int i = 0; i < near_shape<size>::CHUNKS; i++)
        v.of[i] = near_chunk_of(o, near_chunk_row<size>(i), k0 + near_chunk_column());
    return v;
}

template <int size> DEV void write_near_slice(float *to, const near_chunks<size> &v)
{
#pragma GCC unroll 2
    for (int i = 0; i < near_shape<size>::CHUNKS; i++)
        *(f32x4 *)(to + near_chunk_row<size>(i) * NEAR_LD + near_chunk_column()) = v.of[i];
}
#endif

/* ---- products ---- */

template <int size> struct near_sums {
    acc of[near_shape<size>::MT][near_shape<size>::NT];
};

/* x, w: this wave's rows of a slice. */
template <int size> DEV void multiply_near_slice(near_sums<size> &d, const float *x, const float *w)
{
    typedef near_shape<size> S;
    near_frag b[S::NT];
#pragma GCC unroll 4
    for (int j = 0; j < S::NT; j++)
        b[j] = near_frag_of(w + j * 16 * NEAR_LD, NEAR_LD);
#pragma GCC unroll 4
    for (int i = 0; i < S::MT; i++) {
        const near_frag a = near_frag_of(x + i * 16 * NEAR_LD, NEAR_LD);
#pragma GCC unroll 4
        for (int j = 0; j < S::NT; j++)
            multiply(d.of[i][j], a, b[j]);
    }
}

DEV void store_near_run(float *y, const float *v, bool whole, int n)
{
    typedef float run __attribute__((vector_size(ACC_RUN * sizeof(float))));
    if (whole && n >= ACC_RUN) {
        run r;
#pragma GCC unroll 4
        for (int i = 0; i < ACC_RUN; i++)
            r[i] = v[i];
        *(run *)y = r;
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < ACC_RUN; i++)
            if (i < n)
                y[i] = v[i];
    }
}

/* m0, n0: of this wave. */
template <int size>
DEV void finish_near(const struct bi_linear_params &p, const near_sums<size> &d, int64_t m0, int n0,
                     int64_t rows)
{
    typedef near_shape<size> S;
    const bool whole = ((u64)p.y | (u64)p.ldy * 4) % (ACC_RUN * 4) == 0;
#pragma GCC unroll 4
    for (int j = 0; j < S::NT; j++)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e += ACC_RUN) {
            const int n = n0 + j * 16 + acc_n(e);
            float bias[ACC_RUN];
#pragma GCC unroll 4
            for (int i = 0; i < ACC_RUN; i++)
                bias[i] = p.bias && n + i < p.n ? p.bias[n + i] : 0;
#pragma GCC unroll 4
            for (int t = 0; t < S::MT; t++) {
                const int64_t m = m0 + t * 16 + acc_m(e);
                float v[ACC_RUN];
                if (m >= rows || n >= p.n)
                    continue;
#pragma GCC unroll 4
                for (int i = 0; i < ACC_RUN; i++) {
                    v[i] = linear_act(d.of[t][j].of[e + i] + bias[i], p.act);
                    if (p.residual && n + i < p.n)
                        v[i] += p.residual[m * p.ldr + n + i];
                }
                store_near_run(p.y + m * p.ldy + n, v, whole, p.n - n);
            }
        }
}

/* Columns of gates and of their values take turns, 16 each: both are in one thread. */
template <int size>
DEV void finish_near_gated(const struct bi_linear_params &p, const near_sums<size> &d, int64_t m0,
                           int n0, int64_t rows)
{
    typedef near_shape<size> S;
    const bool whole = ((u64)p.y | (u64)p.ldy * 4) % (ACC_RUN * 4) == 0;
#pragma GCC unroll 4
    for (int j = 0; j + 1 < S::NT; j += 2)
#pragma GCC unroll 8
        for (int e = 0; e < ACC; e += ACC_RUN) {
            const int n = n0 / 2 + j * 8 + acc_n(e);
#pragma GCC unroll 4
            for (int t = 0; t < S::MT; t++) {
                const int64_t m = m0 + t * 16 + acc_m(e);
                float v[ACC_RUN];
                if (m >= rows || n >= p.n / 2)
                    continue;
#pragma GCC unroll 4
                for (int i = 0; i < ACC_RUN; i++)
                    v[i] = linear_act(d.of[t][j].of[e + i], p.act) * d.of[t][j + 1].of[e + i];
                store_near_run(p.y + m * p.ldy + n, v, whole, p.n / 2 - n);
            }
        }
}

/* ---- the kernel ---- */

/* Tile `block` of y, in rows of which `rows` are there. */
template <int size>
DEV void linear_near(const struct bi_linear_params &p, typename near_shape<size>::stages &s,
                     int64_t rows, int block)
{
    typedef near_shape<size> S;
    const int tiles_m = (int)((rows + size - 1) / size), tiles_n = (p.n + size - 1) / size;
    const int group = block / (NEAR_GROUP * tiles_n), within = block % (NEAR_GROUP * tiles_n);
    if (block >= tiles_m * tiles_n)
        return;
    const int first = group * NEAR_GROUP,
              high = tiles_m - first < NEAR_GROUP ? tiles_m - first : NEAR_GROUP;
    const int64_t m0 = (int64_t)(first + within % high) * size;
    const int n0 = within / high * size;
    const near_operand x = make_near_operand(p.x, p.ldx, m0, rows, p.k),
                       w = make_near_operand(p.w, p.k, n0, p.n, p.k);
    const int slices = (p.k + NEAR_SLICE - 1) / NEAR_SLICE;
    const int wm = wave_id() % S::WAVES_M * (S::MT * 16);
    const int wn = wave_id() / S::WAVES_M * (S::NT * 16);
    near_sums<size> d = {};

#if COPY_ASYNC
#pragma GCC unroll 8
    for (int i = 0; i < S::STAGES - 1; i++) {
        if (i < slices) {
            near_fetch<size>(x, s.x[i], i * NEAR_SLICE);
            near_fetch<size>(w, s.w[i], i * NEAR_SLICE);
        }
        copy_commit();
    }
    for (int i = 0; i < slices; i++) {
        const int next = i + S::STAGES - 1;
        copy_wait<S::STAGES - 2>();
        barrier(); /* slice i is there for all, and slice i - 1 is used up */
        if (next < slices) {
            near_fetch<size>(x, s.x[next % S::STAGES], next * NEAR_SLICE);
            near_fetch<size>(w, s.w[next % S::STAGES], next * NEAR_SLICE);
        }
        copy_commit();
        multiply_near_slice<size>(d, s.x[i % S::STAGES] + wm * NEAR_LD,
                                  s.w[i % S::STAGES] + wn * NEAR_LD);
    }
#else
    near_chunks<size> cx = read_near_slice<size>(x, 0), cw = read_near_slice<size>(w, 0);
    for (int i = 0; i < slices; i++) {
        barrier(); /* slice i - 1 is used up */
        write_near_slice<size>(s.x[0], cx);
        write_near_slice<size>(s.w[0], cw);
        barrier(); /* slice i is there for all */
        if (i + 1 < slices) {
            cx = read_near_slice<size>(x, (i + 1) * NEAR_SLICE);
            cw = read_near_slice<size>(w, (i + 1) * NEAR_SLICE);
        }
        multiply_near_slice<size>(d, s.x[0] + wm * NEAR_LD, s.w[0] + wn * NEAR_LD);
    }
#endif
    if (size > 32 && p.gated)
        finish_near_gated<size>(p, d, m0 + wm, n0 + wn, rows);
    else
        finish_near<size>(p, d, m0 + wm, n0 + wn, rows);
}

KERNEL(linear_near_f32, struct bi_linear_params, 128, 4)
{
    SHARED(near_shape<64>::stages, s, sizeof(near_shape<64>::stages));
    linear_near<64>(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(linear_near_32_f32, struct bi_linear_params, 128, 4)
{
    SHARED(near_shape<32>::stages, s, sizeof(near_shape<32>::stages));
    linear_near<32>(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(tensor_mix_near_f32, struct bi_tensor_mix_params, 128, 4)
{
    SHARED(near_shape<64>::stages, s, sizeof(near_shape<64>::stages));
    const mix_tile t = mix_tile_of(p, 64);
    linear_near<64>(t.layer, s, t.rows, t.block);
}

KERNEL(tensor_mix_near_32_f32, struct bi_tensor_mix_params, 128, 4)
{
    SHARED(near_shape<32>::stages, s, sizeof(near_shape<32>::stages));
    const mix_tile t = mix_tile_of(p, 32);
    linear_near<32>(t.layer, s, t.rows, t.block);
}
