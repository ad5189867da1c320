/* radial.c - TensorNet's functions of a distance, and the tables that are made of them. */
#include "tensornet.h"

#include <math.h>
#include <string.h>

static const double pi = 3.14159265358979323846;

double bi_tensornet_cutoff_at(double cutoff, double r, double *slope)
{
    const double a = pi / cutoff;
    *slope = r < cutoff ? -0.5 * a * sin(a * r) : 0;
    return r < cutoff ? 0.5 * (cos(a * r) + 1) : 0;
}

/* sin(x) / x and its derivative. */
static double sinc(double x, double *slope)
{
    if (fabs(x) < 1e-2) {
        const double z = x * x;
        *slope = x * (-1.0 / 3 + z * (1.0 / 30 - z * (1.0 / 840 - z / 45360)));
        return 1 - z * (1.0 / 6 - z * (1.0 / 120 - z / 5040));
    }
    *slope = (cos(x) - sin(x) / x) / x;
    return sin(x) / x;
}

/* The smooth spherical Bessel functions of MatGL, orthogonal by a recursion over i. */
static void smooth_bessel(const struct bi_tensornet_radial *b, double r, double *y, double *dy)
{
    double d = 1;
    for (int i = 0; i < b->n; i++) {
        const double p = i + 1, q = i + 2, s = i;
        const double norm = (i % 2 ? -1 : 1) * sqrt(2.0) * pi / pow(b->cutoff, 1.5) * p * q /
                            sqrt(p * p + q * q);
        const double e = s * s * q * q / (4 * p * p * p * p + 1), before = d;
        double da, db;
        const double f = sinc(r * p * pi / b->cutoff, &da) + sinc(r * q * pi / b->cutoff, &db);
        y[i] = norm * f;
        dy[i] = norm * (da * p + db * q) * pi / b->cutoff;
        if (!i)
            continue;
        d = 1 - e / before;
        y[i] = (y[i] + sqrt(e / before) * y[i - 1]) / sqrt(d);
        dy[i] = (dy[i] + sqrt(e / before) * dy[i - 1]) / sqrt(d);
    }
}

void bi_tensornet_radial_at(const struct bi_tensornet_radial *b, double r, double *y, double *dy)
{
    const double alpha = 5 / b->cutoff, x = exp(-alpha * r);
    double dc;
    const double c = bi_tensornet_cutoff_at(b->cutoff, r, &dc);
    if (b->kind == BI_RBF_BESSEL_SMOOTH) {
        smooth_bessel(b, r, y, dy);
        return;
    }
    for (int i = 0; i < b->n; i++) {
        if (b->kind == BI_RBF_GAUSS) {
            const double t = r - b->means[i];
            y[i] = exp(b->betas[0] * t * t);
            dy[i] = 2 * b->betas[0] * t * y[i];
        } else { /* EXPNORM */
            const double t = x - b->means[i], g = exp(-b->betas[i] * t * t);
            y[i] = c * g;
            dy[i] = dc * g + c * g * 2 * b->betas[i] * t * alpha * x;
        }
    }
}

/* ---- tables ---- */

enum { FIRST_KNOTS = 128, MOST_KNOTS = 4096 };

/* How far pieces over `knots` knots may be off in their middle, as a part of the largest value and
 * of the largest slope. The table that is kept has twice as many and is 16 times nearer. */
static const double value_off = 2e-7, slope_off = 4e-6;

/* Rows step, 3 step, 5 step ... of [2 n] values and derivatives, out of MOST_KNOTS + 1. */
static void fill(const struct bi_tensornet_curve *c, double *of, int first, int step)
{
    for (int k = first; k <= MOST_KNOTS; k += step) {
        double *y = of + (size_t)k * 2 * (size_t)c->n;
        c->at(c->user, c->cutoff * k / MOST_KNOTS, y, y + c->n);
    }
}

/* Are pieces between rows `step` apart near enough to the rows in their middle? */
static bool is_near(const struct bi_tensornet_curve *c, const double *of, int step)
{
    const size_t n = (size_t)c->n;
    const double h = c->cutoff * step / MOST_KNOTS;
    double most = 0, steepest = 0, off = 0, slope_is_off = 0;
    for (int k = 0; k + step <= MOST_KNOTS; k += step) {
        const double *a = of + (size_t)k * 2 * n, *b = of + (size_t)(k + step) * 2 * n;
        const double *m = of + (size_t)(k + step / 2) * 2 * n;
        for (size_t i = 0; i < n; i++) {
            const double y = 0.5 * (a[i] + b[i]) + h / 8 * (a[n + i] - b[n + i]);
            const double d = 1.5 / h * (b[i] - a[i]) - 0.25 * (a[n + i] + b[n + i]);
            most = fmax(most, fabs(m[i]));
            steepest = fmax(steepest, fabs(m[n + i]));
            off = fmax(off, fabs(y - m[i]));
            slope_is_off = fmax(slope_is_off, fabs(d - m[n + i]));
        }
    }
    return off <= value_off * most && slope_is_off <= slope_off * steepest;
}

/* The numbers of the piece between rows a and b, h apart. They are rounded one by one, so slopes do
 * not come from differences of rounded values. */
static void set_piece(const double *a, const double *b, size_t n, double h, float *to)
{
    for (size_t i = 0; i < n; i++) {
        const double rise = b[i] - a[i], s = h * a[n + i], t = h * b[n + i];
        to[i] = (float)a[i];
        to[n + i] = (float)s;
        to[2 * n + i] = (float)(3 * rise - 2 * s - t);
        to[3 * n + i] = (float)(s + t - 2 * rise);
    }
}

int bi_tensornet_table(struct bi_arena *arena, const struct bi_tensornet_curve *c, float **table,
                       int *knots, struct bioinfer_error *err)
{
    const size_t width = 2 * (size_t)c->n;
    double *of = bi_calloc(arena->env, (MOST_KNOTS + 1) * width, sizeof *of);
    int step = MOST_KNOTS / FIRST_KNOTS, st = 0;
    if (!of)
        return bi_fail(err, BIOINFER_NOMEM, "a table of radial functions");
    fill(c, of, 0, step);
    do {
        fill(c, of, step / 2, step);
        step /= 2;
    } while (step > 1 && !is_near(c, of, 2 * step));
    *knots = MOST_KNOTS / step;
    if (!is_near(c, of, 2 * step))
        st = bi_fail(err, BIOINFER_MISMATCH, "radial functions are rougher than %d pieces follow",
                     MOST_KNOTS / 2);
    else if (!(*table = bi_arena_calloc(arena, (size_t)*knots * 2 * width, sizeof **table)))
        st = bi_fail(err, BIOINFER_NOMEM, "a table of radial functions");
    for (int k = 0; !st && k < *knots; k++)
        set_piece(of + (size_t)(k * step) * width, of + (size_t)((k + 1) * step) * width,
                  (size_t)c->n, c->cutoff / *knots, *table + (size_t)k * 2 * width);
    bi_free(arena->env, of);
    return st;
}
