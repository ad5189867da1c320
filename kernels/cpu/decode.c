/* decode.c - what a step of a loop reads and writes, see kernels/decode.h. */
#include "../decode.h"
#include "entries.h"
#include "rows.h"

#include <math.h>

/* ---- fill ---- */

int64_t BI_ISA_NAME(fill_tasks)(const void *params, int n_threads)
{
    const struct bi_fill_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), p->width);
}

void BI_ISA_NAME(fill_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_fill_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first * p->width; i < rows.end * p->width; i++) {
        if (p->is_int)
            ((int32_t *)p->y)[i] = (int32_t)p->value;
        else
            ((float *)p->y)[i] = p->value;
    }
}

/* ---- put_rows ---- */

int64_t BI_ISA_NAME(put_rows_tasks)(const void *params, int n_threads)
{
    const struct bi_put_rows_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), p->width);
}

void BI_ISA_NAME(put_rows_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_put_rows_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        if (p->row[r] >= 0)
            memcpy(p->x + (int64_t)p->row[r] * p->width, p->y + r * p->width,
                   (size_t)p->width * sizeof *p->x);
}

/* ---- next_step: one task, for it changes the counter that all samples read ---- */

int64_t BI_ISA_NAME(next_step_tasks)(const void *params, int n_threads)
{
    (void)params;
    (void)n_threads;
    return 1;
}

void BI_ISA_NAME(next_step_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_next_step_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, BI_AXIS_SAMPLES, p->rows);
    const int32_t t = *p->step;
    (void)task;
    (void)n_tasks;
    (void)scratch;
    for (int64_t s = 0; s < rows; s++) {
        const int runs = p->start[s] + t < p->start[s + 1] && p->plan[p->start[s] + t].runs;
        const int32_t position = runs ? p->plan[p->start[s] + t].position : 0;
        p->row[s] = runs ? p->start[s] + position : -1;
        p->token[s] = p->first[s] + position;
        p->alive[s] = runs && p->plan[p->start[s] + t].runs == 1;
    }
    *p->step = t + 1;
}

/* ---- draw ---- */

static int32_t draw_symbol(const struct bi_draw_params *p, int64_t s, int64_t at)
{
    const struct bi_step *step = &p->plan[at];
    const double *add = p->terms + (int64_t)step->terms * BI_TERMS, *prior = add + BI_SYMBOLS;
    const double *factor = prior + BI_SYMBOLS, scale = factor[BI_SYMBOLS];
    const double *noise = p->noise + at * BI_SYMBOLS;
    double q[BI_SYMBOLS], largest, sum = 0, best = -1;
    int32_t choice = 0;
    for (int c = 0; c < BI_SYMBOLS; c++) {
        float z = 0;
        for (int64_t i = at - step->group + 1; i <= at; i++) {
            const int64_t row = p->start[s] + p->plan[i].position;
            const float part = p->logits[row * BI_SYMBOLS + c] / p->temperature[s];
            z += p->weight[i] * part / (float)step->group;
        }
        q[c] = (double)z + add[c];
    }
    largest = q[0];
    for (int c = 1; c < BI_SYMBOLS; c++)
        largest = q[c] > largest ? q[c] : largest;
    for (int c = 0; c < BI_SYMBOLS; c++)
        sum += q[c] = exp(q[c] - largest);
    for (int c = 0; c < BI_SYMBOLS; c++) {
        const double chance = (scale * q[c] / sum + prior[c]) * factor[c] / noise[c];
        if (chance > best) {
            best = chance;
            choice = c;
        }
    }
    return choice;
}

int64_t BI_ISA_NAME(draw_tasks)(const void *params, int n_threads)
{
    const struct bi_draw_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, BI_AXIS_SAMPLES, p->rows), 1024);
}

void BI_ISA_NAME(draw_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_draw_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, BI_AXIS_SAMPLES, p->rows),
                                       1024);
    (void)n_tasks;
    (void)scratch;
    for (int64_t s = rows.first; s < rows.end; s++) {
        const int64_t at = p->start[s] + *p->step - 1;
        const struct bi_step *step = &p->plan[at];
        if (at >= p->start[s + 1] || !step->group)
            continue;
        const int32_t symbol = step->code >= 0 ? step->code : draw_symbol(p, s, at);
        for (int64_t i = at - step->group + 1; i <= at; i++)
            p->codes[p->start[s] + p->plan[i].position] = symbol;
    }
}

BI_CPU_ENTRY(fill)
BI_CPU_ENTRY(put_rows)
BI_CPU_ENTRY(next_step)
BI_CPU_ENTRY(draw)
