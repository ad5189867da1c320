/* bin_sums.cu - what the bins of a window sum up to, and their logarithms: bin_sums, bin_add.
 *
 * A block takes 32 columns of a window, a group of 32 threads every eighth row, eight of them asked
 * for at once; then one group adds the eight. */
#include "lib/gpu_rows.h"

#include "../bin_sums.h"
#include "lib/gpu_sums.h"

enum { BIN_SLICES = ROW_THREADS / ROW_LANES, BIN_ROWS = 8 };
static_assert((int)BIN_SLICES == (int)BI_SUMS_SLICES, "partial sums of slices");

struct bin_sums {
    double of[2][BIN_SLICES][ROW_LANES];
};

/* log2(x), x >= 1, to an ulp or two: 2 / ln 2 times the series of artanh((m - 1) / (m + 1)), where
 * x = 2^n m and m is near 1. */
DEV double log2_double(double x)
{
    const u64 all = bits<u64>(x);
    int n = (int)(all >> 52) - 1023;
    double m = bits<double>((all & 0xfffffffffffffull) | 0x3ff0000000000000ull), sum = 0;
    if (n >= 1024 || n < 0) /* infinity, NaN, what is no sum of 1 and a track */
        return x;
    if (m > 1.4142135623730951) {
        m *= 0.5;
        n++;
    }
    const double t = (m - 1) / (m + 1), tt = t * t;
#pragma GCC unroll 11
    for (int i = 21; i > 0; i -= 2)
        sum = sum * tt + 1.0 / i;
    return n + 2.8853900817779268 * t * sum;
}

/* Adds every BIN_SLICES-th row of a column from `first` on; rows that are not there are zeros, and
 * add none. */
template <bool LOGS>
DEV void add_bins(const float *x, int64_t ldx, int64_t first, int64_t end, double &sum,
                  double &logs)
{
    for (int64_t r = first; r < end; r += BIN_SLICES * BIN_ROWS) {
        float v[BIN_ROWS];
#pragma GCC unroll 8
        for (int i = 0; i < BIN_ROWS; i++)
            v[i] = r + i * BIN_SLICES < end ? x[(r + i * BIN_SLICES) * ldx] : 0;
#pragma GCC unroll 8
        for (int i = 0; i < BIN_ROWS; i++) {
            sum += (double)v[i];
            if (LOGS)
                logs += log2_double(1 + (double)v[i]);
        }
    }
}

/* Joins what the slices have of a column: y are its sums, of p.logs those of logarithms below. */
template <typename P>
DEV void join_slices(const P &p, bin_sums &s, int c, float *y, int64_t ldy, double sum, double logs)
{
    const int lane = thread_id() % ROW_LANES, slice = thread_id() / ROW_LANES;
    s.of[0][slice][lane] = sum;
    s.of[1][slice][lane] = logs;
    barrier();
    if (slice > 0 || c >= p.width)
        return;
#pragma GCC unroll 1
    for (int i = 1; i < BIN_SLICES; i++) {
        sum += s.of[0][i][lane];
        logs += s.of[1][i][lane];
    }
    put_sum(y, ldy, sum);
    if (p.logs)
        put_sum(y + 2 * ldy, ldy, logs);
}

KERNEL(bin_sums_f32, struct bi_bin_sums_params, ROW_THREADS, 4)
{
    SHARED(bin_sums, s, sizeof(bin_sums));
    const int lane = thread_id() % ROW_LANES, slice = thread_id() / ROW_LANES;
    const int c = block_x() * ROW_LANES + lane, window = block_y();
    const float *x = p.x + window * p.bins * p.ldx + c;
    double sum = 0, logs = 0;
    if (c < p.width && p.logs)
        add_bins<true>(x, p.ldx, slice, p.bins, sum, logs);
    else if (c < p.width)
        add_bins<false>(x, p.ldx, slice, p.bins, sum, logs);
    join_slices(p, s, c, p.y + window * (p.logs ? 4 : 2) * p.ldy + c, p.ldy, sum, logs);
}

/* The same of a tile: a slice takes the rows that it has of the window. */
KERNEL(bin_add_f32, struct bi_bin_add_params, ROW_THREADS, 4)
{
    SHARED(bin_sums, s, sizeof(bin_sums));
    const int lane = thread_id() % ROW_LANES, slice = thread_id() / ROW_LANES;
    const int c = block_x() * ROW_LANES + lane;
    const int64_t base = p.tile[BI_TILE_BASE], own = p.tile[BI_TILE_FIRST];
    const int64_t first = own + (slice + BIN_SLICES - own % BIN_SLICES) % BIN_SLICES - base;
    const int64_t end = p.tile[BI_TILE_END] - base;
    float *y = p.y + c, *part = y + ((p.logs ? 4 : 2) + 2 * slice) * (int64_t)p.width;
    float *logs_part = part + 2 * BI_SUMS_SLICES * (int64_t)p.width;
    double sum = 0, logs = 0;
    if (c < p.width) {
        sum = load_part(part, p.width);
        if (p.logs) {
            logs = load_part(logs_part, p.width);
            add_bins<true>(p.x + c, p.ldx, first, end, sum, logs);
            store_part(logs_part, p.width, logs);
        } else {
            add_bins<false>(p.x + c, p.ldx, first, end, sum, logs);
        }
        store_part(part, p.width, sum);
    }
    join_slices(p, s, c, y, p.width, sum, logs);
}
