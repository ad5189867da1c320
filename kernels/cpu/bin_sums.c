/* bin_sums.c - what the bins of a window sum up to. A task is a strip of columns of a window. */
#include "../bin_sums.h"
#include "entries.h"

enum { STRIP = 64 };

static int64_t strips(const struct bi_bin_sums_params *p)
{
    return (p->width + STRIP - 1) / STRIP;
}

int64_t BI_ISA_NAME(bin_sums_tasks)(const void *params, int n_threads)
{
    const struct bi_bin_sums_params *p = params;
    (void)n_threads;
    return p->n_windows * strips(p);
}

static void put_sums(float *y, int64_t ldy, const double *sums, int n)
{
    for (int c = 0; c < n; c++) {
        y[c] = (float)sums[c];
        y[ldy + c] = (float)(sums[c] - (double)y[c]);
    }
}

void BI_ISA_NAME(bin_sums_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_bin_sums_params *p = params;
    const int64_t window = task / strips(p), first = task % strips(p) * STRIP;
    const int n = p->width - first < STRIP ? (int)(p->width - first) : STRIP;
    const float *x = p->x + window * p->bins * p->ldx + first;
    float *y = p->y + window * (p->logs ? 4 : 2) * p->ldy + first;
    double sums[STRIP] = {0}, logs[STRIP] = {0};
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = 0; r < p->bins; r++, x += p->ldx) {
        for (int c = 0; c < n; c++)
            sums[c] += (double)x[c];
        for (int c = 0; p->logs && c < n; c++)
            logs[c] += log2(1 + (double)x[c]);
    }
    put_sums(y, p->ldy, sums, n);
    if (p->logs)
        put_sums(y + 2 * p->ldy, p->ldy, logs, n);
}

BI_CPU_ENTRY(bin_sums)
