/* pair_energy.cu - products of rows over pairs within a cutoff, a block to a sample. 32 threads
 * take every eighth point of u: they add the rows of the points near it, four columns each, and
 * multiply the sum once. The sums of all threads are added in the order of a tree. */
#include "gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "pair_energy.h"
#pragma clang force_cuda_host_device end

struct pair_sums {
    double energy[ROW_THREADS];
    int pairs[ROWS_PER_BLOCK];
};

/* Columns c ... c + 3 of the rows near xi, times those of u; *n counts the rows. */
DEV double times_sum(const struct bi_pair_energy_params &p, const struct bi_pair_span &span,
                     const float *xi, const float *u, int c, int *n)
{
    const bool whole_w = fours(p.w, p.ldw), whole_u = fours(p.u, p.ldu);
    f32x4 sum = {0, 0, 0, 0};
    int near = 0;
#pragma GCC unroll 1
    for (int j = span.w_begin; j < span.w_end; j++)
        if (bi_pair_is_near(xi, p.x + 3 * (int64_t)j, (double)p.cutoff)) {
            sum += load4(p.w + j * p.ldw, c, p.width, whole_w);
            near++;
        }
    *n = near;
    const f32x4 v = sum * load4(u, c, p.width, whole_u);
    return ((double)v[0] + (double)v[1]) + ((double)v[2] + (double)v[3]);
}

KERNEL(pair_energy_f32, struct bi_pair_energy_params, ROW_THREADS, 4)
{
    SHARED(pair_sums, s, sizeof(pair_sums));
    const int sample = block_x(), me = thread_id(), group = me / ROW_LANES;
    if (sample >= p.counts->n_samples)
        return;
    const struct bi_pair_span span = p.span[sample];
    double energy = 0;
    int pairs = 0;
    for (int i = span.u_begin + group; i < span.u_end; i += ROWS_PER_BLOCK) {
        if (p.row[i] < 0)
            continue;
        int n = 0;
        for (int c = my_column(); c < p.width; c += 4 * ROW_LANES)
            energy += times_sum(p, span, p.x + 3 * (int64_t)p.row[i], p.u + i * p.ldu, c, &n);
        pairs += n; /* the first thread of a group always has a column */
    }
    s.energy[me] = energy;
    if (me % ROW_LANES == 0)
        s.pairs[group] = pairs;
    for (int half = ROW_THREADS / 2; half; half /= 2) {
        barrier();
        if (me < half)
            s.energy[me] += s.energy[me + half];
    }
    if (me)
        return;
    for (int g = 1; g < ROWS_PER_BLOCK; g++)
        pairs += s.pairs[g];
    p.y[2 * (int64_t)sample] = (float)s.energy[0];
    p.y[2 * (int64_t)sample + 1] = (float)pairs;
}
