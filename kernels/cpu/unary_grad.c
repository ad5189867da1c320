/* unary_grad.c - derivatives of activations. A task is a run of rows (rows.h). */
#include "../unary_grad.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

BI_INLINE vf slope(vf x, int32_t function)
{
    const vf one = vf_set1(1);
    if (function == BI_UNARY_GELU)
        return vf_gelu_slope(x);
    const vf s = vf_div(one, vf_add(one, vf_exp(vf_neg(x)))), t = vf_sub(one, s);
    return function == BI_UNARY_SILU ? vf_fma(vf_mul(x, s), t, s) : vf_mul(s, t);
}

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
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            const vf x = vf_load_n(p->x + r * p->ldx + c, n);
            const vf dy = vf_load_n(p->dy + r * p->lddy + c, n);
            vf_store_n(p->dx + r * p->lddx + c, vf_mul(slope(x, p->function), dy), n);
        }
}

BI_CPU_ENTRY(unary_grad)
