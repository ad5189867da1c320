/* multiquery_grad.c - derivatives of attention of which all heads share keys and values, see
 * kernels/multiquery_grad.h.
 *
 * A task is EACH queries of a head, EACH keys, or a row of places of the bias. Logits are dot
 * products along lanes; what follows from them runs over partners in their order, so a row does not
 * depend on its task. */
#include "../multiquery_grad.h"

#include "entries.h"
#include "grad_rows.h"

enum { EACH = 32 };

/* Work for one row against all n partners of its run. */
struct work {
    float *z, *by, *slope; /* [n] logits, products with dy or v, slopes of the cap */
    float *row;            /* [d] the row, rotated and scaled */
    float *sum;            /* [d] its derivative, before it is rotated back */
    float *rows;           /* [n, d] partners, rotated; not there without a table */
};

static size_t work_floats(const struct bi_multiquery_params *p)
{
    return (size_t)p->n * (3 + (p->table ? (size_t)p->d : 0)) + 2 * BI_MULTIQUERY_KEY;
}

static struct work lay_out(const struct bi_multiquery_params *p, float *scratch)
{
    struct work w = {.row = scratch};
    w.sum = w.row + BI_MULTIQUERY_KEY;
    w.z = w.sum + BI_MULTIQUERY_KEY;
    w.by = w.z + p->n;
    w.slope = w.by + p->n;
    w.rows = w.slope + p->n;
    return w;
}

/* to = x times `by`, rotated by a row of the table or as it is; way -1: rotated back. */
static void rotate(float *to, const float *x, const float *turn, int d, float way, float by)
{
    const int half = d / 2;
    for (int c = 0; !turn && c < d; c++)
        to[c] = x[c] * by;
    for (int c = 0; turn && c < half; c++) {
        const float a = x[c] * by, b = x[c + half] * by;
        const float cosine = turn[c], sine = way * turn[half + c];
        to[c] = a * cosine - b * sine;
        to[c + half] = b * cosine + a * sine;
    }
}

static const float *turn_of(const struct bi_multiquery_params *p, int64_t place)
{
    return p->table ? p->table + place * p->d : NULL;
}

/* The n rows of a run, rotated; *ld: how far apart they are. */
static const float *rotated_rows(const struct bi_multiquery_params *p, const float *x, int64_t *ld,
                                 float *to)
{
    if (!p->table)
        return x;
    for (int64_t j = 0; j < p->n; j++)
        rotate(to + j * p->d, x + j * *ld, turn_of(p, j), p->d, 1, 1);
    *ld = p->d;
    return to;
}

/* Adds biases, `step` apart for the next place, to logits, and caps them. */
static void finish_logits(const struct bi_multiquery_params *p, const struct work *w,
                          const float *bias, int64_t step)
{
    const int n = p->n;
    for (int j = 0; bias && j < n; j++)
        w->z[j] += bias[j / p->pool * step];
    for (int j = 0; j < n; j += VW) {
        const int k = lanes(j, n);
        vf slope = vf_set1(1);
        if (p->cap > 0) {
            const vf t = vf_tanh(vf_mul(vf_load_n(w->z + j, k), vf_set1(1 / p->cap)));
            slope = vf_fnma(t, t, slope);
            vf_store_n(w->z + j, vf_mul(t, vf_set1(p->cap)), k);
        }
        vf_store_n(w->slope + j, slope, k);
    }
}

/* The logits of query i of a run, and its products with values; keys: those of the run, rotated. */
static void query_logits(const struct bi_multiquery_grad_params *p, const struct work *w,
                         int64_t run, int h, int i, const float *keys, int64_t ld)
{
    const struct bi_multiquery_params *o = &p->of;
    const int64_t row = run * o->n + i, side = o->n / o->pool;
    const float *dy = p->dy + row * p->lddy + (int64_t)h * o->e, *v = o->v + run * o->n * o->ldv;
    const float *bias = o->bias ? o->bias + (run * side + i / o->pool) * side * o->ldb + h : NULL;
    rotate(w->row, o->q + row * o->ldq + (int64_t)h * o->d, turn_of(o, i), o->d, 1, o->scale);
    for (int64_t j = 0; j < o->n; j++) {
        w->z[j] = dot(w->row, keys + j * ld, o->d);
        w->by[j] = dot(dy, v + j * o->ldv, o->e);
    }
    finish_logits(o, w, bias, o->ldb);
}

/* ---- queries ---- */

