/* multiquery.c - multiquery: attention of which all heads share keys and values, within runs of n
 * rows, with logits that are capped or not.
 *   q [R, H d], k [R, d], v [R, e], table [n, d]? (rotates q and k), bias [R / n P P, H]? of pairs
 *   of n / P rows -> [R, H e]
 * float16 q, k, v come rotated, capped ones of d and e up to 128 and 192, and y is float16, too.
 * pool = n / P; cap 0 = none. kernels/multiquery.h has the formula. */
#include <math.h>
#include <string.h>

#include "multiquery_grad.h"

static int multiquery_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *q = bi_in(g, node, 0), *k = bi_in(g, node, 1), *v = bi_in(g, node, 2);
    const struct bi_value *table = bi_in(g, node, 3), *bias = bi_in(g, node, 4);
    const int64_t heads = BI_ATTR(node, multiquery)->n_heads, n = BI_ATTR(node, multiquery)->n,
                  side = n / BI_ATTR(node, multiquery)->pool;
    int st = bi_expect(g, node, 1, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 0, 2, heads * k->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, -1, err);
    if (!st && table)
        st = bi_expect(g, node, 3, 2, k->shape[1], err);
    if (!st && bias)
        st = bi_expect(g, node, 4, 2, heads, err);
    if (!st && (heads < 1 || n < 1 || q->axis != BI_AXIS_FIXED || q->shape[0] % n ||
                n % BI_ATTR(node, multiquery)->pool || k->shape[0] != q->shape[0] ||
                v->shape[0] != q->shape[0] || k->shape[1] > BI_MULTIQUERY_KEY ||
                v->shape[1] > BI_MULTIQUERY_VALUE ||
                (table && (table->shape[0] != n || k->shape[1] % 2)) ||
                (bias && bias->shape[0] != q->shape[0] / n * side * side)))
        st = bi_fail(err, BIOINFER_INTERNAL, "multiquery: %s, %s and %s in runs of %lld rows",
                     bi_shape_text(q).text, bi_shape_text(k).text, bi_shape_text(v).text,
                     (long long)n);
    if (!st)
        bi_out_shape(g, node, 0, q->axis, 2, (int64_t[]){q->shape[0], heads * v->shape[1]});
    return st;
}

static void multiquery_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "multiquery", struct bi_multiquery_params, .counts = b->counts, .q = b->in[0],
              .k = b->in[1], .v = b->in[2], .table = b->in[3], .bias = b->in[4], .y = b->out[0],
              .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2], .ldb = b->in_ld[4],
              .ldy = b->out_ld[0], .rows = bi_in(g, node, 0)->shape[0],
              .n = BI_ATTR(node, multiquery)->n, .n_heads = BI_ATTR(node, multiquery)->n_heads,
              .d = (int32_t)bi_in(g, node, 1)->shape[1], .e = (int32_t)bi_in(g, node, 2)->shape[1],
              .pool = BI_ATTR(node, multiquery)->pool, .scale = BI_ATTR(node, multiquery)->scale,
              .cap = BI_ATTR(node, multiquery)->cap);
}

/* Number i of a row of d numbers, rotated by a row of the table. */
double bi_ref_rotated(const float *x, const float *table, int32_t d, int32_t i)
{
    const int32_t half = d / 2, j = i % half;
    const double c = (double)table[j], s = (double)table[half + j];
    return i < half ? (double)x[i] * c - (double)x[i + half] * s
                    : (double)x[i] * c + (double)x[i - half] * s;
}

double bi_ref_multiquery_logit(const struct bi_multiquery_params *p, int64_t row, int32_t h,
                               int64_t key)
{
    const int64_t i = row % p->n, j = key % p->n, side = p->n / p->pool;
    const float *q = p->q + row * p->ldq + h * p->d, *k = p->k + key * p->ldk;
    double sum = 0;
    for (int32_t c = 0; c < p->d; c++)
        sum += p->table ? bi_ref_rotated(q, p->table + i * p->d, p->d, c) *
                              bi_ref_rotated(k, p->table + j * p->d, p->d, c)
                        : (double)q[c] * (double)k[c];
    sum *= (double)p->scale;
    if (p->bias) {
        const int64_t pair = (row / p->n * side + i / p->pool) * side + j / p->pool;
        sum += (double)p->bias[pair * p->ldb + h];
    }
    return p->cap > 0 ? (double)p->cap * tanh(sum / (double)p->cap) : sum;
}

static void multiquery_reference(const void *params)
{
    const struct bi_multiquery_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t h = 0; h < p->n_heads; h++) {
            const int64_t first = r - r % p->n;
            double most = -INFINITY, total = 0, sum[BI_MULTIQUERY_VALUE] = {0};
            for (int64_t j = first; j < first + p->n; j++)
                most = fmax(most, bi_ref_multiquery_logit(p, r, h, j));
            for (int64_t j = first; j < first + p->n; j++) {
                const double e = exp(bi_ref_multiquery_logit(p, r, h, j) - most);
                total += e;
                for (int32_t c = 0; c < p->e; c++)
                    sum[c] += e * (double)p->v[j * p->ldv + c];
            }
            for (int32_t c = 0; c < p->e; c++)
                p->y[r * p->ldy + h * p->e + c] = (float)(sum[c] / total);
        }
}

static void multiquery_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                            double *bytes)
{
    const double widths = (double)(bi_in(g, node, 1)->shape[1] + bi_in(g, node, 2)->shape[1]);
    *flops = 2.0 * (double)bi_in(g, node, 0)->shape[0] * BI_ATTR(node, multiquery)->n_heads *
             BI_ATTR(node, multiquery)->n * widths;
    *bytes = bi_bytes(g, node);
}

/* in: q, k, v, then table and bias or BI_NONE. cap 0 = none. */
bi_value_id bi_multiquery(struct bi_graph *g, const bi_value_id in[5], int32_t n_heads, int32_t n,
                          float scale, float cap)
{
    int64_t side = n;
    if (g->status || n < 1)
        return BI_NONE;
    if (in[4] != BI_NONE) { /* a grid for each run */
        const int64_t runs = g->values[in[0]].shape[0] / n;
        for (side = 1; side < n && runs * side * side < g->values[in[4]].shape[0];)
            side++;
    }
    return bi_node_add(g, BI_OP_MULTIQUERY, in, 5,
                       BI_ATTRS(multiquery, .n_heads = n_heads, .n = n, .pool = (int32_t)(n / side),
                                .scale = scale, .cap = cap));
}

static void multiquery_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                            unsigned wanted, bi_value_id *dx)
{
    bi_value_id in[7];
    memcpy(in, node->in, 5 * sizeof *in);
    in[5] = dy[0];
    dx[0] = bi_multiquery_grad(g, in, node, &in[6]);
    if (wanted & 6)
        dx[1] = bi_multiquery_grad_keys(g, in, node, &dx[2]);
    if (wanted & 16)
        dx[4] = bi_multiquery_grad_bias(g, in, node);
}

const struct bi_op bi_op_multiquery = {
    .name = "multiquery",
    .infer = multiquery_infer,
    .launch = multiquery_launch,
    .reference = multiquery_reference,
    .cost = multiquery_cost,
    .grad = multiquery_grad,
    .required = 7,
    .half = {.out = 1, .in = 7, .all = 7},
};
