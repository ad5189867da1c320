/* rel_attention_grad.c - derivatives of attention with relative positions, see
 * kernels/rel_attention_grad.h.
 *
 * A task is EACH queries, or keys, of a head. Logits are dot products along lanes; what follows
 * from them runs over partners in their order, so a row does not depend on its task. */
#include "../rel_attention_grad.h"

#include "entries.h"
#include "grad_rows.h"

enum { EACH = 32 };

/* y = x by + z. */
BI_INLINE void scaled_row(float *y, const float *x, float by, const float *z, int n)
{
    for (int c = 0; c < n; c += VW) {
        const int k = lanes(c, n);
        vf_store_n(y + c, vf_fma(vf_load_n(x + c, k), vf_set1(by), vf_load_n(z + c, k)), k);
    }
}

/* ---- queries ---- */

/* Logits and products with values of so many partners, and two rows of a head. */
static size_t scratch_floats(int32_t partners)
{
    return 2 * (size_t)partners + 2 * BI_REL_GRAD_KEY;
}

size_t BI_ISA_NAME(rel_attention_grad_scratch_size)(const void *params, int64_t rows,
                                                    int64_t longest)
{
    const struct bi_rel_attention_grad_params *p = params;
    (void)rows;
    (void)longest;
    return scratch_floats(p->n) * sizeof(float);
}

int64_t BI_ISA_NAME(rel_attention_grad_tasks)(const void *params, int n_threads)
{
    const struct bi_rel_attention_grad_params *p = params;
    (void)n_threads;
    return ((int64_t)p->n_queries + EACH - 1) / EACH * p->n_heads * p->n_windows;
}

static void grad_query(const struct bi_rel_attention_grad_params *p, int64_t window, int h, int i,
                       float *scratch)
{
    const int d = p->key_dim, e = p->value_dim, n = p->n;
    const int64_t row = window * p->n_queries + i;
    const float *q = p->q + row * p->ldq + h * d, *dy = p->dy + row * p->lddy + h * e;
    const float *k = p->k + window * n * p->ldk + h * d, *v = p->v + window * n * p->ldv + h * e;
    const float *r = p->r + (int64_t)(n - 1 - (p->first + i)) * p->ldr + h * d;
    float *z = scratch, *by = z + n, *qu = by + n, *qw = qu + BI_REL_GRAD_KEY;
    float *dq = p->dq + row * p->lddq + h * d, *sums = p->sums + row * p->lds + 3 * h;
    float total;
    vf mean = vf_zero();
    scaled_row(qu, q, p->scale, p->u + h * d, d);
    scaled_row(qw, q, p->scale, p->w + h * d, d);
    for (int j = 0; j < n; j++) {
        z[j] = dot(qu, k + j * p->ldk, d) + dot(qw, r + j * p->ldr, d);
        by[j] = dot(dy, v + j * p->ldv, e);
    }
    sums[0] = exponentials(z, n, &total);
    sums[1] = 1 / total;
    for (int j = 0; j < n; j += VW)
        mean = vf_fma(vf_load_n(z + j, lanes(j, n)), vf_load_n(by + j, lanes(j, n)), mean);
    sums[2] = vf_hsum(mean) * sums[1];
    memset(dq, 0, sizeof *dq * (size_t)d);
    for (int j = 0; j < n; j++) {
        const float t = z[j] * sums[1] * (by[j] - sums[2]) * p->scale;
        add_row(dq, k + j * p->ldk, t, d);
        add_row(dq, r + j * p->ldr, t, d);
    }
}

void BI_ISA_NAME(rel_attention_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                         void *scratch)
{
    const struct bi_rel_attention_grad_params *p = params;
    const int64_t pieces = ((int64_t)p->n_queries + EACH - 1) / EACH;
    const int h = (int)(task / pieces % p->n_heads), first = (int)(task % pieces) * EACH;
    (void)n_tasks;
    for (int i = first; i < first + EACH && i < p->n_queries; i++)
        grad_query(p, task / pieces / p->n_heads, h, i, scratch);
}

