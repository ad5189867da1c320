/* pair_energy.c - products of rows over pairs within a cutoff. A task is one sample: for each of
 * its points the rows of the points near it are added first, and that sum is multiplied once. */
#include "../pair_energy.h"
#include "entries.h"
#include "rows.h"

/* Points that are looked for at once; their rows stay in registers' reach. */
enum { PAIR_BLOCK = 256 };

int64_t BI_ISA_NAME(pair_energy_tasks)(const void *params, int n_threads)
{
    const struct bi_pair_energy_params *p = params;
    (void)n_threads;
    return p->counts->n_samples;
}

/* u . the sum of rows near[0, n) of w. */
static double times_sum(const struct bi_pair_energy_params *p, const float *u, const int32_t *near,
                        int n)
{
    double total = 0;
    for (int c = 0; c < p->width; c += VW) {
        const int k = lanes(c, p->width);
        vf sum = vf_zero();
        for (int m = 0; m < n; m++)
            sum = vf_add(sum, vf_load_n(p->w + near[m] * p->ldw + c, k));
        total += (double)vf_hsum(vf_mul(sum, vf_load_n(u + c, k)));
    }
    return total;
}

void BI_ISA_NAME(pair_energy_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pair_energy_params *p = params;
    const struct bi_pair_span *span = &p->span[task];
    double energy = 0;
    int64_t n_pairs = 0;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = span->u_begin; i < span->u_end; i++) {
        const float *xi = p->x + 3 * (int64_t)p->row[i];
        if (p->row[i] < 0)
            continue;
        for (int32_t j = span->w_begin; j < span->w_end;) {
            int32_t near[PAIR_BLOCK];
            int n = 0;
            for (; j < span->w_end && n < PAIR_BLOCK; j++)
                if (bi_pair_is_near(xi, p->x + 3 * (int64_t)j, (double)p->cutoff))
                    near[n++] = j;
            energy += times_sum(p, p->u + i * p->ldu, near, n);
            n_pairs += n;
        }
    }
    p->y[2 * task] = (float)energy;
    p->y[2 * task + 1] = (float)n_pairs;
}

BI_CPU_ENTRY(pair_energy)
