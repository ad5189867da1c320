/* bin_sums.c - what the bins of a window sum up to: bin_sums, bin_add. */
#include "../bin_sums.h"
#include "entries.h"
#include "sums.h"

/* Adds n columns of rows of x, and where `logs` is not NULL their logarithms. */
static void add_bins(const float *x, int64_t ldx, int64_t rows, int n, double *sums, double *logs)
{
    for (int64_t r = 0; r < rows; r++, x += ldx) {
        for (int c = 0; c < n; c++)
            sums[c] += (double)x[c];
        for (int c = 0; logs && c < n; c++)
            logs[c] += log2(1 + (double)x[c]);
    }
}

/* ---- bin_sums: a task is a strip of columns of a window ---- */

int64_t BI_ISA_NAME(bin_sums_tasks)(const void *params, int n_threads)
{
    const struct bi_bin_sums_params *p = params;
    (void)n_threads;
    return p->n_windows * strips(p->width);
}

void BI_ISA_NAME(bin_sums_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_bin_sums_params *p = params;
    const int64_t window = task / strips(p->width), first = task % strips(p->width) * STRIP;
    const int n = p->width - first < STRIP ? (int)(p->width - first) : STRIP;
    const float *x = p->x + window * p->bins * p->ldx + first;
    float *y = p->y + window * (p->logs ? 4 : 2) * p->ldy + first;
    double sums[STRIP] = {0}, logs[STRIP] = {0};
    (void)n_tasks;
    (void)scratch;
    add_bins(x, p->ldx, p->bins, n, sums, p->logs ? logs : NULL);
    put_sums(y, p->ldy, sums, n);
    if (p->logs)
        put_sums(y + 2 * p->ldy, p->ldy, logs, n);
}

BI_CPU_ENTRY(bin_sums)

/* ---- bin_add: a task is a strip of columns; all rows are of the first partial sum ---- */

int64_t BI_ISA_NAME(bin_add_tasks)(const void *params, int n_threads)
{
    const struct bi_bin_add_params *p = params;
    (void)n_threads;
    return strips(p->width);
}

void BI_ISA_NAME(bin_add_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_bin_add_params *p = params;
    const int64_t first = task * STRIP, ld = p->width, own = p->tile[BI_TILE_FIRST];
    const int n = p->width - first < STRIP ? (int)(p->width - first) : STRIP;
    const float *x = p->x + (own - p->tile[BI_TILE_BASE]) * p->ldx + first;
    float *y = p->y + first, *parts = y + (p->logs ? 4 : 2) * ld;
    double sums[STRIP], logs[STRIP];
    (void)n_tasks;
    (void)scratch;
    load_parts(sums, parts, ld, n);
    if (p->logs)
        load_parts(logs, parts + 2 * BI_SUMS_SLICES * ld, ld, n);
    add_bins(x, p->ldx, p->tile[BI_TILE_END] - own, n, sums, p->logs ? logs : NULL);
    store_parts(parts, ld, sums, n);
    put_sums(y, ld, sums, n);
    if (p->logs) {
        store_parts(parts + 2 * BI_SUMS_SLICES * ld, ld, logs, n);
        put_sums(y + 2 * ld, ld, logs, n);
    }
}

BI_CPU_ENTRY(bin_add)
