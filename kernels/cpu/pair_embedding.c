/* pair_embedding.c - rows of a table for pairs of tokens. A task is a run of rows (rows.h). */
#include <math.h>

#include "../pair_embedding.h"
#include "entries.h"
#include "rows.h"

int64_t BI_ISA_NAME(pair_embedding_tasks)(const void *params, int n_threads)
{
    const struct bi_pair_embedding_params *p = params;
    (void)n_threads;
    return row_tasks(p->counts->n_grid, p->width);
}

void BI_ISA_NAME(pair_embedding_run)(const void *params, int64_t task, int64_t n_tasks,
                                     void *scratch)
{
    const struct bi_pair_embedding_params *p = params;
    const struct rows rows = task_rows(task, p->counts->n_grid, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const struct bi_grid_row at = bi_grid_row_of(p->counts, p->grid_start, r);
        const int64_t first = p->start[at.seq];
        const float *row = p->table + bi_pair_code(p, first + at.i, first + at.j) * p->ldt;
        const float *x = p->x ? p->x + r * p->ldx : NULL;
        const vf far = p->slope ? vf_set1(sqrtf(bi_pair_square(p, first + at.i, first + at.j)))
                                : vf_zero();
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf y = vf_add(x ? vf_load_n(x + c, n) : vf_zero(), vf_load_n(row + c, n));
            if (p->slope)
                y = vf_fma(far, vf_load_n(p->slope + c, n), y);
            vf_store_n(p->y + r * p->ldy + c, y, n);
        }
    }
}

BI_CPU_ENTRY(pair_embedding)
