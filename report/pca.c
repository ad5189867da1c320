/* pca.c - two principal components by orthogonal iteration: the same directions for the same rows,
 * as the start is fixed and every sum has one order. */
#include <math.h>
#include <string.h>

#include "show.h"

enum { N_DIRECTIONS = 4, MOST_ROUNDS = 60 };

static double dot(const float *a, const float *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)a[i] * b[i];
    return sum;
}

/* Makes the rows of v [N_DIRECTIONS, width] orthogonal and of length 1; a row without length
 * becomes 0. */
static void orthogonalise(float *v, size_t width)
{
    for (int k = 0; k < N_DIRECTIONS; k++) {
        float *row = v + (size_t)k * width;
        double length;
        for (int j = 0; j < k; j++) {
            const double share = dot(row, v + (size_t)j * width, width);
            for (size_t i = 0; i < width; i++)
                row[i] -= (float)(share * v[(size_t)j * width + i]);
        }
        length = sqrt(dot(row, row, width));
        for (size_t i = 0; i < width; i++)
            row[i] = length > 1e-20 ? (float)(row[i] / length) : 0;
    }
}

/* next = x^T x v, for each row of v. */
static void multiply(const float *x, size_t n, size_t width, const float *v, float *next)
{
    memset(next, 0, N_DIRECTIONS * width * sizeof *next);
    for (size_t r = 0; r < n; r++)
        for (int k = 0; k < N_DIRECTIONS; k++) {
            const float *row = x + r * width;
            const float share = (float)dot(row, v + (size_t)k * width, width);
            for (size_t i = 0; i < width; i++)
                next[(size_t)k * width + i] += share * row[i];
        }
}

/* Turns a direction so that its largest part is positive. */
static void fix_sign(float *v, size_t width)
{
    size_t largest = 0;
    for (size_t i = 1; i < width; i++)
        if (fabsf(v[i]) > fabsf(v[largest]))
            largest = i;
    const float sign = v[largest] < 0 ? -1 : 1;
    for (size_t i = 0; i < width; i++)
        v[i] *= sign;
}

int bi_pca(const struct bi_env *env, float *x, size_t n, size_t width, float *centre,
           float *directions, double *share, struct bioinfer_error *err)
{
    float *v = bi_calloc(env, 2 * N_DIRECTIONS * width, sizeof *v), *next;
    double total = 0, largest = 0, before[2] = {0, 0};
    if (!v)
        return bi_fail(err, BIOINFER_NOMEM, "principal components of %zu values", width);
    next = v + N_DIRECTIONS * width;
    for (size_t i = 0; i < width; i++) {
        double sum = 0;
        for (size_t r = 0; r < n; r++)
            sum += x[r * width + i];
        centre[i] = (float)(sum / (double)n);
        for (size_t r = 0; r < n; r++)
            largest = fmax(largest, fabs((double)(x[r * width + i] -= centre[i])));
    }
    for (size_t i = 0; largest > 0 && i < n * width; i++) {
        x[i] = (float)(x[i] / largest); /* so that no product overflows */
        total += (double)x[i] * x[i];
    }
    for (size_t i = 0; i < N_DIRECTIONS * width;
         i++) /* any fixed start with all directions in it */
        v[i] = (float)((i * 2654435761u >> 8 & 0xFFFF) / 65536.0 - 0.5);
    orthogonalise(v, width);
    for (int round = 0; round < MOST_ROUNDS; round++) {
        bool settled = true;
        multiply(x, n, width, v, next);
        for (int k = 0; k < 2; k++) {
            const double now = dot(v + (size_t)k * width, next + (size_t)k * width, width);
            settled = settled && fabs(now - before[k]) <= 1e-6 * fabs(now);
            before[k] = now;
        }
        memcpy(v, next, N_DIRECTIONS * width * sizeof *v);
        orthogonalise(v, width);
        if (settled)
            break;
    }
    for (int k = 0; k < 2; k++) {
        fix_sign(v + (size_t)k * width, width);
        share[k] = total > 0 ? before[k] / total : 0;
    }
    memcpy(directions, v, 2 * width * sizeof *v);
    bi_free(env, v);
    return 0;
}
