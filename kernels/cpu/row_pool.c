/* row_pool.c - rows of tokens, summed up by a softmax (kernels/row_pool.h); a task is a token. */
#include <float.h>

#include "../row_pool.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

int64_t BI_ISA_NAME(row_pool_tasks)(const void *params, int n_threads)
{
    const struct bi_row_pool_params *p = params;
    (void)n_threads;
    return p->counts->n_tokens;
}

void BI_ISA_NAME(row_pool_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_row_pool_params *p = params;
    const int64_t first = p->start[task], end = p->start[task + 1];
    float top = p->logit ? -FLT_MAX : 0;
    (void)n_tasks;
    (void)scratch;
    for (int64_t r = first; r < end && p->logit; r++)
        top = p->logit[r * p->ldl] > top ? p->logit[r * p->ldl] : top;
    for (int c = 0; c < p->width; c += VW) {
        const int n = lanes(c, p->width);
        vf sum = vf_zero(), all = vf_zero();
        for (int64_t r = first; r < end; r++) {
            const vf weight = vf_exp(vf_set1(p->logit ? p->logit[r * p->ldl] - top : 0));
            all = vf_add(all, weight);
            sum = vf_fma(weight, vf_load_n(p->x + r * p->ldx + c, n), sum);
        }
        vf_store_n(p->y + task * p->ldy + c, vf_div(sum, all), n);
    }
}

BI_CPU_ENTRY(row_pool)
