/* layernorm_grad.c - the derivative of layer norms and RMS norms.
 * A task is a run of rows (rows.h). */
#include "../layernorm_grad.h"
#include "entries.h"
#include "rows.h"

int64_t BI_ISA_NAME(layernorm_grad_tasks)(const void *params, int n_threads)
{
    const struct bi_layernorm_grad_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows), 2 * (int64_t)p->width * p->groups);
}

BI_INLINE void grad_row(const struct bi_layernorm_grad_params *p, const float *x, const float *w,
                        const float *dy, float *dx)
{
    const float n = (float)p->width;
    vf sum = vf_zero(), square = vf_zero(), h = vf_zero(), hz = vf_zero();
    for (int c = 0; c < p->width && !p->rms; c += VW)
        sum = vf_add(sum, vf_load_n(x + c, lanes(c, p->width)));
    const vf mean = vf_set1(vf_hsum(sum) / n);
    for (int c = 0; c < p->width; c += VW) {
        const int k = lanes(c, p->width);
        const vf a = vf_select(vm_first(k), vf_sub(vf_load_n(x + c, k), mean), vf_zero());
        square = vf_fma(a, a, square);
    }
    const float by = 1 / sqrtf(vf_hsum(square) / n + p->eps);
    for (int c = 0; c < p->width; c += VW) {
        const int k = lanes(c, p->width);
        const vf t = vf_mul(vf_load_n(dy + c, k), vf_load_n(w + c, k));
        const vf z = vf_mul(vf_sub(vf_load_n(x + c, k), mean), vf_set1(by));
        h = vf_add(h, t);
        hz = vf_fma(t, z, hz);
    }
    const vf mean_h = vf_set1(p->rms ? 0 : vf_hsum(h) / n), mean_hz = vf_set1(vf_hsum(hz) / n);
    for (int c = 0; c < p->width; c += VW) {
        const int k = lanes(c, p->width);
        const vf t = vf_mul(vf_load_n(dy + c, k), vf_load_n(w + c, k));
        const vf z = vf_mul(vf_sub(vf_load_n(x + c, k), mean), vf_set1(by));
        vf_store_n(dx + c, vf_mul(vf_fnma(z, mean_hz, vf_sub(t, mean_h)), vf_set1(by)), k);
    }
}

void BI_ISA_NAME(layernorm_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                     void *scratch)
{
    const struct bi_layernorm_grad_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows),
                                       2 * (int64_t)p->width * p->groups);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int64_t c = 0; c < (int64_t)p->groups * p->width; c += p->width)
            grad_row(p, p->x + r * p->ldx + c, p->w + c, p->dy + r * p->lddy + c,
                     p->dx + r * p->lddx + c);
}

BI_CPU_ENTRY(layernorm_grad)
