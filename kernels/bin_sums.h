/* bin_sums.h - what the bins of a window of DNA sum up to. */
#ifndef BI_BIN_SUMS_PARAMS_H
#define BI_BIN_SUMS_PARAMS_H

#include "counts.h"
#include "list_sums.h"

/* Sums over the rows w bins ... w bins + bins - 1 of x [n_windows * bins, width], none below
 * zero:
 *   y[w n + 0, c] + y[w n + 1, c] = sum of x[r, c]
 *   y[w n + 2, c] + y[w n + 3, c] = sum of log2(1 + x[r, c])      where `logs`
 * y: [n_windows * n, width], n = 2, with `logs` 4. Added in float64; the second row is what
 * rounding to float32 leaves of the first, so together they hold 48 bits, enough for differences of
 * alleles. */
struct bi_bin_sums_params {
    const struct bi_counts *counts;
    const float *x;
    float *y;
    int64_t ldx, ldy, bins;
    int32_t n_windows, width, logs;
};

/* Adds the own rows of a tile of a window to y [n BI_SUMS_ROWS, width], n = 1, with `logs` 2, as
 * list_add adds those of n lists that name all rows (list_sums.h): behind the last tile the first
 * rows of y have the bits of bin_sums. x: [rows of the tile, width] */
struct bi_bin_add_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *tile;
    float *y;
    int64_t ldx;
    int32_t width, logs;
};

#endif
