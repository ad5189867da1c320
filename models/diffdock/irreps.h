/* irreps.h - features that turn with space: their layout, their products.
 *
 * A row of features is a list of irreps, one after the other; an irrep is [mul][2l + 1] numbers.
 * Order, signs and norms follow e3nn: components y, z, x of l = 1 are stored as x, y, z, the
 * harmonics have component normalisation, and the squares of a coupling's numbers sum up to 1. */
#ifndef BI_IRREPS_H
#define BI_IRREPS_H

#include "../../base/base.h"

enum { BI_IRREPS_MAX = 4, BI_IRREPS_PATHS = 24, BI_COUPLING = 5 };

/* mul copies of the irrep of order l, which is odd or even under inversion. */
struct bi_irrep {
    int mul, l;
    bool odd;
    int at; /* first number of the row */
};

/* A row of features. Zero-initialise: it has no irrep then. */
struct bi_irreps {
    struct bi_irrep part[BI_IRREPS_MAX];
    int n, width;
};

/* A product of one irrep of the input and one of the harmonics, into one of the output:
 * out[w, m] += c * sum of W[u, w] * C[m1, m2, m] * x[u, m1] * y[m2]. */
struct bi_path {
    int in, sh, out;  /* numbers of the irreps */
    size_t weight_at; /* begin of W in a row of weights: [in.mul][out.mul] */
    double c;
    double coupling[BI_COUPLING][BI_COUPLING][BI_COUPLING]; /* C */
};

/* Paths of a product whose second factor has each irrep once. */
struct bi_paths {
    struct bi_path path[BI_IRREPS_PATHS];
    int n;
    size_t n_weights;
};

/* Appends an irrep, unless mul is 0. At most BI_IRREPS_MAX fit. */
void bi_irreps_add(struct bi_irreps *to, int mul, int l, bool odd);
/* The irreps of the harmonics of orders 0 to lmax. */
struct bi_irreps bi_irreps_harmonics(int lmax);
/* The irreps of features after `step` layers of convolution: ns scalars; from step 1 nv vectors,
 * from 2 nv pseudovectors, from 3 ns pseudoscalars, or, `reduced`, nv of them. */
struct bi_irreps bi_irreps_step(int ns, int nv, bool reduced, int step);
/* Harmonics of the direction of v up to lmax (1 or 2), as (lmax + 1)^2 numbers; of a zero vector
 * all but the first are 0. */
void bi_harmonics(const double v[3], int lmax, double *out);
/* The coupling of orders a and b to c; *out is all 0 beyond its orders. False: it is not one of
 * those that features up to order 1 and harmonics up to order 2 need, and *out is 0. */
bool bi_coupling(int a, int b, int c, double out[BI_COUPLING][BI_COUPLING][BI_COUPLING]);
/* All paths, in the order of their weights: by input, harmonic and output, or, `by_output`, by
 * output first. INTERNAL: a coupling that there is not, or too many paths. */
int bi_paths_make(struct bi_paths *paths, const struct bi_irreps *in, const struct bi_irreps *sh,
                  const struct bi_irreps *out, bool by_output, struct bioinfer_error *err);

#endif
