/* pairs.c - what stands between convolutions, every number visited once: norm_act, pair_diff,
 * pair_pool, upsample, depthwise. A task is a run of rows (rows.h). */
#include "../pairs.h"
#include "../depthwise.h"
#include "../norm_act.h"
#include "../upsample.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

/* ---- norm_act ---- */

int64_t BI_ISA_NAME(norm_act_tasks)(const void *params, int n_threads)
{
    const struct bi_norm_act_params *p = params;
    (void)n_threads;
    return row_tasks(bi_live_rows(p->counts, p->axis, p->rows) + 2 * p->pad, p->width);
}

BI_INLINE vf activate(vf z, const int act)
{
    const vf one = vf_set1(1);
    switch (act) {
    case BI_NORM_ACT_QUICK_GELU:
        return vf_div(z, vf_add(one, vf_exp(vf_mul(z, vf_set1(-1.702f)))));
    case BI_NORM_ACT_TANH_GELU: { /* 1/2 (1 + tanh x) = sigmoid(2 x) */
        const vf cube = vf_mul(vf_mul(z, z), z);
        const vf x = vf_mul(vf_fma(vf_set1(0.044715f), cube, z), vf_set1(-1.59576912f));
        return vf_div(z, vf_add(one, vf_exp(x)));
    }
    case BI_NORM_ACT_RELU:
        return vf_max(vf_zero(), z); /* in this order for NaN */
    case BI_NORM_ACT_SOFTPLUS:
        return vf_softplus(z);
    case BI_NORM_ACT_TANH:
        return vf_tanh(z);
    default:
        return z;
    }
}

BI_INLINE vf norm_one(const struct bi_norm_act_params *p, const float *x, int c, int n,
                      const int act)
{
    vf z = vf_load_n(x + c, n);
    if (p->scale)
        z = vf_mul(z, vf_load_n(p->scale + c, n));
    if (p->shift)
        z = vf_add(z, vf_load_n(p->shift + c, n));
    return activate(z, act);
}

BI_INLINE void norm_act_rows(const struct bi_norm_act_params *p, struct rows rows, int64_t live,
                             const int act)
{
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + (r - p->pad) * p->ldx;
        float *y = p->y + r * p->ldy;
        int c = 0;
        if (r < p->pad || r >= p->pad + live) {
            memset(y, 0, sizeof *y * (size_t)p->width);
            continue;
        }
        for (; c + VW <= p->width; c += VW)
            vf_store(y + c, norm_one(p, x, c, VW, act));
        if (c < p->width)
            vf_store_n(y + c, norm_one(p, x, c, p->width - c, act), p->width - c);
    }
}

void BI_ISA_NAME(norm_act_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_norm_act_params *p = params;
    const int64_t live = bi_live_rows(p->counts, p->axis, p->rows);
    const struct rows rows = task_rows(task, live + 2 * p->pad, p->width);
    (void)n_tasks;
    (void)scratch;
    switch (p->act) {
    case BI_NORM_ACT_QUICK_GELU:
        norm_act_rows(p, rows, live, BI_NORM_ACT_QUICK_GELU);
        break;
    case BI_NORM_ACT_TANH_GELU:
        norm_act_rows(p, rows, live, BI_NORM_ACT_TANH_GELU);
        break;
    case BI_NORM_ACT_RELU:
        norm_act_rows(p, rows, live, BI_NORM_ACT_RELU);
        break;
    case BI_NORM_ACT_SOFTPLUS:
        norm_act_rows(p, rows, live, BI_NORM_ACT_SOFTPLUS);
        break;
    case BI_NORM_ACT_TANH:
        norm_act_rows(p, rows, live, BI_NORM_ACT_TANH);
        break;
    default:
        norm_act_rows(p, rows, live, BI_NORM_ACT_NONE);
    }
}

/* ---- pair_diff, pair_pool ---- */

/* The _tasks of an entry whose rows are fixed. */
#define FIXED_TASKS(name)                                                                          \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads)                           \
    {                                                                                              \
        const struct bi_##name##_params *p = params;                                               \
        (void)n_threads;                                                                           \
        return row_tasks(p->rows, p->width);                                                       \
    }

FIXED_TASKS(pair_diff)

void BI_ISA_NAME(pair_diff_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pair_diff_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + 2 * r * p->ldx;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf_store_n(p->y + r * p->ldy + c,
                       vf_sub(vf_load_n(x + c, n), vf_load_n(x + p->ldx + c, n)), n);
        }
    }
}

FIXED_TASKS(pair_pool)

void BI_ISA_NAME(pair_pool_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pair_pool_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + 2 * r * p->ldx;
        const float *l = p->logits ? p->logits + (p->halved ? r : 2 * r) * p->ldl : NULL;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            const vf a = vf_load_n(x + c, n), b = vf_load_n(x + p->ldx + c, n);
            vf y;
            if (l) {
                vf z = vf_load_n(l + c, n);
                if (!p->halved)
                    z = vf_sub(z, vf_load_n(l + p->ldl + c, n));
                y = vf_add(vf_set1(1), vf_exp(vf_neg(z)));
                y = vf_add(b, vf_div(vf_sub(a, b), y));
            } else { /* NaN in either stays */
                y = vf_select(vm_or(vf_gt(a, b), vf_ne(a, a)), a, b);
            }
            vf_store_n(p->y + r * p->ldy + c, y, n);
        }
    }
}

/* ---- upsample, depthwise ---- */

FIXED_TASKS(upsample)

void BI_ISA_NAME(upsample_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_upsample_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + r / p->times * p->ldx, *skip = p->skip + r * p->lds;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf_store_n(p->y + r * p->ldy + c, vf_add(vf_load_n(x + c, n), vf_load_n(skip + c, n)),
                       n);
        }
    }
}

FIXED_TASKS(depthwise)

void BI_ISA_NAME(depthwise_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_depthwise_params *p = params;
    const struct rows rows = task_rows(task, p->rows, p->width);
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const float *x = p->x + r * p->ldx;
        for (int c = 0; c < p->width; c += VW) {
            const int n = lanes(c, p->width);
            vf sum = vf_zero();
            for (int i = 0; i < p->taps; i++)
                sum = vf_fma(vf_load_n(x + i * p->ldx + c, n),
                             vf_load_n(p->w + (int64_t)i * p->width + c, n), sum);
            vf_store_n(p->y + r * p->ldy + c, sum, n);
        }
    }
}

BI_CPU_ENTRY(norm_act)
BI_CPU_ENTRY(pair_diff)
BI_CPU_ENTRY(pair_pool)
BI_CPU_ENTRY(upsample)
BI_CPU_ENTRY(depthwise)
