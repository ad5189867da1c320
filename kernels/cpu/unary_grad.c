/* unary_grad.c - derivatives of activations. A task is a run of rows (rows.h). */
#include "../unary_grad.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

int64_t BI_ISA_NAME(unary_grad_tasks)(const void *params, int n_threads)
{
    const struct bi_unary_grad_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), p->width);
}

void BI_ISA_NAME(unary_grad_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_unary_grad_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    const vf one = vf_set1(1);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            const vf x = vf_load_n(p->x + r * p->ldx + c, n);
            const vf s = vf_div(one, vf_add(one, vf_exp(vf_neg(x)))), t = vf_sub(one, s);
            const vf d = p->function == BI_UNARY_SILU ? vf_fma(vf_mul(x, s), t, s) : vf_mul(s, t);
            vf_store_n(p->dx + r * p->lddx + c, vf_mul(d, vf_load_n(p->dy + r * p->lddy + c, n)),
                       n);
        }
}

BI_CPU_ENTRY(unary_grad)
