/* gather_sum.c - sums of rows that an index names. A task is a run of rows (rows.h). */
#include "../gather_sum.h"
#include "entries.h"
#include "rows.h"

int64_t BI_ISA_NAME(gather_sum_tasks)(const void *params, int n_threads)
{
    const struct bi_gather_sum_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), (int64_t)p->width * p->k);
}

void BI_ISA_NAME(gather_sum_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_gather_sum_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows),
                                       (int64_t)p->width * p->k);
    const vf factor = vf_set1(p->factor);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int32_t *index = p->index + r * p->k;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf sum = vf_zero();
            for (int32_t k = 0; k < p->k; k++)
                if (index[k] >= 0)
                    sum = vf_add(sum, vf_load_n(p->x + index[k] * p->ldx + c, n));
            vf_store_n(p->y + r * p->ldy + c, vf_mul(sum, factor), n);
        }
    }
}

BI_CPU_ENTRY(gather_sum)
