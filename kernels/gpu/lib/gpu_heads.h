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