size_t BI_ISA_NAME(multiquery_grad_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    (void)rows;
    (void)longest;
    return work_floats(params) * sizeof(float);
}

static int64_t pieces_of(const struct bi_multiquery_params *p)
{
    return ((int64_t)p->n + EACH - 1) / EACH;
}

int64_t BI_ISA_NAME(multiquery_grad_tasks)(const void *params, int n_threads)
{
    const struct bi_multiquery_params *p = params;
    (void)n_threads;
    return pieces_of(p) * p->n_heads * (p->rows / p->n);
}

static void grad_query(const struct bi_multiquery_grad_params *p, const struct work *w, int64_t run,
                       int h, int i, const float *keys, int64_t ld)
{
    const struct bi_multiquery_params *o = &p->of;
    const int64_t row = run * o->n + i;
    const int n = o->n;
    float *sums = p->sums + row * p->lds + 3 * (int64_t)h, total;
    vf mean = vf_zero();
    query_logits(p, w, run, h, i, keys, ld);
    sums[0] = exponentials(w->z, n, &total);
    sums[1] = 1 / total;
    for (int j = 0; j < n; j += VW)
        mean = vf_fma(vf_load_n(w->z + j, lanes(j, n)), vf_load_n(w->by + j, lanes(j, n)), mean);
    sums[2] = vf_hsum(mean) * sums[1];
    memset(w->sum, 0, sizeof *w->sum * (size_t)o->d);
    for (int64_t j = 0; j < n; j++)
        add_row(w->sum, keys + j * ld,
                w->z[j] * sums[1] * (w->by[j] - sums[2]) * w->slope[j] * o->scale, o->d);
    rotate(p->dq + row * p->lddq + (int64_t)h * o->d, w->sum, turn_of(o, i), o->d, -1, 1);
}

void BI_ISA_NAME(multiquery_grad_run)(const void *params, int64_t task, int64_t n_tasks,
                                      void *scratch)
{
    const struct bi_multiquery_grad_params *p = params;
    const struct work w = lay_out(&p->of, scratch);
    const int64_t pieces = pieces_of(&p->of), run = task / pieces / p->of.n_heads;
    const int h = (int)(task / pieces % p->of.n_heads), first = (int)(task % pieces) * EACH;
    int64_t ld = p->of.ldk;
    const float *keys = rotated_rows(&p->of, p->of.k + run * p->of.n * ld, &ld, w.rows);
    (void)n_tasks;
    for (int i = first; i < first + EACH && i < p->of.n; i++)
        grad_query(p, &w, run, h, i, keys, ld);
}

/* ---- keys ---- */

size_t BI_ISA_NAME(multiquery_grad_keys_scratch_size)(const void *params, int64_t rows,
                                                      int64_t longest)
{
    (void)rows;
    (void)longest;
    return (work_floats(params) + EACH * BI_MULTIQUERY_KEY) * sizeof(float);
}

int64_t BI_ISA_NAME(multiquery_grad_keys_tasks)(const void *params, int n_threads)
{
    const struct bi_multiquery_params *p = params;
    (void)n_threads;
    return pieces_of(p) * (p->rows / p->n);
}

/* Adds what the queries of a head give to dk, before it is rotated back, and to dv of a key. */
static void add_head(const struct bi_multiquery_grad_params *p, const struct work *w, int64_t run,
                     int h, int j, const float *queries, int64_t ld, float *dk)
{
    const struct bi_multiquery_params *o = &p->of;
    const int64_t row = run * o->n + j, side = o->n / o->pool;
    const float *dy = p->dy + run * o->n * p->lddy + (int64_t)h * o->e, *v = o->v + row * o->ldv;
    const float *sums = p->sums + run * o->n * p->lds + 3 * (int64_t)h;
    const float *bias = o->bias ? o->bias + (run * side * side + j / o->pool) * o->ldb + h : NULL;
    const int n = o->n;
    rotate(w->row, o->k + row * o->ldk, turn_of(o, j), o->d, 1, o->scale);
    for (int64_t i = 0; i < n; i++) {
        w->z[i] = dot(w->row, queries + i * ld, o->d);
        w->by[i] = dot(dy + i * p->lddy, v, o->e) - sums[i * p->lds + 2];
    }
    finish_logits(o, w, bias, side * o->ldb);
    for (int64_t i = 0; i < n; i++)
        w->z[i] -= sums[i * p->lds];
    for (int i = 0; i < n; i += VW)
        vf_store_n(w->z + i, vf_exp(vf_load_n(w->z + i, lanes(i, n))), lanes(i, n));
    for (int64_t i = 0; i < n; i++) {
        const float weight = w->z[i] * sums[i * p->lds + 1];
        add_row(dk, queries + i * ld, weight * w->by[i] * w->slope[i] * o->scale, o->d);
        add_row(p->dv + row * p->lddv, dy + i * p->lddy, weight, o->e);
    }
}

