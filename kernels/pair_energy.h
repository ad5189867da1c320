/* pair_energy.h - products of the rows of two sets of points, summed over pairs within a cutoff. */
#ifndef BI_PAIR_ENERGY_PARAMS_H
#define BI_PAIR_ENERGY_PARAMS_H

#include "counts.h"

/* The two sets of a sample, as rows. */
struct bi_pair_span {
    int32_t u_begin, u_end; /* rows of u and of `row` */
    int32_t w_begin, w_end; /* rows of w and of x */
};

/* A sample is computed in shares, which know nothing of each other: row j of w belongs to share
 * (j - w_begin) % BI_PAIR_SHARES. y has a column for the sum of each share, then one for its number
 * of pairs. */
enum {
    BI_PAIR_SPAN_WIDTH = sizeof(struct bi_pair_span) / sizeof(int32_t),
    BI_PAIR_SHARES = 8,
    BI_PAIR_WIDTH = 2 * BI_PAIR_SHARES
};

/* u [A, width]; row [A]: the row of x where the point of a row of u is, -1 = it counts for nothing;
 * w [T, width], x [T, 3], span [n_samples]. y [n_samples, BI_PAIR_WIDTH]: by shares, the sum of
 * u[i] . w[j] over all i and j of a sample's span with |x[row[i]] - x[j]| < cutoff, and how many
 * such pairs there are. Squares of distances are in double, so that every device finds the same
 * pairs. */
struct bi_pair_energy_params {
    const struct bi_counts *counts;
    const float *u, *w, *x;
    const int32_t *row;
    const struct bi_pair_span *span;
    float *y;
    int64_t ldu, ldw, samples; /* samples: at most */
    int32_t width;
    float cutoff;
};

/* 1 where two points are nearer than the cutoff, which is at least 0, in double; else 0, also at
 * the cutoff itself and for NaN. */
static inline int bi_pair_is_near(const float *a, const float *b, double cutoff)
{
    const double x = (double)a[0] - (double)b[0], y = (double)a[1] - (double)b[1],
                 z = (double)a[2] - (double)b[2];
    return x * x + y * y + z * z < cutoff * cutoff;
}

#endif
