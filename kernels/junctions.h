/* junctions.h - the places of most likely splice sites, and counts of reads across pairs. */
#ifndef BI_JUNCTIONS_PARAMS_H
#define BI_JUNCTIONS_PARAMS_H

#include "counts.h"

/* The k largest numbers of each of the first n_classes columns of x [rows, width] that are at least
 * `least`; of equal ones the first. y [n_classes k]: their rows in ascending order, then -1. */
struct bi_top_rows_params {
    const struct bi_counts *counts;
    const float *x;
    int32_t *y;
    int64_t ldx, rows;
    int32_t n_classes, k;
    float least;
};

enum { BI_JUNCTION_CLASSES = 4 }; /* donors and acceptors of the strand +, then of - */

/* Sites of a window among those that its tiles have found. found [n_tiles, 4 k]: rows of tiles, -1
 * = none; tile t begins t step rows into the window. sites [4 k]: rows of the window, -1 = none.
 *   y[i] = the first j of the class of i whose found[j] is site i; -1 where there is none */
struct bi_find_sites_params {
    const struct bi_counts *counts;
    const int32_t *found, *sites;
    int32_t *y;
    int64_t step;
    int32_t n_tiles, k;
};

/* y[r] = cos(a) for all i, then sin(a) for all i; a = at[r] inv_freq[i] in float32.
 * at: [rows]; inv_freq: [n]; y: [rows, 2 n] */
struct bi_rope_at_params {
    const struct bi_counts *counts;
    const int32_t *at;
    const float *inv_freq;
    float *y;
    int64_t rows;
    int32_t n;
};

/* x [4 k, d]: rows c k + i are sites of class c; at [4 k]: their places, -1 = none, which come
 * last; table [4 k, d]: cosines and sines of rope_at. w[c] [2 n, d], n = n_tracks[c / 2]: for each
 * track a scale, then for each one an offset.
 *   z[c, i, t] = rotation of (w[c][t] x[c k + i] + w[c][n + t]) by table[c k + i]
 *   y[i k + j, t] = softplus(z[0, i, t] . z[1, j, t]), and behind these z[2] . z[3]; 0 where a site
 *   is none
 * The rotation is of neighbours: columns 2 m and 2 m + 1 turn by angle m. y: [k k, n_tracks[0] +
 * n_tracks[1]] */
struct bi_junctions_params {
    const struct bi_counts *counts;
    const float *x, *table, *w[BI_JUNCTION_CLASSES];
    const int32_t *at;
    float *y;
    int64_t ldx, ldy;
    int32_t k, d, n_tracks[2];
};

#endif
