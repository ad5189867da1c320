/* linear_f32.cu - y = act(x w^T + bias) + residual, all in f32: the exact mode.
 *
 * Every element of y is one chain of fused multiply-adds over k = 0, 1, ..., from 0, as on the
 * CPU. A block makes 128 x 128 of y from k-slices of 16 in shared memory, transposed; the next
 * slice is in registers while one is multiplied. A thread has rows and columns 4 i ... 4 i + 3
 * and the same plus 64. Any alignment works; 16 bytes is fast.
 *
 * linear_small_f32 makes 16 x 16, an element to a thread, from k-slices of 128: for few rows,
 * where a launch takes as long as its longest chain. */
#include "lib/gpu_act.h"
#include "lib/gpu_mix.h"
#include "lib/gpu_rows.h"

enum { F32_SIZE = 128, F32_SLICE = 16, F32_LD = F32_SIZE + 4, F32_THREADS = 256 };

struct f32_tiles {
    float x[F32_SLICE * F32_LD], w[F32_SLICE * F32_LD];
};

/* 16 columns from k0 of rows row0 ...: thread t has columns 4 (t % 4) of rows t / 4, + 64. */
struct f32_chunks {
    f32x4 of[2];
};

DEV f32_chunks read_f32(const float *base, int64_t ld, int64_t row0, int64_t rows, int k0, int k,
                        bool whole)
{
    const int c = k0 + thread_id() % 4 * 4;
    f32_chunks v = {};
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const int64_t r = row0 + thread_id() / 4 + 64 * i;
        if (r < rows)
            v.of[i] = load4(base + r * ld, c, k, whole);
    }
    return v;
}

DEV void write_f32(float *to, const f32_chunks &v)
{
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
#pragma GCC unroll 4
        for (int j = 0; j < 4; j++)
            to[(thread_id() % 4 * 4 + j) * F32_LD + thread_id() / 4 + 64 * i] = v.of[i][j];
}

