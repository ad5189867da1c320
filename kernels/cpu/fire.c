/* fire.c - steps of a relaxation (kernels/fire.h); a task is a run of atoms, and fire_plan is one
 * task. */
#include "../fire.h"
#include "entries.h"
#include "rows.h"

enum { NUMBERS_OF_FIRE = 64 };

static int64_t fire_tasks(const void *params)
{
    const int64_t n = row_tasks(bi_fire_rows(params), NUMBERS_OF_FIRE);
    return n > 0 ? n : 1; /* the first one has more to do than atoms */
}

static struct rows fire_rows(const void *params, int64_t task)
{
    return task_rows(task, bi_fire_rows(params), NUMBERS_OF_FIRE);
}

int64_t BI_ISA_NAME(fire_start_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return fire_tasks(params);
}

void BI_ISA_NAME(fire_start_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_fire_params *p = params;
    const struct rows rows = fire_rows(p, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        p->atom[i] = p->from[i];
    for (int32_t f = 0; f < p->counts->n_seqs && !task; f++)
        p->state[f] = p->begin[f];
}

BI_CPU_ENTRY(fire_start)

int64_t BI_ISA_NAME(fire_place_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return fire_tasks(params);
}

void BI_ISA_NAME(fire_place_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_fire_params *p = params;
    const struct rows rows = fire_rows(p, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        bi_fire_place_atom(p, i);
    for (int32_t f = 0; f < p->counts->n_seqs && !task; f++)
        bi_fire_place_frame(p, f);
}

BI_CPU_ENTRY(fire_place)

int64_t BI_ISA_NAME(fire_plan_tasks)(const void *params, int n_threads)
{
    (void)params;
    (void)n_threads;
    return 1;
}

void BI_ISA_NAME(fire_plan_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    (void)task;
    (void)n_tasks;
    (void)scratch;
    bi_fire_plan_all(params);
}

BI_CPU_ENTRY(fire_plan)

int64_t BI_ISA_NAME(fire_move_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return fire_tasks(params);
}

void BI_ISA_NAME(fire_move_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_fire_params *p = params;
    const struct rows rows = fire_rows(p, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        bi_fire_move_atom(p, i);
}

BI_CPU_ENTRY(fire_move)
