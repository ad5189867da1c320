/* list_sums.h - sums over rows that lists name. */
#ifndef BI_LIST_SUMS_PARAMS_H
#define BI_LIST_SUMS_PARAMS_H

#include "counts.h"

/* A list makes one of these of its rows v. They are zeros for BI_LIST_NONE and, for BI_LIST_SPAN,
 * the largest number of each column in rows first ... end - 1 of x. */
enum bi_list_kind {
    BI_LIST_SUM,  /* the sum of v */
    BI_LIST_GAP,  /* the largest |v - other|, 0 of no row */
    BI_LIST_GAPS, /* the sum of |v - other| */
    BI_LIST_KINDS
};

enum { BI_LIST_NONE = -1, BI_LIST_SPAN = -2 };

/* lists has first and end; where each of n lists ends; `size` rows of x, of all lists, one behind
 * the other; then, unless the kind is BI_LIST_SUM, as many rows of `other`, which these are
 * compared with.
 *   y[2 i, c] + y[2 i + 1, c] = what list i makes of column c
 * Sums are made in float64 in an order that is the same for lists of one length; the second row is
 * what rounding to float32 leaves of the first, so that together they hold 48 bits. */
struct bi_list_sums_params {
    const struct bi_counts *counts;
    const float *x, *other;
    const int32_t *lists;
    float *y; /* [2 n, width] */
    int64_t ldx, ldo, ldy, size;
    int32_t n, width, kind;
};

/* ---- rows of a window that are there a tile at a time ---- */

/* The words of `tile` [BI_TILE_WORDS]: row r of the window is row r - BASE of x, and rows FIRST ...
 * END - 1 of the window are the tile's own. */
enum { BI_TILE_BASE, BI_TILE_FIRST, BI_TILE_END, BI_TILE_WORDS };

/* Sums of n lists as far as tiles have been there: y [n BI_SUMS_ROWS, width]. Its first rows,
 * [2 n, width], are those of list_sums; then come BI_SUMS_SLICES partial sums of each list, each of
 * them the two words of a float64, low and high; then a row for each list, the largest numbers of
 * the span as far as its rows have been there. All zeros before the first tile. */
enum { BI_SUMS_SLICES = 8, BI_SUMS_ROWS = 2 + 2 * BI_SUMS_SLICES + 1 };

/* Adds to y what lists make of the tile's own rows. cuts [2 n]: the first entry of each list that
 * is this tile's, counted over all lists, then the ends of these. BI_LIST_SPAN is an entry of the
 * tile that has the last row of the span. Behind the last tile y has the bits of list_sums, as the
 * entries of each partial sum are added in the order in which that adds them. */
struct bi_list_add_params {
    const struct bi_counts *counts;
    const float *x, *other;
    const int32_t *lists, *tile, *cuts;
    float *y;
    int64_t ldx, ldo, size;
    int32_t n, width, kind;
};

/* y[i] = row list[i] of the window where that is one of the tile's own; other rows of y stay.
 * x: [rows of the tile, width], y: [rows, width] */
struct bi_put_listed_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *list, *tile;
    float *y;
    int64_t ldx, rows;
    int32_t width;
};

#endif
