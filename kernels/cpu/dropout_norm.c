/* dropout_norm.c - layernorm whose bias by the dropout of training is taken out. A task is a run of
 * rows (rows.h). */
#include "../dropout_norm.h"
#include "entries.h"
#include "rows.h"

ROW_TASKS(dropout_norm)

void BI_ISA_NAME(dropout_norm_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_dropout_norm_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    const float n = (float)p->width;
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + r * p->ldx;
        vf sum = vf_zero(), square = vf_zero();
        for (int c = 0; c < p->width; c += VW)
            sum = vf_add(sum, vf_load_n(x + c, lanes(c, p->width)));
        const float mean = vf_hsum(sum) / n;
        for (int c = 0; c < p->width; c += VW) {
            const int k = lanes(c, p->width);
            const vf a = vf_select(vm_first(k), vf_sub(vf_load_n(x + c, k), vf_set1(mean)),
                                   vf_zero());
            square = vf_fma(a, a, square);
        }
        const float v = vf_hsum(square) / n;
        const float s = v == 0 ? 0 : p->keep * v / (v + (1 - p->keep) * mean * mean);
        const vf by = vf_set1(sqrtf(s / (v + p->eps)));
        for (int c = 0; c < p->width; c += VW) {
            const int k = lanes(c, p->width);
            const vf z = vf_mul(vf_sub(vf_load_n(x + c, k), vf_set1(mean)), by);
            vf_store_n(p->y + r * p->ldy + c,
                       vf_fma(z, vf_load_n(p->w + c, k), vf_load_n(p->b + c, k)), k);
        }
    }
}

BI_CPU_ENTRY(dropout_norm)
