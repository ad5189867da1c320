/* grid_grads.c - derivatives of what makes values of pairs of places: head_products_grad,
 * grid_logits_grad. A task is a run of rows (rows.h). */
#include "../grid_grads.h"
#include "entries.h"
#include "rows.h"

/* ---- head_products_grad ---- */

/* Products for a row of the result, which say how large a task is. */
static int64_t numbers_of(const struct bi_head_products_grad_params *p)
{
    return p->turned ? p->rows / p->blocks * p->n_heads : p->m * p->n_heads;
}

int64_t BI_ISA_NAME(head_products_grad_tasks)(const void *params, int n_threads)
{
    const struct bi_head_products_grad_params *p = params;
    (void)n_threads;
    return row_tasks(p->out_rows, numbers_of(p));
}

/* y = the sum of n rows x, ldx apart, of d numbers, times by[0], by[step], ... */
static void weighted_sum(float *y, const float *x, int64_t ldx, const float *by, int64_t step,
                         int64_t n, int d)
{
    for (int c = 0; c < d; c += VW) {
        const int k = lanes(c, d);
        vf sum = vf_zero();
        for (int64_t i = 0; i < n; i++)
            sum = vf_fma(vf_set1(by[i * step]), vf_load_n(x + i * ldx + c, k), sum);
        vf_store_n(y + c, sum, k);
    }
}

void BI_ISA_NAME(head_products_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                         void *scratch)
{
    const struct bi_head_products_grad_params *p = params;
    const struct rows rows = task_rows(task, p->out_rows, numbers_of(p));
    const int64_t size = p->rows / p->blocks, n = p->turned ? size : p->m;
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++)
        for (int64_t h = 0; h < p->n_heads; h++) {
            const int64_t block = r / (p->turned ? p->m : size);
            const float *dy = p->turned ? p->dy + block * size * p->lddy + r % p->m
                                        : p->dy + r * p->lddy;
            weighted_sum(p->dx + r * p->lddx + h * p->d, p->other + block * n * p->ldo + h * p->d,
                         p->ldo, dy + h * p->m, p->turned ? p->lddy : 1, n, p->d);
        }
}

BI_CPU_ENTRY(head_products_grad)

/* ---- grid_logits_grad ---- */

int64_t BI_ISA_NAME(grid_logits_grad_tasks)(const void *params, int n_threads)
{
    const struct bi_grid_logits_grad_params *p = params;
    (void)n_threads;
    return row_tasks(p->rows, (int64_t)p->n * p->n_heads);
}

void BI_ISA_NAME(grid_logits_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                       void *scratch)
{
    const struct bi_grid_logits_grad_params *p = params;
    const struct rows rows = task_rows(task, p->rows, (int64_t)p->n * p->n_heads);
    const int64_t m = 2 * (int64_t)p->n_edges + 1, n = p->n;
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = rows.first; r < rows.end; r++) {
        const int64_t at = r % n;
        float *ds = p->ds + r * p->ldds, *dp = p->dp + r * p->lddp, *dq = p->dq + r * p->lddq;
        memset(dp, 0, sizeof *dp * (size_t)(p->n_heads * m));
        memset(dq, 0, sizeof *dq * (size_t)(p->n_heads * m));
        for (int64_t j = 0; j < n; j++) {
            const float *by_row = p->dy + (r * n + j) * p->lddy;
            const float *by_column = p->dy + ((r - at + j) * n + at) * p->lddy;
            const int k = bi_grid_class(p->edges, p->n_edges, j - at);
            for (int64_t h = 0; h < p->n_heads; h++) {
                ds[h * n + j] = by_row[h];
                dp[h * m + k] += 0.5f * by_row[h];
                dq[h * m + k] += 0.5f * by_column[h];
            }
        }
    }
}

BI_CPU_ENTRY(grid_logits_grad)
