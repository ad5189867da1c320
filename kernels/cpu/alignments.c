/* alignments.c - rows of alignments and pairs of tokens: outer_sums, pair_softmax, pair_average
 * (kernels/alignments.h). A task is a token. */
#include <float.h>

#include "../alignments.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

#define TOKEN_TASKS(name)                                                                          \
    int64_t BI_ISA_NAME(name##_tasks)(const void *params, int n_threads)                           \
    {                                                                                              \
        (void)n_threads;                                                                           \
        return ((const struct bi_##name##_params *)params)->counts->n_tokens;                      \
    }

/* ---- outer_sums ---- */

enum { DOWN = 8 }; /* columns of a at a time */

/* Sums of DOWN columns of a from u on, and of a vector of columns of b from v on. */
BI_INLINE void sum_columns(const struct bi_outer_sums_params *p, const float *a, const float *b,
                           int64_t depth, int u, int v, float *y)
{
    const int n = lanes(v, p->width_b);
    vf sum[DOWN];
    UNROLL for (int k = 0; k < DOWN; k++) sum[k] = vf_zero();
    for (int64_t s = 0; s < depth; s++) {
        const vf right = vf_load_n(b + s * p->ldb + v, n);
        UNROLL for (int k = 0; k < DOWN; k++)
        {
            const int column = u + k < p->width ? u + k : u;
            sum[k] = vf_fma(vf_set1(a[s * p->lda + column]), right, sum[k]);
        }
    }
    for (int k = 0; k < DOWN && u + k < p->width; k++)
        vf_store_n(y + (u + k) * p->width_b + v, sum[k], n);
}

TOKEN_TASKS(outer_sums)

void BI_ISA_NAME(outer_sums_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_outer_sums_params *p = params;
    const struct bi_aligned of = bi_aligned_of(p->counts, &p->starts, p->starts.token, task);
    const int64_t i = task - of.token;
    const float *a = p->a + (of.row + i * of.depth) * p->lda;
    (void)n_tasks;
    (void)scratch;
    for (int64_t j = 0; j < of.n; j++)
        for (int u = 0; u < p->width; u += DOWN)
            for (int v = 0; v < p->width_b; v += VW)
                sum_columns(p, a, p->b + (of.row + j * of.depth) * p->ldb, of.depth, u, v,
                            p->y + (of.grid + i * of.n + j) * p->ldy);
}

BI_CPU_ENTRY(outer_sums)

/* ---- pair_softmax ---- */

TOKEN_TASKS(pair_softmax)

void BI_ISA_NAME(pair_softmax_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pair_softmax_params *p = params;
    const int64_t first = p->start[task], end = p->start[task + 1];
    (void)n_tasks;
    (void)scratch;
    for (int c = 0; c < p->width; c += VW) {
        const int n = lanes(c, p->width);
        vf top = vf_set1(-FLT_MAX), total = vf_zero();
        for (int64_t r = first; r < end; r++)
            top = vf_max(vf_load_n(p->x + r * p->ldx + c, n), top);
        for (int64_t r = first; r < end; r++) {
            const vf e = vf_exp(vf_sub(vf_load_n(p->x + r * p->ldx + c, n), top));
            total = vf_add(total, e);
            vf_store_n(p->y + r * p->ldy + c, e, n);
        }
        for (int64_t r = first; r < end; r++)
            vf_store_n(p->y + r * p->ldy + c, vf_div(vf_load_n(p->y + r * p->ldy + c, n), total),
                       n);
    }
}

BI_CPU_ENTRY(pair_softmax)

/* ---- pair_average ---- */

enum { ACROSS = 4, SIDE = 16 }; /* tokens j, and rows s, at a time */

/* Adds tokens j, of which there are n, to rows s of head h, of which there are m. */
BI_INLINE void add_tokens(const struct bi_pair_average_params *p, const struct bi_aligned *of,
                          int64_t i, int64_t j, int n, int64_t s, int m, int h)
{
    const int64_t step = of->depth * p->ldv;
    const float *weight = p->weight + (of->grid + i * of->n + j) * p->ldw + h;
    const float *v = p->v + (of->row + j * of->depth + s) * p->ldv + h * p->width;
    float *y = p->y + (of->row + i * of->depth + s) * p->ldy + h * p->width;
    vf w[ACROSS];
    for (int k = 0; k < n; k++)
        w[k] = vf_set1(weight[k * p->ldw]);
    for (int r = 0; r < m; r++, v += p->ldv, y += p->ldy)
        for (int c = 0; c < p->width; c += VW) {
            const int lane = lanes(c, p->width);
            vf sum = j ? vf_load_n(y + c, lane) : vf_zero();
            for (int k = 0; k < n; k++)
                sum = vf_fma(w[k], vf_load_n(v + k * step + c, lane), sum);
            vf_store_n(y + c, sum, lane);
        }
}

TOKEN_TASKS(pair_average)

void BI_ISA_NAME(pair_average_run)(const void *params, int64_t task, int64_t n_tasks, void *scratch)
{
    const struct bi_pair_average_params *p = params;
    const struct bi_aligned of = bi_aligned_of(p->counts, &p->starts, p->starts.token, task);
    (void)n_tasks;
    (void)scratch;
    for (int64_t s = 0; s < of.depth; s += SIDE) {
        const int m = of.depth - s < SIDE ? (int)(of.depth - s) : SIDE;
        for (int64_t j = 0; j < of.n; j += ACROSS)
            for (int h = 0; h < p->n_heads; h++) {
                if (of.n - j >= ACROSS)
                    add_tokens(p, &of, task - of.token, j, ACROSS, s, m, h);
                else
                    add_tokens(p, &of, task - of.token, j, (int)(of.n - j), s, m, h);
            }
    }
}

BI_CPU_ENTRY(pair_average)