void BI_ISA_NAME(multiquery_grad_keys_run)(const void *params, int64_t task, int64_t n_tasks,
                                           void *scratch)
{
    const struct bi_multiquery_grad_params *p = params;
    const struct bi_multiquery_params *o = &p->of;
    float *dk = scratch;
    const struct work w = lay_out(o, dk + EACH * BI_MULTIQUERY_KEY);
    const int64_t run = task / pieces_of(o);
    const int first = (int)(task % pieces_of(o)) * EACH;
    const int n = o->n - first < EACH ? o->n - first : EACH;
    (void)n_tasks;
    for (int j = 0; j < n; j++) {
        memset(dk + j * o->d, 0, sizeof *dk * (size_t)o->d);
        memset(p->dv + (run * o->n + first + j) * p->lddv, 0, sizeof *p->dv * (size_t)o->e);
    }
    for (int h = 0; h < o->n_heads; h++) {
        int64_t ld = o->ldq;
        const float *queries = rotated_rows(o, o->q + run * o->n * ld + (int64_t)h * o->d, &ld,
                                            w.rows);
        for (int j = 0; j < n; j++)
            add_head(p, &w, run, h, first + j, queries, ld, dk + j * o->d);
    }
    for (int j = 0; j < n; j++)
        rotate(p->dk + (run * o->n + first + j) * p->lddk, dk + j * o->d, turn_of(o, first + j),
               o->d, -1, 1);
}

/* ---- bias ---- */

size_t BI_ISA_NAME(multiquery_grad_bias_scratch_size)(const void *params, int64_t rows,
                                                      int64_t longest)
{
    (void)rows;
    (void)longest;
    return work_floats(params) * sizeof(float);
}

int64_t BI_ISA_NAME(multiquery_grad_bias_tasks)(const void *params, int n_threads)
{
    const struct bi_multiquery_params *p = params;
    (void)n_threads;
    return p->rows / p->pool;
}

/* Adds what a query gives to the places of a row of the bias. */
static void add_query(const struct bi_multiquery_grad_params *p, const struct work *w, int64_t run,
                      int h, int i, float *dbias)
{
    const struct bi_multiquery_params *o = &p->of;
    const float *sums = p->sums + (run * o->n + i) * p->lds + 3 * (int64_t)h;
    const int n = o->n;
    for (int j = 0; j < n; j += VW) {
        const int k = lanes(j, n);
        const vf weight = vf_exp(vf_sub(vf_load_n(w->z + j, k), vf_set1(sums[0])));
        const vf by = vf_sub(vf_load_n(w->by + j, k), vf_set1(sums[2]));
        const vf t = vf_mul(vf_mul(weight, vf_set1(sums[1])), vf_load_n(w->slope + j, k));
        vf_store_n(w->z + j, vf_mul(t, by), k);
    }
    for (int j = 0; j < n; j++)
        dbias[j / o->pool * p->lddb] += w->z[j];
}

void BI_ISA_NAME(multiquery_grad_bias_run)(const void *params, int64_t task, int64_t n_tasks,
                                           void *scratch)
{
    const struct bi_multiquery_grad_params *p = params;
    const struct bi_multiquery_params *o = &p->of;
    const struct work w = lay_out(o, scratch);
    const int64_t side = o->n / o->pool, run = task / side;
    const int first = (int)(task % side) * o->pool;
    int64_t ld = o->ldk;
    const float *keys = rotated_rows(o, o->k + run * o->n * ld, &ld, w.rows);
    (void)n_tasks;
    for (int h = 0; h < o->n_heads; h++) {
        float *dbias = p->dbias + task * side * p->lddb + h;
        for (int64_t j = 0; j < side; j++)
            dbias[j * p->lddb] = 0;
        for (int i = first; i < first + o->pool; i++) {
            query_logits(p, &w, run, h, i, keys, ld);
            add_query(p, &w, run, h, i, dbias);
        }
    }
}

BI_CPU_ENTRY_SCRATCH(multiquery_grad)
BI_CPU_ENTRY_SCRATCH(multiquery_grad_keys)
BI_CPU_ENTRY_SCRATCH(multiquery_grad_bias)
