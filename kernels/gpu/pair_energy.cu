/* pair_energy.cu - products of rows over pairs within a cutoff, a block to a share of a sample.
 * Eight rows of w are taken at a time, 32 threads to each. They mark which of 256 points of u are
 * near the point of their row, and add the rows of u of those, four columns a thread, in the order
 * of u; that sum is multiplied once. All rows of w of a block add the same few rows of u, which
 * stay in the nearest cache. The sums of all threads are added in the order of a tree. */
#include "lib/gpu_rows.h"

#pragma clang force_cuda_host_device begin
#include "../pair_energy.h"
#pragma clang force_cuda_host_device end

enum { PAIR_MARKS = 256, PAIR_STEP = BI_PAIR_SHARES * ROWS_PER_BLOCK };

/* near[g][t]: is the point of u number t of those marked near the point of group g? */
struct pair_sums {
    double energy[ROW_THREADS];
    int pairs[ROW_THREADS];
    u32 near[ROWS_PER_BLOCK][PAIR_MARKS / 4]; /* a byte each */
};

/* Columns of a thread that stay in registers: 4 of each 128. */
enum { PAIR_PANEL = 2 };

/* Marks which points of u from row `first` on are near row j of x, by the threads of a group;
 * counts those of this thread. */
DEV int mark_near(const struct bi_pair_energy_params &p, const struct bi_pair_span &span, int first,
                  int j, u32 *near)
{
    const int left = (span.u_end - first + 3) & ~3, n_marks = left < PAIR_MARKS ? left : PAIR_MARKS;
    int n = 0;
#pragma GCC unroll 1
    for (int t = thread_id() % ROW_LANES; t < n_marks; t += ROW_LANES) {
        const int row = j < span.w_end && first + t < span.u_end ? p.row[first + t] : -1;
        const int mark = row >= 0 && bi_pair_is_near(p.x + 3 * (int64_t)row, p.x + 3 * (int64_t)j,
                                                     (double)p.cutoff);
        ((unsigned char *)near)[t] = (unsigned char)mark;
        n += mark;
    }
    return n;
}

/* Adds columns c ... c + 3 and those 128 behind them of the marked rows of u, from row `first` on,
 * in order. Four rows are read at a time. */
DEV void add_near(const struct bi_pair_energy_params &p, const u32 *near, int first, int end, int c,
                  f32x4 (&sum)[PAIR_PANEL])
{
    const bool whole = fours(p.u, p.ldu);
    for (int t = 0; first + t < end && t < PAIR_MARKS; t += 4) {
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
                    v[k][b] = load4(p.u + (first + t + k) * p.ldu, c + b * 4 * ROW_LANES, p.width,
                                    whole);
            }
#pragma GCC unroll 4
        for (int k = 0; k < 4; k++)
#pragma GCC unroll 2
            for (int b = 0; b < PAIR_PANEL; b++)
                sum[b] += v[k][b];
    }
}

/* Adds the sums of all threads of the block; thread 0 has them in front when this returns. */
DEV void add_threads(pair_sums &s)
{
    const int me = thread_id();
    for (int half = ROW_THREADS / 2; half; half /= 2) {
        barrier();
        if (me < half) {
            s.energy[me] += s.energy[me + half];
            s.pairs[me] += s.pairs[me + half];
        }
    }
}

KERNEL(pair_energy_f32, struct bi_pair_energy_params, ROW_THREADS, 4)
{
    SHARED(pair_sums, s, sizeof(pair_sums));
    const int sample = block_x() / BI_PAIR_SHARES, share = block_x() % BI_PAIR_SHARES;
    const int me = thread_id(), group = me / ROW_LANES;
    if (sample >= p.counts->n_samples)
        return;
    const struct bi_pair_span span = p.span[sample];
    const bool whole = fours(p.w, p.ldw);
    double energy = 0;
    int pairs = 0;
    for (int panel = 0; panel < p.width; panel += PAIR_PANEL * 4 * ROW_LANES)
        for (int base = span.w_begin + share; base < span.w_end; base += PAIR_STEP) {
            const int j = base + BI_PAIR_SHARES * group, c = panel + my_column();
            f32x4 sum[PAIR_PANEL] = {};
            for (int first = span.u_begin; first < span.u_end; first += PAIR_MARKS) {
                barrier(); /* the marks before are read */
                const int n = mark_near(p, span, first, j, s.near[group]);
                pairs += panel ? 0 : n;
                barrier();
                add_near(p, s.near[group], first, span.u_end, c, sum);
            }
            if (j >= span.w_end)
                continue; /* at the last step, behind all barriers */
#pragma GCC unroll 2
            for (int b = 0; b < PAIR_PANEL; b++) {
                const f32x4 v = sum[b] *
                                load4(p.w + j * p.ldw, c + b * 4 * ROW_LANES, p.width, whole);
                energy += ((double)v[0] + (double)v[1]) + ((double)v[2] + (double)v[3]);
            }
        }
    s.energy[me] = energy;
    s.pairs[me] = pairs;
    add_threads(s);
    if (me)
        return;
    p.y[BI_PAIR_WIDTH * (int64_t)sample + share] = (float)s.energy[0];
    p.y[BI_PAIR_WIDTH * (int64_t)sample + BI_PAIR_SHARES + share] = (float)s.pairs[0];
}
