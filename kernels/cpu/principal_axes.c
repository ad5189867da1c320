/* principal_axes.c - points along the principal axes of their set. A task is one set: its sums run
 * over its own points in their order, so that company and threads change no bit. */
#include "../principal_axes.h"
#include "entries.h"

#include <stdint.h>

int64_t BI_ISA_NAME(principal_axes_tasks)(const void *params, int n_threads)
{
    const struct bi_principal_axes_params *p = params;
    (void)n_threads;
    return p->counts->n_samples;
}

void BI_ISA_NAME(principal_axes_run)(const void *params, int64_t task, int64_t n_tasks,
                                     void *scratch)
{
    const struct bi_principal_axes_params *p = params;
    const int32_t begin = p->start[task], end = p->start[task + 1];
    double centre[3] = {0, 0, 0}, a[3][3] = {{0}}, v[3][3];
    (void)n_tasks;
    (void)scratch;
    for (int64_t t = begin; t < end; t++)
        for (int k = 0; k < 3; k++)
            centre[k] += (double)p->x[3 * t + k];
    for (int k = 0; k < 3; k++)
        centre[k] /= end > begin ? end - begin : 1;
    for (int64_t t = begin; t < end; t++) {
        const double x = (double)p->x[3 * t] - centre[0], y = (double)p->x[3 * t + 1] - centre[1],
                     z = (double)p->x[3 * t + 2] - centre[2];
        a[0][0] += x * x;
        a[0][1] += x * y;
        a[0][2] += x * z;
        a[1][1] += y * y;
        a[1][2] += y * z;
        a[2][2] += z * z;
    }
    a[1][0] = a[0][1];
    a[2][0] = a[0][2];
    a[2][1] = a[1][2];
    bi_eigenvectors(a, v);
    for (int64_t t = begin; t < end; t++) {
        const double x = (double)p->x[3 * t] - centre[0], y = (double)p->x[3 * t + 1] - centre[1],
                     z = (double)p->x[3 * t + 2] - centre[2];
        for (int k = 0; k < 3; k++)
            p->y[3 * t + k] = (float)(x * v[0][k] + y * v[1][k] + z * v[2][k]);
    }
}

BI_CPU_ENTRY(principal_axes)
