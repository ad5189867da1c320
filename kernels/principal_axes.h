/* principal_axes.h - points along the principal axes of their set. */
#ifndef BI_PRINCIPAL_AXES_PARAMS_H
#define BI_PRINCIPAL_AXES_PARAMS_H

#include "counts.h"

/* x [n, 3] in sets start[s] ... start[s + 1] - 1, one for each of counts->n_samples. With c the
 * mean of a set and v0, v1, v2 the eigenvectors of the sum of (x - c)(x - c)^T, by ascending
 * eigenvalue: y = ((x - c) v0, (x - c) v1, (x - c) v2). All in double but x and y. The signs of the
 * axes are not defined. */
struct bi_principal_axes_params {
    const struct bi_counts *counts;
    const float *x;
    const int32_t *start;
    float *y;
    int64_t sets; /* at most */
};

enum { BI_JACOBI_SWEEPS = 12 }; /* the third already reaches the rounding of double */

/* |x|. */
static inline double bi_axes_abs(double x)
{
    return x < 0 ? -x : x;
}

/* The square root, rounded once; NaN below 0. */
static inline double bi_axes_sqrt(double x)
{
    return __builtin_sqrt(x);
}

/* Turns a symmetric a by the smaller angle that makes its entry (i, j), i not j, zero, and columns
 * i and j of v with it. Where the entry is 0 nothing changes. */
static inline void bi_jacobi_turn(double a[3][3], double v[3][3], int i, int j)
{
    double theta, t, c, s;
    if (a[i][j] == 0)
        return;
    theta = (a[j][j] - a[i][i]) / (2 * a[i][j]);
    t = (theta < 0 ? -1 : 1) / (bi_axes_abs(theta) + bi_axes_sqrt(theta * theta + 1));
    c = 1 / bi_axes_sqrt(t * t + 1);
    s = t * c;
    for (int k = 0; k < 3; k++) {
        const double x = a[k][i], y = a[k][j];
        a[k][i] = c * x - s * y;
        a[k][j] = s * x + c * y;
    }
    for (int k = 0; k < 3; k++) {
        const double x = a[i][k], y = a[j][k];
        a[i][k] = c * x - s * y;
        a[j][k] = s * x + c * y;
    }
    for (int k = 0; k < 3; k++) {
        const double x = v[k][i], y = v[k][j];
        v[k][i] = c * x - s * y;
        v[k][j] = s * x + c * y;
    }
    a[i][j] = a[j][i] = 0;
}

/* Eigenvectors of the symmetric matrix a, which is destroyed: column k of v, of length 1, belongs
 * to the k-th eigenvalue in ascending order, which a[k][k] is in the end. Equal ones stay in the
 * order in which they came about; v may be left-handed. v need not be set before. */
static inline void bi_eigenvectors(double a[3][3], double v[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            v[i][j] = i == j;
    for (int sweep = 0; sweep < BI_JACOBI_SWEEPS; sweep++) {
        bi_jacobi_turn(a, v, 0, 1);
        bi_jacobi_turn(a, v, 0, 2);
        bi_jacobi_turn(a, v, 1, 2);
    }
    for (int pass = 0; pass < 3; pass++) {
        const int i = pass == 1, j = i + 1; /* 0 and 1, 1 and 2, 0 and 1 */
        if (a[i][i] <= a[j][j])
            continue;
        const double t = a[i][i];
        a[i][i] = a[j][j];
        a[j][j] = t;
        for (int k = 0; k < 3; k++) {
            const double u = v[k][i];
            v[k][i] = v[k][j];
            v[k][j] = u;
        }
    }
}

#endif
