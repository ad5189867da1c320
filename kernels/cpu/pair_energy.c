/* pair_energy.c - products of rows over pairs within a cutoff. A task is one share of a sample: for
 * each of its rows of w, the rows of u near it are added first, and that sum is multiplied once. */
#include "../pair_energy.h"
#include "entries.h"
#include "rows.h"

/* Points that are looked for at once; their rows stay in registers' reach. */
enum { PAIR_BLOCK = 256 };

int64_t BI_ISA_NAME(pair_energy_tasks)(const void *params, int n_threads)
{
    const struct bi_pair_energy_params *p = params;
    (void)n_threads;
    return BI_PAIR_SHARES * (int64_t)p->counts->n_samples;
}

/* w . the sum of rows near[0, n) of u. */
static double times_sum(const struct bi_pair_energy_params *p, const float *w, const int32_t *near,
                        int n)
{
    double total = 0;
    for (int c = 0; c < p->width; c += VW) {
        const int k = lanes(c, p->width);
        vf sum = vf_zero();
        for (int m = 0; m < n; m++)
            sum = vf_add(sum, vf_load_n(p->u + near[m] * p->ldu + c, k));
        total += (double)vf_hsum(vf_mul(sum, vf_load_n(w + c, k)));
    }
    return total;
}

void BI_ISA_NAME(pair_energy_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pair_energy_params *p = params;
    const int64_t sample = task / BI_PAIR_SHARES, share = task % BI_PAIR_SHARES;
    const struct bi_pair_span *span = &p->span[sample];
    float *y = p->y + BI_PAIR_WIDTH * sample + share;
    double energy = 0;
    int64_t n_pairs = 0;
    (void)n_tasks;
    (void)scratch;
    for (int64_t j = span->w_begin + share; j < span->w_end; j += BI_PAIR_SHARES) {
        const float *xj = p->x + 3 * j;
        for (int32_t i = span->u_begin; i < span->u_end;) {
            int32_t near[PAIR_BLOCK];
            int n = 0;
            for (; i < span->u_end && n < PAIR_BLOCK; i++)
                if (p->row[i] >= 0 &&
                    bi_pair_is_near(p->x + 3 * (int64_t)p->row[i], xj, (double)p->cutoff))
                    near[n++] = i;
            energy += times_sum(p, p->w + j * p->ldw, near, n);
            n_pairs += n;
        }
    }
    y[0] = (float)energy;
    y[BI_PAIR_SHARES] = (float)n_pairs;
}

BI_CPU_ENTRY(pair_energy)
