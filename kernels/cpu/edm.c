/* edm.c - steps of a sampler of atoms (kernels/edm.h); a task is a sequence. */
#include "../edm.h"
#include "entries.h"

static int64_t edm_tasks(const void *params)
{
    const struct bi_edm_params *p = params;
    return p->counts->n_seqs;
}

int64_t BI_ISA_NAME(edm_start_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return edm_tasks(params);
}

void BI_ISA_NAME(edm_start_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_edm_params *p = params;
    (void)n_tasks;
    (void)scratch;
    for (int64_t i = p->start[task]; i < p->start[task + 1]; i++)
        bi_edm_start_atom(p, task, i);
}

BI_CPU_ENTRY(edm_start)

int64_t BI_ISA_NAME(edm_move_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return edm_tasks(params);
}

void BI_ISA_NAME(edm_move_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_edm_params *p = params;
    const int64_t first = p->start[task], end = p->start[task + 1];
    const int32_t at = first < end ? bi_edm_at(p, p->from, first) : 0;
    const struct bi_edm_step *s = bi_edm_step_of(p, task, at);
    double mean[3] = {0};
    (void)n_tasks;
    (void)scratch;
    memcpy(p->row + task * p->ldr, p->table + at * p->ldt, sizeof *p->row * (size_t)p->width);
    for (int64_t i = first; i < end; i++)
        for (int k = 0; k < 3; k++)
            mean[k] += (double)p->from[i * p->lds + k] / (double)(end - first);
    for (int64_t i = first; i < end; i++)
        bi_edm_move_atom(p, s, at, i, mean);
}

BI_CPU_ENTRY(edm_move)

int64_t BI_ISA_NAME(edm_step_tasks)(const void *params, int n_threads)
{
    (void)n_threads;
    return edm_tasks(params);
}

void BI_ISA_NAME(edm_step_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_edm_params *p = params;
    const int64_t first = p->start[task], end = p->start[task + 1];
    double means[6] = {0}, products[9] = {0}, work[BI_EDM_WORK], r[9] = {0};
    (void)n_tasks;
    (void)scratch;
    if (first >= end)
        return;
    const struct bi_edm_step *s = bi_edm_step_of(p, task, bi_edm_at(p, p->state, first));
    for (int64_t i = first; i < end && !p->plain; i++)
        for (int k = 0; k < 3; k++) {
            means[k] += (double)p->position[i * p->ldx + k] / (double)(end - first);
            means[3 + k] += bi_edm_denoised(p, s, i, k) / (double)(end - first);
        }
    for (int64_t i = first; i < end && !p->plain; i++)
        for (int k = 0; k < 9; k++)
            products[k] += bi_edm_product(p, s, i, k, means);
    if (!p->plain)
        bi_edm_rotation(products, work, r);
    for (int64_t i = first; i < end; i++)
        bi_edm_step_atom(p, s, i, r, means);
}

BI_CPU_ENTRY(edm_step)
