/* principal_axes.cu - points along the principal axes of their set, a block to a set. Each thread
 * adds every 128th point; the 128 sums are added in the order of a tree, so company changes no
 * bit. */
#include "lib/gpu.h"

#pragma clang force_cuda_host_device begin
#include "../principal_axes.h"
#pragma clang force_cuda_host_device end

enum { AXES_THREADS = 128, AXES_SUMS = 6 };

struct axes {
    double sum[AXES_SUMS][AXES_THREADS];
    double centre[3], v[3][3];
};

/* Adds the first n of the sums of all threads; they are in sum[.][0] when this returns. */
DEV void add_threads(axes &s, int n)
{
    for (int half = AXES_THREADS / 2; half; half /= 2) {
        barrier();
        if (thread_id() < half)
            for (int i = 0; i < n; i++)
                s.sum[i][thread_id()] += s.sum[i][thread_id() + half];
    }
    barrier();
}

KERNEL(principal_axes_f32, struct bi_principal_axes_params, AXES_THREADS, 4)
{
    SHARED(axes, s, sizeof(axes));
    const int set = block_x(), me = thread_id();
    if (set >= p.counts->n_samples)
        return;
    const int begin = p.start[set], end = p.start[set + 1];
    double sum[AXES_SUMS] = {0, 0, 0, 0, 0, 0};
    for (int t = begin + me; t < end; t += AXES_THREADS)
        for (int k = 0; k < 3; k++)
            sum[k] += (double)p.x[3 * (int64_t)t + k];
    for (int k = 0; k < 3; k++)
        s.sum[k][me] = sum[k];
    add_threads(s, 3);
    if (me < 3)
        s.centre[me] = s.sum[me][0] / (end > begin ? end - begin : 1);
    barrier();
    for (int i = 0; i < AXES_SUMS; i++)
        sum[i] = 0;
    for (int t = begin + me; t < end; t += AXES_THREADS) {
        const float *at = p.x + 3 * (int64_t)t;
        const double x = (double)at[0] - s.centre[0], y = (double)at[1] - s.centre[1],
                     z = (double)at[2] - s.centre[2];
        sum[0] += x * x;
        sum[1] += x * y;
        sum[2] += x * z;
        sum[3] += y * y;
        sum[4] += y * z;
        sum[5] += z * z;
    }
    for (int i = 0; i < AXES_SUMS; i++)
        s.sum[i][me] = sum[i];
    add_threads(s, AXES_SUMS);
    if (me == 0) {
        double a[3][3] = {{s.sum[0][0], s.sum[1][0], s.sum[2][0]},
                          {s.sum[1][0], s.sum[3][0], s.sum[4][0]},
                          {s.sum[2][0], s.sum[4][0], s.sum[5][0]}};
        double v[3][3];
        bi_eigenvectors(a, v);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++)
                s.v[i][k] = v[i][k];
    }
    barrier();
    for (int t = begin + me; t < end; t += AXES_THREADS) {
        const float *at = p.x + 3 * (int64_t)t;
        const double x = (double)at[0] - s.centre[0], y = (double)at[1] - s.centre[1],
                     z = (double)at[2] - s.centre[2];
        for (int k = 0; k < 3; k++)
            p.y[3 * (int64_t)t + k] = (float)(x * s.v[0][k] + y * s.v[1][k] + z * s.v[2][k]);
    }
}