/* Tile `block` of y, in rows of which `rows` are there. */
DEV void linear_tile(const struct bi_linear_params &p, f32_tiles &s, int64_t rows, int block)
{
    const int tiles_n = (p.n + F32_SIZE - 1) / F32_SIZE;
    const int64_t m0 = (int64_t)(block / tiles_n) * F32_SIZE;
    const int n0 = block % tiles_n * F32_SIZE;
    if (m0 >= rows)
        return;
    const float *weights = (const float *)p.w;
    const bool whole_x = ((u64)p.x | (u64)p.ldx * 4) % 16 == 0,
               whole_w = ((u64)weights | (u64)p.k * 4) % 16 == 0;
    const int row = thread_id() / 16 * 4, column = thread_id() % 16 * 4;
    float d[8][8] = {};
    f32_chunks x = read_f32(p.x, p.ldx, m0, rows, 0, p.k, whole_x),
               w = read_f32(weights, p.k, n0, p.n, 0, p.k, whole_w);

    for (int k0 = 0; k0 < p.k; k0 += F32_SLICE) {
        const int left = p.k - k0 < F32_SLICE ? p.k - k0 : F32_SLICE;
        barrier(); /* the last slice is used up */
        write_f32(s.x, x);
        write_f32(s.w, w);
        barrier();
        if (k0 + F32_SLICE < p.k) {
            x = read_f32(p.x, p.ldx, m0, rows, k0 + F32_SLICE, p.k, whole_x);
            w = read_f32(weights, p.k, n0, p.n, k0 + F32_SLICE, p.k, whole_w);
        }
#pragma nounroll
        for (int k = 0; k < left; k++) {
            f32x4 a[2], b[2];
#pragma GCC unroll 2
            for (int i = 0; i < 2; i++) {
                a[i] = *(const f32x4 *)&s.x[k * F32_LD + row + 64 * i];
                b[i] = *(const f32x4 *)&s.w[k * F32_LD + column + 64 * i];
            }
#pragma GCC unroll 8
            for (int i = 0; i < 8; i++)
#pragma GCC unroll 8
                for (int j = 0; j < 8; j++)
                    d[i][j] = fma_(a[i / 4][i % 4], b[j / 4][j % 4], d[i][j]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++)
#pragma GCC unroll 8
        for (int j = 0; j < 8; j++) {
            const int64_t m = m0 + row + i % 4 + i / 4 * 64;
            const int n = n0 + column + j % 4 + j / 4 * 64;
            if (p.gated) { /* blocks of 16: the value of a gate is 4 threads further */
                const float value = shuffle_xor(d[i][j], 4);
                if (column % 32 < 16 && m < rows && n < p.n)
                    p.y[m * p.ldy + n0 / 2 + (n - n0) / 32 * 16 + n % 16] = linear_act(d[i][j],
                                                                                       p.act) *
                                                                            value;
                continue;
            }
            linear_put(p, m, n, rows, d[i][j]);
        }
}

KERNEL(linear_f32, struct bi_linear_params, F32_THREADS, 2)
{
    SHARED(f32_tiles, s, sizeof(f32_tiles));
    linear_tile(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(tensor_mix_f32, struct bi_tensor_mix_params, F32_THREADS, 2)
{
    SHARED(f32_tiles, s, sizeof(f32_tiles));
    const mix_tile t = mix_tile_of(p, F32_SIZE);
    linear_tile(t.layer, s, t.rows, t.block);
}

enum { SMALL_SIZE = 16, SMALL_SLICE = 128, SMALL_LD = SMALL_SLICE + 4 };

struct small_tiles {
    float x[SMALL_SIZE * SMALL_LD], w[SMALL_SIZE * SMALL_LD];
};

/* A slice of row row0 + t / 16 from k0, zero behind k: thread t has columns 4 (t % 16) ... + 3
 * and the same plus 64. */
DEV f32_chunks read_small(const float *base, int64_t ld, int64_t row0, int64_t rows, int k0, int k,
                          bool whole)
{
    const int64_t r = row0 + thread_id() / 16;
    f32_chunks v = {};
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const int c = k0 + thread_id() % 16 * 4 + 64 * i;
        if (r < rows)
            v.of[i] = load4(base + r * ld, c, k, whole);
    }
    return v;
}

DEV void write_small(float *to, const f32_chunks &v)
{
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++)
        *(f32x4 *)&to[thread_id() / 16 * SMALL_LD + thread_id() % 16 * 4 + 64 * i] = v.of[i];
}

DEV void linear_small(const struct bi_linear_params &p, small_tiles &s, int64_t rows, int block)
{
    const int tiles_n = (p.n + SMALL_SIZE - 1) / SMALL_SIZE;
    const int64_t m0 = (int64_t)(block / tiles_n) * SMALL_SIZE;
    const int n0 = block % tiles_n * SMALL_SIZE;
    if (m0 >= rows)
        return;
    const float *weights = (const float *)p.w;
    const bool whole_x = ((u64)p.x | (u64)p.ldx * 4) % 16 == 0,
               whole_w = ((u64)weights | (u64)p.k * 4) % 16 == 0;
    const int64_t m = m0 + thread_id() / SMALL_SIZE;
    const int n = n0 + thread_id() % SMALL_SIZE;
    const float *row = s.x + thread_id() / SMALL_SIZE * SMALL_LD,
                *column = s.w + thread_id() % SMALL_SIZE * SMALL_LD;
    float d = 0;
    f32_chunks x = read_small(p.x, p.ldx, m0, rows, 0, p.k, whole_x),
               w = read_small(weights, p.k, n0, p.n, 0, p.k, whole_w);

    for (int k0 = 0; k0 < p.k; k0 += SMALL_SLICE) {
        const int left = p.k - k0 < SMALL_SLICE ? p.k - k0 : SMALL_SLICE;
        barrier(); /* the last slice is used up */
        write_small(s.x, x);
        write_small(s.w, w);
        barrier();
        if (k0 + SMALL_SLICE < p.k) {
            x = read_small(p.x, p.ldx, m0, rows, k0 + SMALL_SLICE, p.k, whole_x);
            w = read_small(weights, p.k, n0, p.n, k0 + SMALL_SLICE, p.k, whole_w);
        }
        for (int k = 0; k < left / 4 * 4; k += 4) {
            const f32x4 a = *(const f32x4 *)&row[k], b = *(const f32x4 *)&column[k];
#pragma GCC unroll 4
            for (int i = 0; i < 4; i++)
                d = fma_(a[i], b[i], d);
        }
        for (int k = left / 4 * 4; k < left; k++)
            d = fma_(row[k], column[k], d);
    }
    linear_put(p, m, n, rows, d);
}

KERNEL(linear_small_f32, struct bi_linear_params, F32_THREADS, 4)
{
    SHARED(small_tiles, s, sizeof(small_tiles));
    linear_small(p, s, bi_live_rows(p.counts, p.axis, p.rows), block_x());
}

KERNEL(tensor_mix_small_f32, struct bi_tensor_mix_params, F32_THREADS, 4)
{
    SHARED(small_tiles, s, sizeof(small_tiles));
    const mix_tile t = mix_tile_of(p, SMALL_SIZE);
    linear_small(t.layer, s, t.rows, t.block);
}
