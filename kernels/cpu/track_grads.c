/* track_grads.c - derivatives of what stands between convolutions: norm_act_grad, pair_pool_grad,
 * pad_rows, unclip_grad, row_softmax_grad. A task is a run of rows (rows.h). */
#include "../track_grads.h"

#include <float.h>

#include "../norm_act.h"
#include "../track_rows.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

BI_INLINE vf sigmoid(vf z)
{
    return vf_div(vf_set1(1), vf_add(vf_set1(1), vf_exp(vf_neg(z))));
}

/* ---- norm_act_grad ---- */

/* The slope of an activation at z. */
BI_INLINE vf slope(vf z, const int act)
{
    const vf one = vf_set1(1);
    switch (act) {
    case BI_NORM_ACT_QUICK_GELU: {
        const vf u = vf_mul(z, vf_set1(1.702f)), s = sigmoid(u);
        return vf_fma(vf_mul(u, s), vf_sub(one, s), s);
    }
    case BI_NORM_ACT_TANH_GELU: { /* z sigmoid(u) */
        const vf square = vf_mul(z, z), by = vf_set1(1.59576912f);
        const vf s = sigmoid(vf_mul(vf_fma(vf_set1(0.044715f), vf_mul(square, z), z), by));
        const vf du = vf_fma(square, vf_set1(3 * 0.044715f * 1.59576912f), by);
        return vf_fma(vf_mul(vf_mul(z, s), vf_sub(one, s)), du, s);
    }
    case BI_NORM_ACT_RELU: /* NaN stays */
        return vf_select(vf_gt(z, vf_zero()), one, vf_select(vf_le(z, vf_zero()), vf_zero(), z));
    case BI_NORM_ACT_SOFTPLUS:
        return sigmoid(z);
    case BI_NORM_ACT_TANH: {
        const vf t = vf_tanh(z);
        return vf_fnma(t, t, one);
    }
    default:
        return one;
    }
}

BI_INLINE void grad_rows(const struct bi_norm_act_grad_params *p, struct rows rows, const int act)
{
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf z = vf_load_n(p->x + r * p->ldx + c, n);
            vf d = vf_load_n(p->dy + (r + p->pad) * p->lddy + c, n);
            if (p->scale) {
                const vf by = vf_load_n(p->scale + c, n);
                z = vf_mul(z, by);
                d = vf_mul(d, by);
            }
            if (p->shift)
                z = vf_add(z, vf_load_n(p->shift + c, n));
            vf_store_n(p->dx + r * p->lddx + c, vf_mul(d, slope(z, act)), n);
        }
}

ROW_TASKS(norm_act_grad)

void BI_ISA_NAME(norm_act_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                    void *scratch)
{
    const struct bi_norm_act_grad_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    switch (p->act) {
    case BI_NORM_ACT_QUICK_GELU:
        grad_rows(p, rows, BI_NORM_ACT_QUICK_GELU);
        break;
    case BI_NORM_ACT_TANH_GELU:
        grad_rows(p, rows, BI_NORM_ACT_TANH_GELU);
        break;
    case BI_NORM_ACT_RELU:
        grad_rows(p, rows, BI_NORM_ACT_RELU);
        break;
    case BI_NORM_ACT_SOFTPLUS:
        grad_rows(p, rows, BI_NORM_ACT_SOFTPLUS);
        break;
    case BI_NORM_ACT_TANH:
        grad_rows(p, rows, BI_NORM_ACT_TANH);
        break;
    default:
        grad_rows(p, rows, BI_NORM_ACT_NONE);
    }
}

/* ---- pair_pool_grad, pad_rows ---- */

/* The _tasks of an entry whose rows are fixed. */
#define FIXED_TASKS(name)                                                                          \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads)                           \
    {                                                                                              \
        const struct bi_##name##_params *p = params;                                               \
        (void)n_threads;                                                                           \
        return row_tasks(p->rows, p->width);                                                       \
    }

FIXED_TASKS(pair_pool_grad)

