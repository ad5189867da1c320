/* irreps.c - layouts of features, spherical harmonics, couplings and the paths of products.
 *
 * Source: e3nn/e3nn 0.5.1: e3nn/o3/_spherical_harmonics.py, _wigner.py, _tensor_product/ */
#include "irreps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void bi_irreps_add(struct bi_irreps *to, int mul, int l, bool odd)
{
    assert(to->n < BI_IRREPS_MAX);
    if (!mul)
        return;
    to->part[to->n++] = (struct bi_irrep){.mul = mul, .l = l, .odd = odd, .at = to->width};
    to->width += mul * (2 * l + 1);
}

struct bi_irreps bi_irreps_harmonics(int lmax)
{
    struct bi_irreps sh = {0};
    for (int l = 0; l <= lmax; l++)
        bi_irreps_add(&sh, 1, l, l % 2 != 0);
    return sh;
}

struct bi_irreps bi_irreps_step(int ns, int nv, bool reduced, int step)
{
    struct bi_irreps irreps = {0};
    bi_irreps_add(&irreps, ns, 0, false);
    if (step >= 1)
        bi_irreps_add(&irreps, nv, 1, true);
    if (step >= 2)
        bi_irreps_add(&irreps, nv, 1, false);
    if (step >= 3)
        bi_irreps_add(&irreps, reduced ? nv : ns, 0, true);
    return irreps;
}

void bi_harmonics(const double v[3], int lmax, double *out)
{
    const double r = fmax(sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), 1e-12);
    const double x = v[0] / r, y = v[1] / r, z = v[2] / r;
    const double s3 = sqrt(3.0), s5 = sqrt(5.0), s15 = sqrt(15.0);
    out[0] = 1;
    out[1] = s3 * x;
    out[2] = s3 * y;
    out[3] = s3 * z;
    if (lmax < 2)
        return;
    out[4] = s15 * x * z;
    out[5] = s15 * x * y;
    out[6] = s5 * (y * y - 0.5 * (x * x + z * z));
    out[7] = s15 * y * z;
    out[8] = 0.5 * s15 * (z * z - x * x);
}

/* The sign of a permutation of 0, 1, 2; 0 where a number comes twice. */
static int permutation(int i, int j, int k)
{
    return (j - i) * (k - j) * (k - i) / 2;
}

/* The harmonics of order 2 as quadratic forms: symmetric, without trace, of norm 1. */
static void quadratic_forms(double q[5][3][3])
{
    const double half = sqrt(0.5), sixth = sqrt(1.0 / 6);
    static const int axes[5][2] = {{0, 2}, {0, 1}, {0, 0}, {1, 2}, {0, 0}};
    memset(q, 0, 5 * sizeof *q);
    for (int m = 0; m < 5; m++)
        q[m][axes[m][0]][axes[m][1]] = q[m][axes[m][1]][axes[m][0]] = half;
    q[2][0][0] = q[2][2][2] = -sixth;
    q[2][1][1] = 2 * sixth;
    q[4][0][0] = -half;
    q[4][2][2] = half;
}

/* The antisymmetric part of the product of two quadratic forms, as a vector. */
static double commutator(double q[5][3][3], int a, int b, int m)
{
    double sum = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            for (int j = 0; j < 3; j++)
                sum += permutation(i, k, m) * q[a][i][j] * q[b][j][k];
    return sum;
}

/* The number of C[i, j, k] up to a factor that they share. */
static double coupled(int a, int b, int c, double q[5][3][3], int i, int j, int k)
{
    if (!a)
        return j == k;
    if (!b)
        return i == k;
    if (!c)
        return i == j;
    if (a == 1 && b == 1)
        return permutation(i, j, k);
    if (a == 1)
        return q[j][i][k];
    return b == 1 ? q[i][j][k] : commutator(q, i, j, k);
}

bool bi_coupling(int a, int b, int c, double out[BI_COUPLING][BI_COUPLING][BI_COUPLING])
{
    double q[5][3][3], sum = 0;
    const bool allowed = a >= 0 && b >= 0 && a <= 2 && b <= 2 && c >= abs(a - b) && c <= a + b &&
                         c <= 2 && (c < 2 || !a || !b);
    memset(out, 0, BI_COUPLING * sizeof *out);
    if (!allowed)
        return false;
    quadratic_forms(q);
    for (int i = 0; i <= 2 * a; i++)
        for (int j = 0; j <= 2 * b; j++)
            for (int k = 0; k <= 2 * c; k++) {
                out[i][j][k] = coupled(a, b, c, q, i, j, k);
                sum += out[i][j][k] * out[i][j][k];
            }
    for (int i = 0; i <= 2 * a; i++)
        for (int j = 0; j <= 2 * b; j++)
            for (int k = 0; k <= 2 * c; k++)
                out[i][j][k] /= sqrt(sum);
    return true;
}

static bool is_path(const struct bi_irrep *i, const struct bi_irrep *j, const struct bi_irrep *k)
{
    return k->l >= abs(i->l - j->l) && k->l <= i->l + j->l && (i->odd != j->odd) == k->odd;
}

/* Appends the path of three irreps, if there is one. */
static int add_path(struct bi_paths *paths, const struct bi_irreps *in, const struct bi_irreps *sh,
                    const struct bi_irreps *out, int i, int j, int k, struct bioinfer_error *err)
{
    struct bi_path *p = &paths->path[paths->n];
    if (!is_path(&in->part[i], &sh->part[j], &out->part[k]))
        return 0;
    if (paths->n == BI_IRREPS_PATHS)
        return bi_fail(err, BIOINFER_INTERNAL, "a product of irreps has more than %d paths",
                       BI_IRREPS_PATHS);
    *p = (struct bi_path){.in = i, .sh = j, .out = k, .weight_at = paths->n_weights};
    if (!bi_coupling(in->part[i].l, sh->part[j].l, out->part[k].l, p->coupling))
        return bi_fail(err, BIOINFER_INTERNAL, "no coupling of orders %d and %d to %d",
                       in->part[i].l, sh->part[j].l, out->part[k].l);
    paths->n_weights += (size_t)in->part[i].mul * (size_t)out->part[k].mul;
    paths->n++;
    return 0;
}

int bi_paths_make(struct bi_paths *paths, const struct bi_irreps *in, const struct bi_irreps *sh,
                  const struct bi_irreps *out, bool by_output, struct bioinfer_error *err)
{
    int st = 0;
    *paths = (struct bi_paths){0};
    if (by_output)
        for (int k = 0; k < out->n; k++)
            for (int i = 0; i < in->n; i++)
                for (int j = 0; j < sh->n && !st; j++)
                    st = add_path(paths, in, sh, out, i, j, k, err);
    else
        for (int i = 0; i < in->n; i++)
            for (int j = 0; j < sh->n; j++)
                for (int k = 0; k < out->n && !st; k++)
                    st = add_path(paths, in, sh, out, i, j, k, err);
    for (int p = 0; p < paths->n && !st; p++) {
        const int k = paths->path[p].out;
        int fan = 0;
        for (int r = 0; r < paths->n; r++)
            if (paths->path[r].out == k)
                fan += in->part[paths->path[r].in].mul;
        paths->path[p].c = sqrt((2.0 * out->part[k].l + 1) / fan);
    }
    return st;
}
