/* gpu_heads.h - rows of one head into shared memory, and f32 products of tiles of them.
 *
 * The f32 tiles: a block of 256 threads has 32 rows (queries) and 32 columns (keys, or 64
 * columns of values); thread t works for row t / 8. Head widths are taken 64 at a time. */
#ifndef BI_GPU_HEADS_H
#define BI_GPU_HEADS_H

#include "gpu_tiles.h"

struct head_rows {
    const void *base; /* row 0, head width d */
    int64_t ld;
    const float *table; /* rotate; row 0; NULL = do not */
    int rows, d;        /* rows that are there */
};

/* Number i, below d, of row x of a head, rotated by row r of the table by halves; h.table must not
 * be NULL. */
template <typename T> DEV float rotated(const head_rows &h, const T *x, int r, int i)
{
    const int half = h.d / 2, j = i < half ? i : i - half;
    const float *row = h.table + (int64_t)r * h.d;
    const float a = (float)x[i], b = (float)x[i < half ? i + half : j];
    return fma_(a, row[j], i < half ? -(b * row[half + j]) : b * row[half + j]);
}

/* to[r * ld + i] = column first + i of row r, rotated where there is a table; zero where there is
 * nothing. All threads of the block call it; there is no barrier in it. */
template <int rows, int width, int threads, typename T, typename To>
DEV void read_plain(const head_rows &h, int first, To *to, int ld)
{
    for (int at = thread_id(); at < rows * width; at += threads) {
        const int r = at / width, i = at % width;
        float v = 0;
        if (r < h.rows && first + i < h.d) {
            const T *x = (const T *)h.base + r * h.ld;
            v = h.table ? rotated(h, x, r, first + i) : (float)x[first + i];
        }
        to[r * ld + i] = (To)v;
    }
}

/* The same of rows that are not rotated, asynchronously where they lie on 16 bytes and the target
 * can: then they are there after copy_commit(), copy_wait() and a barrier. */
template <int rows, int width, int threads, typename T>
DEV void bring_rows(const head_rows &h, T *to, int ld)
{
    enum { CHUNK = 16 / sizeof(T) };
    if (((u64)h.base | (u64)h.ld * sizeof(T) | (u64)h.d * sizeof(T)) % 16) {
        read_plain<rows, width, threads, T>(h, 0, to, ld);
        return;
    }
    for (int at = anew(thread_id()); at < rows * width / CHUNK; at += threads) {
        const int r = at / (width / CHUNK), i = at % (width / CHUNK) * CHUNK;
        const bool there = r < h.rows && i < h.d;
        const T *from = (const T *)h.base + (there ? r * h.ld + i : 0);
#if COPY_ASYNC
        copy_async(to + r * ld + i, from, there ? 16 : 0);
#else
        typedef T chunk __attribute__((vector_size(16)));
        const chunk zero = {};
        *(chunk *)(to + r * ld + i) = there ? *(const chunk *)from : zero;
#endif
    }
}

/* Rotates rows of a head in shared memory, by as many rows of the table of d columns, ldt apart.
 * A row has `width` columns at most. All threads of the block call it; it has no barrier. */
template <int rows, int width, int threads>
DEV void rotate_rows(float *x, int ld, const float *table, int ldt, int d)
{
    const int half = d / 2, by = half % 4 ? 1 : 4, pairs = width / 2 / by;
    for (int at = thread_id(); at < rows * pairs; at += threads) {
        const int r = at / pairs, i = at % pairs * by;
        float *a = x + r * ld + i, *b = a + half;
        const float *cosine = table + r * ldt + i, *sine = cosine + half;
        if (i >= half)
            continue;
        if (by == 4) {
            const f32x4 low = *(const f32x4 *)a, high = *(const f32x4 *)b;
            const f32x4 c = *(const f32x4 *)cosine, s = *(const f32x4 *)sine;
            f32x4 l, h;
#pragma GCC unroll 4
            for (int j = 0; j < 4; j++) {
                l[j] = fma_(low[j], c[j], -(high[j] * s[j]));
                h[j] = fma_(high[j], c[j], low[j] * s[j]);
            }
            *(f32x4 *)a = l;
            *(f32x4 *)b = h;
        } else {
            const float low = *a, high = *b;
            *a = fma_(low, *cosine, -(high * *sine));
            *b = fma_(high, *cosine, low * *sine);
        }
    }
}

/* ---- f32 tiles ---- */

enum { PAIR_ROWS = 32, PAIR_PART = 64, PAIR_THREADS = 256, PAIR_OF = PAIR_ROWS / 8 };

struct pair_tiles {
    float x[PAIR_ROWS * (PAIR_PART + 1)], w[PAIR_ROWS * (PAIR_PART + 1)];
    float p[PAIR_ROWS * (PAIR_ROWS + 1)];
};

/* Row and first column of this thread; its columns are 8 apart. */
DEV int pair_row()
{
    return thread_id() / 8;
}
DEV int pair_column(int c)
{
    return thread_id() % 8 + 8 * c;
}

/* Each of[c] = row pair_row() of x times row pair_column(c) of w, one chain over the head width. */
struct pair_scores {
    float of[PAIR_OF];
};

/* Makes them of PAIR_ROWS rows each at most, 0 for rows that are not there. All threads of the
 * block call it; s.x and s.w are used, and may still be read when it returns. */
template <typename T>
DEV pair_scores multiply_pairs(pair_tiles &s, const head_rows &x, const head_rows &w)
{
    enum { LD = PAIR_PART + 1 };
    pair_scores d = {};
    for (int first = 0; first < x.d; first += PAIR_PART) {
        const int left = x.d - first < PAIR_PART ? x.d - first : PAIR_PART;
        barrier(); /* the numbers there are used up */
        read_plain<PAIR_ROWS, PAIR_PART, PAIR_THREADS, T>(x, first, s.x, LD);
        read_plain<PAIR_ROWS, PAIR_PART, PAIR_THREADS, T>(w, first, s.w, LD);
        barrier();
        for (int i = 0; i < left; i++)
#pragma GCC unroll 4
            for (int c = 0; c < PAIR_OF; c++)
                d.of[c] = fma_(s.x[pair_row() * LD + i], s.w[pair_column(c) * LD + i], d.of[c]);
    }
    return d;
}

/* Adds to of[c] the weights s.p of row pair_row() times column first + pair_column(c) of v; s.p
 * must have been written, no barrier needed since. */
struct pair_values {
    float of[PAIR_PART / 8];
};

/* Adds them to o, for the rows of v that are there, PAIR_ROWS at most. All threads of the block
 * call it; s.w is used, and s.w and s.p may still be read when it returns. */
template <typename T>
DEV void mix_pairs(pair_tiles &s, const head_rows &v, int first, pair_values &o)
{
    enum { LD = PAIR_PART + 1 };
    const int keys = v.rows < PAIR_ROWS ? v.rows : PAIR_ROWS;
    barrier(); /* the numbers there are used up */
    read_plain<PAIR_ROWS, PAIR_PART, PAIR_THREADS, T>(v, first, s.w, LD);
    barrier();
    for (int j = 0; j < keys; j++)
#pragma GCC unroll 8
        for (int c = 0; c < PAIR_PART / 8; c++)
            o.of[c] = fma_(s.p[pair_row() * (PAIR_ROWS + 1) + j], s.w[j * LD + pair_column(c)],
                           o.of[c]);
}

#endif
