/* motion.c - steps of molecular dynamics (kernels/motion.h); a task is a run of atoms. */
#include "../motion.h"
#include "entries.h"
#include "rows.h"

enum { NUMBERS_OF_MOTION = 256 };

static int64_t motion_tasks(const void *params)
{
    return row_tasks(bi_motion_rows(params), NUMBERS_OF_MOTION);
}

static struct rows motion_rows(const void *params, int64_t task)
{
    return task_rows(task, bi_motion_rows(params), NUMBERS_OF_MOTION);
}

int64_t BI_ISA_NAME(motion_start_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return motion_tasks(params);
}

void BI_ISA_NAME(motion_start_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_motion_params *p = params;
    const struct rows rows = motion_rows(p, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        p->atom[i] = p->from[i];
}

BI_CPU_ENTRY(motion_start)

int64_t BI_ISA_NAME(motion_move_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return motion_tasks(params);
}

void BI_ISA_NAME(motion_move_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_motion_params *p = params;
    const struct rows rows = motion_rows(p, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        bi_motion_move_at(p, i);
}

BI_CPU_ENTRY(motion_move)

int64_t BI_ISA_NAME(motion_kick_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return motion_tasks(params);
}

void BI_ISA_NAME(motion_kick_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_motion_params *p = params;
    const struct rows rows = motion_rows(p, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = rows.first; i < rows.end; i++)
        bi_motion_kick_at(p, i);
}

BI_CPU_ENTRY(motion_kick)
