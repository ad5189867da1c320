/* list_sums.c - sums over rows that lists name: list_sums, list_add, put_listed. */
#include "../list_sums.h"
#include "entries.h"
#include "rows.h"
#include "sums.h"

/* ---- list_sums: a task is a strip of columns of a list ---- */

int64_t BI_ISA_NAME(list_sums_tasks)(const void *params, int n_threads)
{
    const struct bi_list_sums_params *p = params;
    (void)n_threads;
    return p->n * strips(p->width);
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
    const int64_t i = task / strips(p->width), first = task % strips(p->width) * STRIP;
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
    put_sums(y, p->ldy, sums, n);
}

BI_CPU_ENTRY(list_sums)

/* ---- list_add: the same; all entries are of the first partial sum ---- */

int64_t BI_ISA_NAME(list_add_tasks)(const void *params, int n_threads)
{
    const struct bi_list_add_params *p = params;
    (void)n_threads;
    return p->n * strips(p->width);
}

/* Makes `largest` that of n columns in the rows of the span up to those of the tile. */
static void widen_span(const struct bi_list_add_params *p, int64_t first, int n, float *largest)
{
    const int32_t *tile = p->tile, begin = p->lists[0], end = p->lists[1];
    const int64_t from = begin > tile[BI_TILE_FIRST] ? begin : tile[BI_TILE_FIRST];
    const int64_t to = end < tile[BI_TILE_END] ? end : tile[BI_TILE_END];
    for (int64_t r = from; r < to; r++) {
        const float *x = p->x + (r - tile[BI_TILE_BASE]) * p->ldx + first;
        for (int c = 0; c < n; c++)
            largest[c] = r == begin || x[c] > largest[c] ? x[c] : largest[c];
    }
}

void BI_ISA_NAME(list_add_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_list_add_params *p = params;
    const int64_t i = task / strips(p->width), first = task % strips(p->width) * STRIP;
    const int n = p->width - first < STRIP ? (int)(p->width - first) : STRIP;
    const int32_t *rows = p->lists + 2 + p->n, *against = rows + p->size;
    float *y = p->y + first, *parts = y + (2 * p->n + 2 * BI_SUMS_SLICES * i) * p->width;
    float *largest = y + ((2 + 2 * BI_SUMS_SLICES) * (int64_t)p->n + i) * p->width;
    const float zeros[STRIP] = {0};
    double sums[STRIP];
    (void)n_tasks;
    (void)scratch;
    widen_span(p, first, n, largest);
    load_parts(sums, parts, p->width, n);
    for (int64_t at = p->cuts[i]; at < p->cuts[p->n + i]; at++) {
        const int32_t row = rows[at];
        add_row(p->kind,
                row >= 0              ? p->x + (row - p->tile[BI_TILE_BASE]) * p->ldx + first
                : row == BI_LIST_NONE ? zeros
                                      : largest,
                p->kind == BI_LIST_SUM ? NULL : p->other + against[at] * p->ldo + first, n, sums);
    }
    store_parts(parts, p->width, sums, n);
    put_sums(y + 2 * i * p->width, p->width, sums, n);
}

BI_CPU_ENTRY(list_add)

/* ---- put_listed: a task is a run of rows of y ---- */

int64_t BI_ISA_NAME(put_listed_tasks)(const void *params, int n_threads)
{
    const struct bi_put_listed_params *p = params;
    (void)n_threads;
    return row_tasks(p->rows, p->width);
}

void BI_ISA_NAME(put_listed_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_put_listed_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int32_t row = p->list[r];
        if (row >= p->tile[BI_TILE_FIRST] && row < p->tile[BI_TILE_END])
            memcpy(p->y + r * p->width, p->x + (row - p->tile[BI_TILE_BASE]) * p->ldx,
                   (size_t)p->width * sizeof *p->x);
    }
}

BI_CPU_ENTRY(put_listed)
