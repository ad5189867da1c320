/* pair_energy.cu - products of rows over pairs within a cutoff, a block to a sample. Eight points
 * of u are taken at a time, 32 threads to each. All threads mark which of 256 points of x are near
 * the eight, one point a thread; then the threads of each point of u add the rows of those near it,
 * four columns each, and multiply the sum once. The sums of all threads are added in the order of a
 * tree. */
#include "gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "pair_energy.h"
#pragma clang force_cuda_host_device end

/* near[g][t]: is point t of those marked near the point of group g? */
struct pair_sums {
    double energy[ROW_THREADS];
    int pairs[ROW_THREADS];
    u32 near[ROWS_PER_BLOCK][ROW_THREADS / 4]; /* a byte each */
};

/* Columns of a thread that stay in registers: 4 of each 128. */
enum { PAIR_PANEL = 2 };

/* Marks whether row j of x is near each of eight points of u from `base` on; counts those. */
DEV int mark_near(const struct bi_pair_energy_params &p, const struct bi_pair_span &span, int base,
                  int j, pair_sums &s)
{
    int n = 0;
#pragma GCC unroll 1
    for (int g = 0; g < ROWS_PER_BLOCK; g++) {
        const int row = base + g < span.u_end ? p.row[base + g] : -1;
        const int near = row >= 0 && j < span.w_end &&
                         bi_pair_is_near(p.x + 3 * (int64_t)row, p.x + 3 * (int64_t)j,
                                         (double)p.cutoff);
        ((unsigned char *)s.near[g])[thread_id()] = (unsigned char)near;
        n += near;
    }
    return n;
}

/* Adds columns c ... c + 3 and those 128 behind them of the marked rows of w, from row `first` on,
 * in order. Four rows are read at a time. */
DEV void add_near(const struct bi_pair_energy_params &p, const u32 *near, int first, int end, int c,
                  f32x4 (&sum)[PAIR_PANEL])
{
    const bool whole = fours(p.w, p.ldw);
    for (int t = 0; first + t < end && t < ROW_THREADS; t += 4) {
        const u32 marks = near[t / 4];
        f32x4 v[4][PAIR_PANEL];
        if (!marks)
            continue;
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
#pragma GCC unroll 2
            for (int b = 0; b < PAIR_PANEL; b++) {
                v[k][b] = f32x4{0, 0, 0, 0};
                if (marks >> 8 * k & 1)
                    v[k][b] = load4(p.w + (first + t + k) * p.ldw, c + b * 4 * ROW_LANES, p.width,
                                    whole);
            }
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
#pragma GCC unroll 2
            for (int b = 0; b < PAIR_PANEL; b++)
                sum[b] += v[k][b];
    }
}

KERNEL(pair_energy_f32, struct bi_pair_energy_params, ROW_THREADS, 4)
{
    SHARED(pair_sums, s, sizeof(pair_sums));
    const int sample = block_x(), me = thread_id(), group = me / ROW_LANES;
    if (sample >= p.counts->n_samples)
        return;
    const struct bi_pair_span span = p.span[sample];
    const bool whole = fours(p.u, p.ldu);
    double energy = 0;
    int pairs = 0;
    for (int panel = 0; panel < p.width; panel += PAIR_PANEL * 4 * ROW_LANES)
        for (int base = span.u_begin; base < span.u_end; base += ROWS_PER_BLOCK) {
            const int i = base + group, c = panel + my_column();
            const bool counts = i < span.u_end && p.row[i] >= 0;
            f32x4 sum[PAIR_PANEL] = {};
            for (int first = span.w_begin; first < span.w_end; first += ROW_THREADS) {
                barrier(); /* the marks before are read */
                const int n = mark_near(p, span, base, first + me, s);
                pairs += panel ? 0 : n;
                barrier();
                if (counts)
                    add_near(p, s.near[group], first, span.w_end, c, sum);
            }
#pragma GCC unroll 2
            for (int b = 0; b < PAIR_PANEL && counts; b++) {
                const f32x4 v = sum[b] *
                                load4(p.u + i * p.ldu, c + b * 4 * ROW_LANES, p.width, whole);
                energy += ((double)v[0] + (double)v[1]) + ((double)v[2] + (double)v[3]);
            }
        }
    s.energy[me] = energy;
    s.pairs[me] = pairs;
    for (int half = ROW_THREADS / 2; half; half /= 2) {
        barrier();
        if (me < half) {
            s.energy[me] += s.energy[me + half];
            s.pairs[me] += s.pairs[me + half];
        }
    }
    if (me)
        return;
    p.y[2 * (int64_t)sample] = (float)s.energy[0];
    p.y[2 * (int64_t)sample + 1] = (float)s.pairs[0];
}
