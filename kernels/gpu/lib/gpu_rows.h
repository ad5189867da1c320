/* gpu_rows.h - kernels whose rows do not know each other: 32 threads to a row, 8 rows to a
 * block of 256. Thread l of a row owns columns 4 l ... 4 l + 3 of every 128, on every device
 * and whatever the alignment, so sums have one order. */
#ifndef BI_GPU_ROWS_H
#define BI_GPU_ROWS_H

#include "gpu.h"

enum { ROW_THREADS = 256, ROW_LANES = 32, ROWS_PER_BLOCK = ROW_THREADS / ROW_LANES };

/* The row of this thread, counted over all blocks; it may be behind the last one. */
DEV int64_t my_row()
{
    return (int64_t)block_x() * ROWS_PER_BLOCK + thread_id() / ROW_LANES;
}

/* The first of the four columns that this thread takes first. */
DEV int my_column()
{
    return thread_id() % ROW_LANES * 4;
}

/* May rows be read four elements at a time? So it is where p and the row stride ld are multiples of
 * four elements; nothing is said of the width. */
template <typename T> DEV bool fours(const T *p, int64_t ld)
{
    return ((u64)p | (u64)ld * sizeof(T)) % (4 * sizeof(T)) == 0;
}

/* Four elements where they may be read at a time. */
template <typename T> DEV f32x4 load_four(const T *from)
{
    typedef T T4 __attribute__((vector_size(4 * sizeof(T))));
    const T4 x = *(const T4 *)from;
    return f32x4{(float)x[0], (float)x[1], (float)x[2], (float)x[3]};
}
template <typename T> DEV void store_four(T *to, f32x4 v)
{
    typedef T T4 __attribute__((vector_size(4 * sizeof(T))));
    *(T4 *)to = T4{(T)v[0], (T)v[1], (T)v[2], (T)v[3]};
}

/* Columns c ... c + 3 of a row; zero from `width` on, which is not read. whole: what fours() says
 * of the rows; c is a multiple of 4. */
template <typename T> DEV f32x4 load4(const T *row, int c, int width, bool whole)
{
    f32x4 v = {0, 0, 0, 0};
    if (whole && c + 4 <= width) {
        v = load_four(row + c);
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            if (c + i < width)
                v[i] = (float)row[c + i];
    }
    return v;
}

/* Writes columns c ... c + 3 of a row; those from `width` on are left out. */
template <typename T> DEV void store4(T *row, int c, int width, bool whole, f32x4 v)
{
    if (whole && c + 4 <= width) {
        store_four(row + c, v);
    } else {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            if (c + i < width)
                row[c + i] = (T)v[i];
    }
}

/* Mean and 1 / sqrt(variance + eps) of a row, in two passes, by the 32 lanes of the row, all
 * of which must call it; width 0 reads nothing, and gives NaN. rms: as if the mean were 0, and mean
 * is 0. */
struct moments {
    float mean, scale;
};

/* each(use) calls use(c, columns c ... c + 3) for those of this thread, in order, with zeros from
 * `width` on; it is called twice, with rms once. whole: width is a multiple of 4. */
template <typename F> DEV moments row_moments(F each, int width, bool whole, float eps, bool rms)
{
    f32x4 sum = {0, 0, 0, 0}, square = {0, 0, 0, 0};
    if (!rms)
        each([&](int c, const f32x4 &v)
                 ALWAYS_INLINE { sum += c < width ? v : f32x4{0, 0, 0, 0}; });
    const float mean = rms ? 0 : lanes_sum((sum[0] + sum[1]) + (sum[2] + sum[3])) / (float)width;
    each([&](int c, const f32x4 &v) ALWAYS_INLINE {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++)
            if (whole ? c < width : c + i < width)
                square[i] = fma_(v[i] - mean, v[i] - mean, square[i]);
    });
    const float variance = lanes_sum((square[0] + square[1]) + (square[2] + square[3])) /
                           (float)width;
    return moments{mean, 1.0f / __builtin_sqrtf(variance + eps)};
}

/* The mean and the factor of a norm of row x, the same in all lanes of the row, which all take
 * part; rms: the mean is 0. */
template <typename T>
DEV moments row_moments(const T *x, int width, bool whole, float eps, bool rms)
{
    return row_moments(
        [=](auto use) ALWAYS_INLINE {
#pragma GCC unroll 4
            for (int c = my_column(); c < width; c += 4 * ROW_LANES)
                use(c, load4(x, c, width, whole));
        },
        width, whole && width % 4 == 0, eps, rms);
}

#endif