/* Columns c ... c + n - 1 of a pair of rows, r of dy. */
BI_INLINE void grad_pair(const struct bi_pair_pool_grad_params *p, int64_t r, int c, int n)
{
    const float *x = p->x + 2 * r * p->ldx + c;
    float *dx = p->dx + 2 * r * p->lddx + c;
    const vf a = vf_load_n(x, n), b = vf_load_n(x + p->ldx, n), one = vf_set1(1);
    const vf d = vf_load_n(p->dy + r * p->lddy + c, n);
    vf s, t;
    if (p->logits) {
        const float *l = p->logits + 2 * r * p->ldl + c;
        const vf z = vf_sub(vf_load_n(l, n), vf_load_n(l + p->ldl, n));
        s = sigmoid(z);
        t = sigmoid(vf_neg(z));
    } else { /* NaN in either stays */
        s = vf_select(vf_lt(a, b), vf_zero(), vf_select(vf_le(b, a), one, vf_add(a, b)));
        t = vf_sub(one, s);
    }
    vf_store_n(dx, vf_mul(s, d), n);
    vf_store_n(dx + p->lddx, vf_mul(t, d), n);
    if (p->dlogits) {
        float *dl = p->dlogits + 2 * r * p->lddl + c;
        const vf by = p->logits ? vf_mul(vf_mul(vf_mul(s, t), vf_sub(a, b)), d) : vf_zero();
        vf_store_n(dl, by, n);
        vf_store_n(dl + p->lddl, vf_neg(by), n);
    }
}

void BI_ISA_NAME(pair_pool_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                     void *scratch)
{
    const struct bi_pair_pool_grad_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW)
            grad_pair(p, r, c, lanes(c, p->width));
}

FIXED_TASKS(pad_rows)

void BI_ISA_NAME(pad_rows_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pad_rows_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int64_t from = r - p->first;
        const size_t size = sizeof *p->y * (size_t)p->width;
        if (from >= 0 && from < p->n)
            memcpy(p->y + r * p->ldy, p->x + from * p->ldx, size);
        else
            memset(p->y + r * p->ldy, 0, size);
    }
}

/* ---- unclip_grad ---- */

ROW_TASKS(unclip_grad)

/* The slope of unclip at x, but for the mean. */
BI_INLINE vf unclip_slope(vf x, vf gain, float exponent)
{
    const vf from = vf_set1(BI_UNCLIP_FROM), s = vf_mul(vf_softplus(x), gain), t = vf_add(s, from);
    const vm far = vf_gt(s, from);
    const vf u = vf_select(far, vf_mul(vf_mul(t, t), vf_set1(0.25f / BI_UNCLIP_FROM)), s);
    const vf du = vf_select(far, vf_mul(t, vf_set1(0.5f / BI_UNCLIP_FROM)), vf_set1(1));
    const vf slope = vf_mul(vf_mul(gain, sigmoid(x)), du);
    if (exponent == 1)
        return slope;
    const vf power = vf_mul(vf_set1(exponent - 1), vf_log(vf_max(vf_set1(FLT_MIN), u)));
    return vf_mul(slope, vf_mul(vf_set1(exponent), vf_exp(power)));
}

void BI_ISA_NAME(unclip_grad_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_unclip_grad_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            const vf slope = unclip_slope(vf_load_n(p->x + r * p->ldx + c, n),
                                          vf_load_n(p->gain + c, n), p->exponent);
            const vf d = vf_mul(vf_load_n(p->dy + r * p->lddy + c, n), vf_load_n(p->mean + c, n));
            vf_store_n(p->dx + r * p->lddx + c, vf_mul(d, slope), n);
        }
}

BI_CPU_ENTRY(unclip_grad)
BI_CPU_ENTRY(norm_act_grad)
BI_CPU_ENTRY(pair_pool_grad)
BI_CPU_ENTRY(pad_rows)

/* ---- row_softmax_grad ---- */

ROW_TASKS(row_softmax_grad)

void BI_ISA_NAME(row_softmax_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                       void *scratch)
{
    const struct bi_row_softmax_grad_params *p = params;
    const struct rows rows = task_rows(task, bi_live_rows(p->counts, p->axis, p->rows), p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *y = p->y + r * p->ldy, *dy = p->dy + r * p->lddy;
        float *dx = p->dx + r * p->lddx;
        vf mean = vf_zero();
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            mean = vf_fma(vf_load_n(y + c, n), vf_load_n(dy + c, n), mean);
        }
        mean = vf_set1(vf_hsum(mean));
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf_store_n(dx + c, vf_mul(vf_load_n(y + c, n), vf_sub(vf_load_n(dy + c, n), mean)), n);
        }
    }
}

BI_CPU_ENTRY(row_softmax_grad)
