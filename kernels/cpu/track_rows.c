/* track_rows.c - rows around the heads of a model of tracks: add_narrow, join_columns, mean_rows,
 * row_softmax, unclip. A task is a run of rows (rows.h). */
#include "../track_rows.h"

#include <float.h>

#include "entries.h"
#include "math.h"
#include "rows.h"

ROW_TASKS(add_narrow)

void BI_ISA_NAME(add_narrow_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_add_narrow_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *a = p->a + r * p->lda, *b = p->b + r * p->ldb;
        float *y = p->y + r * p->ldy;
        for (int c = 0; c < p->narrow; c += VW) {
            const int n = lanes(c, p->narrow);
            vf_store_n(y + c, vf_add(vf_load_n(a + c, n), vf_load_n(b + c, n)), n);
        }
        memcpy(y + p->narrow, a + p->narrow, sizeof *y * (size_t)(p->width - p->narrow));
    }
}

BI_CPU_ENTRY(add_narrow)

ROW_TASKS(join_columns)

void BI_ISA_NAME(join_columns_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_join_columns_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        float *y = p->y + r * p->ldy;
        memcpy(y, p->a + r * p->lda, sizeof *y * (size_t)p->first);
        memcpy(y + p->first, p->b + r * p->ldb, sizeof *y * (size_t)(p->width - p->first));
    }
}

BI_CPU_ENTRY(join_columns)

int64_t BI_ISA_NAME(mean_rows_tasks)(const void *params, int n_threads)
{
    const struct bi_mean_rows_params *p = params;
    (void)n_threads;
    return row_tasks(p->rows, (int64_t)p->width * p->n);
}

void BI_ISA_NAME(mean_rows_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_mean_rows_params *p = params;
    const struct rows rows = task_rows(task, p->rows, (int64_t)p->width * p->n);
    const vf by = vf_set1(1.0f / (float)p->n);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const float *x = p->x + r * p->n * p->ldx + c;
            const int n = lanes(c, p->width);
            vf sum = vf_load_n(x, n);
            for (int32_t i = 1; i < p->n; i++)
                sum = vf_add(sum, vf_load_n(x + i * p->ldx, n));
            vf_store_n(p->y + r * p->ldy + c, vf_mul(sum, by), n);
        }
}

BI_CPU_ENTRY(mean_rows)

ROW_TASKS(row_softmax)

void BI_ISA_NAME(row_softmax_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_row_softmax_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + r * p->ldx;
        float *y = p->y + r * p->ldy, most = x[0], sum = 0;
        for (int c = 1; c < p->width; c++)
            most = x[c] > most || x[c] != x[c] ? x[c] : most;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf_store_n(y + c, vf_exp(vf_sub(vf_load_n(x + c, n), vf_set1(most))), n);
        }
        for (int c = 0; c < p->width; c++)
            sum += y[c];
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf_store_n(y + c, vf_div(vf_load_n(y + c, n), vf_set1(sum)), n);
        }
    }
}

BI_CPU_ENTRY(row_softmax)

ROW_TASKS(unclip)

void BI_ISA_NAME(unclip_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_unclip_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    const vf from = vf_set1(BI_UNCLIP_FROM), quarter = vf_set1(0.25f / BI_UNCLIP_FROM);
    const vf exponent = vf_set1(p->exponent);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            const vf x = vf_load_n(p->x + r * p->ldx + c, n);
            const vf s = vf_mul(vf_softplus(x), vf_load_n(p->gain + c, n)), t = vf_add(s, from);
            vf u = vf_select(vf_gt(s, from), vf_mul(vf_mul(t, t), quarter), s);
            if (p->exponent != 1) { /* in this order for NaN, which log loses */
                const vf y = vf_exp(vf_mul(exponent, vf_log(vf_max(vf_set1(FLT_MIN), u))));
                u = vf_select(vf_ne(u, u), u, y);
            }
            vf_store_n(p->y + r * p->ldy + c, vf_mul(u, vf_load_n(p->mean + c, n)), n);
        }
}

BI_CPU_ENTRY(unclip)
