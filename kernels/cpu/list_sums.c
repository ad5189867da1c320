/* list_sums.c - sums over rows that lists name. A task is a strip of columns of a list. */
#include "../list_sums.h"
#include "entries.h"

enum { STRIP = 64 };

static int64_t strips(const struct bi_list_sums_params *p)
{
    return (p->width + STRIP - 1) / STRIP;
}

int64_t BI_ISA_NAME(list_sums_tasks)(const void *params, int n_threads)
{
    const struct bi_list_sums_params *p = params;
    (void)n_threads;
    return p->n * strips(p);
}

/* The largest numbers of n columns in the rows of the span. */
static void find_largest(const struct bi_list_sums_params *p, int64_t first, int n, float *largest)
{
    for (int64_t r = p->lists[0]; r < p->lists[1]; r++) {
        const float *x = p->x + r * p->ldx + first;
        for (int c = 0; c < n; c++)
            largest[c] = r == p->lists[0] || x[c] > largest[c] ? x[c] : largest[c];
    }
}

static void add_row(int kind, const float *x, const float *other, int n, double *sums)
{
    for (int c = 0; kind == BI_LIST_SUM && c < n; c++)
        sums[c] += (double)x[c];
    for (int c = 0; kind == BI_LIST_GAPS && c < n; c++)
        sums[c] += fabs((double)x[c] - (double)other[c]);
    for (int c = 0; kind == BI_LIST_GAP && c < n; c++) {
        const double gap = (double)fabsf(x[c] - other[c]);
        sums[c] = gap > sums[c] ? gap : sums[c];
    }
}

void BI_ISA_NAME(list_sums_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_list_sums_params *p = params;
    const int64_t i = task / strips(p), first = task % strips(p) * STRIP;
    const int n = p->width - first < STRIP ? (int)(p->width - first) : STRIP;
    const int32_t *ends = p->lists + 2, *rows = ends + p->n, *against = rows + p->size;
    float *y = p->y + 2 * i * p->ldy + first;
    float zeros[STRIP] = {0}, largest[STRIP] = {0};
    double sums[STRIP] = {0};
    bool found = false;
    (void)n_tasks;
    (void)scratch;
    for (int64_t at = i ? ends[i - 1] : 0; at < ends[i]; at++) {
        const int32_t row = rows[at];
        if (row == BI_LIST_SPAN && !found)
            find_largest(p, first, n, largest);
        found |= row == BI_LIST_SPAN;
        add_row(p->kind,
                row >= 0              ? p->x + row * p->ldx + first
                : row == BI_LIST_NONE ? zeros
                                      : largest,
                p->kind == BI_LIST_SUM ? NULL : p->other + against[at] * p->ldo + first, n, sums);
    }
    for (int c = 0; c < n; c++) {
        y[c] = (float)sums[c];
        y[p->ldy + c] = (float)(sums[c] - (double)y[c]);
    }
}

BI_CPU_ENTRY(list_sums)
