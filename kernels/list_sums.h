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

#endif
