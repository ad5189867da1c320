/* window_attention.c - attention of rows to rows near them, see kernels/window_attention.h.
 *
 * A task is one head of QUERIES rows. The keys that they reach are normed and rotated once, and lie
 * with the keys of a column side by side, so lanes are keys. The keys of a query follow each other
 * from its own first one on: a row is the same chain of operations whatever shares its task. */
#include "../window_attention.h"
#include "attention_tile.h"
#include "entries.h"
#include "math.h"
#include "rows.h"

enum { QUERIES = 64 };

typedef struct bi_window_attention_params P;

/* Keys that a task reaches, and a vector that may be read after them. */
static int64_t span_of(const P *p)
{
    return QUERIES + 2 * (int64_t)p->reach + VW;
}

size_t BI_ISA_NAME(window_attention_scratch_size)(const void *params, int64_t rows, int64_t longest)
{
    const P *p = params;
    (void)rows;
    (void)longest;
    return sizeof(float) * (size_t)(span_of(p) * (2 * p->head_dim + 1) + p->head_dim);
}

int64_t BI_ISA_NAME(window_attention_tasks)(const void *params, int n_threads)
{
    const P *p = params;
    (void)n_threads;
    return (p->start[p->counts->n_seqs] + QUERIES - 1) / QUERIES * p->n_heads;
}

/* y = scale times a head of row r, normed and rotated. */
static void turn(const P *p, float *y, const float *x, int64_t r, float scale)
{
    const int d = p->head_dim;
    vf square = vf_zero();
    for (int c = 0; c < d; c += VW) {
        const vf a = vf_load_n(x + c, lanes(c, d));
        square = vf_fma(a, a, square);
    }
    rotate_row(y, x, p->table + r * p->ldt, d, scale / sqrtf(vf_hsum(square) / (float)d + p->eps));
}

/* weights = exp of the scores of a query with n keys less the largest; gives 1 / their sum. keys:
 * column c of the first one is at keys[c span]. */
static float score(const P *p, float *weights, const float *q, const float *keys, int n)
{
    const int64_t span = span_of(p);
    vf top = vf_set1(-FLT_MAX), sum = vf_zero();
    for (int j = 0; j < n; j += VW) {
        vf s = vf_zero();
        for (int c = 0; c < p->head_dim; c++)
            s = vf_fma(vf_set1(q[c]), vf_load(keys + c * span + j), s);
        top = vf_max(top, vf_select(vm_first(lanes(j, n)), s, top));
        vf_store(weights + j, s);
    }
    top = vf_set1(vf_hmax(top));
    for (int j = 0; j < n; j += VW) {
        const vf e = vf_exp(vf_sub(vf_load(weights + j), top));
        sum = vf_add(sum, vf_select(vm_first(lanes(j, n)), e, vf_zero()));
        vf_store(weights + j, e);
    }
    return 1 / vf_hsum(sum);
}

/* A head, from column `at` on, of rows [from, to) of the sequence [first, end). */
static void attend(const P *p, float *scratch, int64_t at, int64_t from, int64_t to, int64_t first,
                   int64_t end)
{
    const int64_t span = span_of(p), reach = p->reach;
    const int d = p->head_dim;
    const int64_t low = from - reach < first ? first : from - reach;
    const int64_t high = to + reach > end ? end : to + reach;
    float *keys = scratch, *rows = keys + span * d, *weights = rows + span * d;
    float *q = weights + span;
    for (int64_t j = low; j < high; j++)
        turn(p, rows + (j - low) * d, p->k + j * p->ldk + at, j, 1);
    transpose(keys, span, rows, d, (int)(high - low), d);
    for (int64_t i = from; i < to; i++) {
        const int64_t a = i - reach < first ? first : i - reach;
        const int n = (int)((i + reach + 1 > end ? end : i + reach + 1) - a);
        float by;
        turn(p, q, p->q + i * p->ldq + at, i, p->scale);
        by = score(p, weights, q, keys + (a - low), n);
        for (int c = 0; c < d; c += VW) {
            const float *v = p->v + a * p->ldv + at + c;
            const int some = lanes(c, d);
            vf sum = vf_zero();
            for (int j = 0; j < n; j++, v += p->ldv)
                sum = vf_fma(vf_set1(weights[j]), vf_load_n(v, some), sum);
            vf_store_n(p->y + i * p->ldy + at + c, vf_mul(sum, vf_set1(by)), some);
        }
    }
}

void BI_ISA_NAME(window_attention_run)(const void *params, int64_t task, int64_t n_tasks,
                                       void *scratch)
{
    const P *p = params;
    const int64_t from = task / p->n_heads * QUERIES, at = task % p->n_heads * p->head_dim;
    const int64_t rows = p->start[p->counts->n_seqs];
    const int64_t to = from + QUERIES < rows ? from + QUERIES : rows;
    (void)n_tasks;
    for (int32_t s = 0; s < p->counts->n_seqs && p->start[s] < to; s++) {
        const int64_t first = p->start[s], end = p->start[s + 1];
        if (end > from)
            attend(p, scratch, at, first > from ? first : from, end < to ? end : to, first, end);
    }
}

BI_CPU_ENTRY_SCRATCH(window_attention)
