/* radial_test.c - TensorNet's functions of a distance: the cutoff, and bases with their slopes. */
#include "models/tensornet/tensornet.h"

#include "../test.h"

enum { N = 5 };

static const double cutoff = 5;

/* From 1 through 1/2 to 0 by half a cosine. */
static void the_cutoff_falls(void)
{
    double slope;
    CHECK(bi_tensornet_cutoff_at(cutoff, 0, &slope) == 1 && slope == 0);
    CHECK(fabs(bi_tensornet_cutoff_at(cutoff, cutoff / 2, &slope) - 0.5) < 1e-12);
    CHECK(fabs(slope + 1.5707963267948966 / cutoff) < 1e-12);
    CHECK(fabs(bi_tensornet_cutoff_at(cutoff, cutoff / 3, &slope) - 0.75) < 1e-12);
    CHECK(bi_tensornet_cutoff_at(cutoff, cutoff, &slope) == 0 && slope == 0);
    CHECK(bi_tensornet_cutoff_at(cutoff, 2 * cutoff, &slope) == 0 && slope == 0);
}

/* The smooth Bessel functions are orthonormal in the sphere of the cutoff, and end there without a
 * kink. */
static void smooth_functions_are_orthonormal(void)
{
    enum { STEPS = 2000 };
    const struct bi_tensornet_radial b = {.kind = BI_RBF_BESSEL_SMOOTH, .n = N, .cutoff = cutoff};
    double product[N][N] = {{0}}, y[N], dy[N];
    for (int k = 0; k <= STEPS; k++) { /* Simpson's rule */
        const double r = cutoff * k / STEPS, h = cutoff / STEPS / 3;
        const double weight = h * (k == 0 || k == STEPS ? 1 : k % 2 ? 4 : 2) * r * r;
        bi_tensornet_radial_at(&b, r, y, dy);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                product[i][j] += weight * y[i] * y[j];
    }
    for (int i = 0; i < N; i++) {
        CHECK(fabs(y[i]) < 1e-9 && fabs(dy[i]) < 1e-9);
        for (int j = 0; j < N; j++)
            if (!CHECK(fabs(product[i][j] - (i == j)) < 1e-6))
                fprintf(stderr, "    %d, %d: %g\n", i, j, product[i][j]);
    }
}

/* Slopes are derivatives of the values, from small distances to the cutoff. */
static void slopes_fit(void)
{
    static double means[N] = {0.1, 0.3, 0.5, 0.7, 0.9}, betas[N] = {-2, 3, 3, 3, 3};
    static double positive[N] = {4, 4, 4, 4, 4};
    const struct bi_tensornet_radial kinds[] = {
        {.kind = BI_RBF_BESSEL_SMOOTH, .n = N, .cutoff = cutoff},
        {.kind = BI_RBF_GAUSS, .n = N, .cutoff = cutoff, .means = means, .betas = betas},
        {.kind = BI_RBF_EXPNORM, .n = N, .cutoff = cutoff, .means = means, .betas = positive}};
    for (size_t k = 0; k < BI_COUNT(kinds); k++)
        for (double r = 0.001; r < cutoff - 0.01; r *= 1.3) {
            const double h = 1e-5 * (r < 1 ? r : 1);
            double y[N], dy[N], low[N], high[N], unused[N];
            bi_tensornet_radial_at(&kinds[k], r, y, dy);
            bi_tensornet_radial_at(&kinds[k], r - h, low, unused);
            bi_tensornet_radial_at(&kinds[k], r + h, high, unused);
            for (int i = 0; i < N; i++)
                if (!CHECK(fabs((high[i] - low[i]) / (2 * h) - dy[i]) < 1e-6 * (1 + fabs(dy[i]))))
                    fprintf(stderr, "    kind %zu, function %d at %g: %g, expected %g\n", k, i, r,
                            dy[i], (high[i] - low[i]) / (2 * h));
        }
}

int main(void)
{
    TEST(the_cutoff_falls);
    TEST(smooth_functions_are_orthonormal);
    TEST(slopes_fit);
    return test_report();
}