/* ---- keys ---- */

size_t BI_ISA_NAME(rel_attention_grad_keys_scratch_size)(const void *params, int64_t rows,
                                                         int64_t longest)
{
    const struct bi_rel_attention_grad_keys_params *p = params;
    (void)rows;
    (void)longest;
    return scratch_floats(p->n_queries) * sizeof(float);
}

int64_t BI_ISA_NAME(rel_attention_grad_keys_tasks)(const void *params, int n_threads)
{
    const struct bi_rel_attention_grad_keys_params *p = params;
    (void)n_threads;
    return ((int64_t)p->n + EACH - 1) / EACH * p->n_heads * p->n_windows;
}

/* (scale q + u) . k + (scale q + w) . r of a query and the key. */
BI_INLINE float logit(const struct bi_rel_attention_grad_keys_params *p, const float *q,
                      const float *k, const float *r, const float *u, const float *w)
{
    const vf scale = vf_set1(p->scale);
    vf sum = vf_zero(), other = vf_zero();
    for (int c = 0; c < p->key_dim; c += VW) {
        const int n = lanes(c, p->key_dim);
        const vf x = vf_load_n(q + c, n);
        sum = vf_fma(vf_fma(x, scale, vf_load_n(u + c, n)), vf_load_n(k + c, n), sum);
        other = vf_fma(vf_fma(x, scale, vf_load_n(w + c, n)), vf_load_n(r + c, n), other);
    }
    return vf_hsum(sum) + vf_hsum(other);
}

static void grad_key(const struct bi_rel_attention_grad_keys_params *p, int64_t window, int h,
                     int j, float *scratch)
{
    const int d = p->key_dim, e = p->value_dim, n = p->n_queries;
    const int64_t row = window * p->n + j, queries = window * n;
    const float *q = p->q + queries * p->ldq + h * d, *dy = p->dy + queries * p->lddy + h * e;
    const float *k = p->k + row * p->ldk + h * d, *v = p->v + row * p->ldv + h * e;
    const float *sums = p->sums + queries * p->lds + 3 * h, *u = p->u + h * d, *w = p->w + h * d;
    const float *r = p->r + (int64_t)(p->n - 1 - p->first + j) * p->ldr + h * d;
    float *z = scratch, *by = z + n, *qu = by + n;
    float *dk = p->dk + row * p->lddk + h * d, *dv = p->dv + row * p->lddv + h * e;
    for (int i = 0; i < n; i++) {
        z[i] = logit(p, q + i * p->ldq, k, r - i * p->ldr, u, w) - sums[i * p->lds];
        by[i] = dot(dy + i * p->lddy, v, e) - sums[i * p->lds + 2];
    }
    for (int i = 0; i < n; i += VW)
        vf_store_n(z + i, vf_exp(vf_load_n(z + i, lanes(i, n))), lanes(i, n));
    memset(dk, 0, sizeof *dk * (size_t)d);
    memset(dv, 0, sizeof *dv * (size_t)e);
    for (int i = 0; i < n; i++) {
        const float weight = z[i] * sums[i * p->lds + 1];
        scaled_row(qu, q + i * p->ldq, p->scale, u, d);
        add_row(dk, qu, weight * by[i], d);
        add_row(dv, dy + i * p->lddy, weight, e);
    }
}

void BI_ISA_NAME(rel_attention_grad_keys_run)(const void *params, int64_t task, int64_t n_tasks,
                                              void *scratch)
{
    const struct bi_rel_attention_grad_keys_params *p = params;
    const int64_t pieces = ((int64_t)p->n + EACH - 1) / EACH;
    const int h = (int)(task / pieces % p->n_heads), first = (int)(task % pieces) * EACH;
    (void)n_tasks;
    for (int j = first; j < first + EACH && j < p->n; j++)
        grad_key(p, task / pieces / p->n_heads, h, j, scratch);
}

BI_CPU_ENTRY_SCRATCH(rel_attention_grad)
BI_CPU_ENTRY_SCRATCH(rel_attention_grad_keys)
