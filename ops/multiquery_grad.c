/* multiquery_grad.c - the derivative of multiquery by its queries.
 *   q [R, H d], k [R, d], v [R, e], table [n, d]?, bias [R / n P P, H]?, dy [R, H e]
 *   -> dq [R, H d], sums [R, 3 H]
 * attr as of multiquery. Meaning: kernels/multiquery_grad.h. */
#include "multiquery_grad.h"

#include <math.h>
#include <string.h>

/* The derivatives have the attributes of multiquery, field by field. */
_Static_assert(sizeof(struct bi_multiquery_grad_attr) == sizeof(struct bi_multiquery_attr) &&
                   sizeof(struct bi_multiquery_grad_keys_attr) ==
                       sizeof(struct bi_multiquery_attr) &&
                   sizeof(struct bi_multiquery_grad_bias_attr) == sizeof(struct bi_multiquery_attr),
               "attributes of multiquery");

static struct bi_multiquery_attr attr_of(const struct bi_node *node)
{
    struct bi_multiquery_attr a;
    memcpy(&a, node->attr, sizeof a);
    return a;
}

int bi_expect_multiquery_grad(const struct bi_graph *g, const struct bi_node *node,
                              struct bioinfer_error *err)
{
    const struct bi_multiquery_attr a = attr_of(node);
    const struct bi_value *q = bi_in(g, node, 0), *k = bi_in(g, node, 1), *v = bi_in(g, node, 2);
    const struct bi_value *table = bi_in(g, node, 3), *bias = bi_in(g, node, 4);
    const struct bi_value *dy = bi_in(g, node, 5);
    const struct bi_value *sums = bi_op_n_in(node->op) > 6 ? bi_in(g, node, 6) : NULL;
    const int64_t heads = a.n_heads, n = a.n, side = a.pool > 0 ? n / a.pool : 0;
    int st = bi_expect(g, node, 1, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 0, 2, heads * k->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, -1, err);
    if (!st && table)
        st = bi_expect(g, node, 3, 2, k->shape[1], err);
    if (!st && bias)
        st = bi_expect(g, node, 4, 2, heads, err);
    if (!st)
        st = bi_expect(g, node, 5, 2, heads * v->shape[1], err);
    if (!st && sums)
        st = bi_expect(g, node, 6, 2, 3 * heads, err);
    if (st)
        return st;
    if (heads < 1 || n < 1 || side < 1 || n % a.pool || q->axis != BI_AXIS_FIXED ||
        q->shape[0] % n || k->shape[0] != q->shape[0] || v->shape[0] != q->shape[0] ||
        dy->shape[0] != q->shape[0] || (sums && sums->shape[0] != q->shape[0]) ||
        k->shape[1] > BI_MULTIQUERY_KEY || v->shape[1] > BI_MULTIQUERY_VALUE ||
        (table && (table->shape[0] != n || k->shape[1] % 2)) ||
        (bias &&
         (bias->shape[0] != q->shape[0] / n * side * side || a.pool > BI_MULTIQUERY_GRAD_POOL)))
        return bi_fail(err, BIOINFER_INTERNAL, "%s: %s, %s and %s with dy %s in runs of %lld rows",
                       bi_ops[node->op]->name, bi_shape_text(q).text, bi_shape_text(k).text,
                       bi_shape_text(v).text, bi_shape_text(dy).text, (long long)n);
    return 0;
}

struct bi_multiquery_params bi_multiquery_params_of(const struct bi_graph *g,
                                                    const struct bi_node *node,
                                                    const struct bi_bind *b)
{
    const struct bi_multiquery_attr a = attr_of(node);
    return (struct bi_multiquery_params){.counts = b->counts,
                                         .q = b->in[0],
                                         .k = b->in[1],
                                         .v = b->in[2],
                                         .table = b->in[3],
                                         .bias = b->in[4],
                                         .ldq = b->in_ld[0],
                                         .ldk = b->in_ld[1],
                                         .ldv = b->in_ld[2],
                                         .ldb = b->in_ld[4],
                                         .rows = bi_in(g, node, 0)->shape[0],
                                         .n = a.n,
                                         .n_heads = a.n_heads,
                                         .d = (int32_t)bi_in(g, node, 1)->shape[1],
                                         .e = (int32_t)bi_in(g, node, 2)->shape[1],
                                         .pool = a.pool,
                                         .scale = a.scale,
                                         .cap = a.cap};
}

void bi_cost_multiquery_grad(const struct bi_graph *g, const struct bi_node *node, double *flops,
                             double *bytes)
{
    const double widths = (double)(bi_in(g, node, 1)->shape[1] + bi_in(g, node, 2)->shape[1]);
    *flops = 4.0 * (double)bi_in(g, node, 0)->shape[0] * attr_of(node).n_heads * attr_of(node).n *
             widths;
    *bytes = bi_bytes(g, node);
}

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *q = bi_in(g, node, 0);
    const int st = bi_expect_multiquery_grad(g, node, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    if (!st)
        bi_out_shape(g, node, 1, q->axis, 2,
                     (int64_t[]){q->shape[0], (int64_t)3 * attr_of(node).n_heads});
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "multiquery_grad", struct bi_multiquery_grad_params,
              .of = bi_multiquery_params_of(g, node, b), .dy = b->in[5], .dq = b->out[0],
              .sums = b->out[1], .lddy = b->in_ld[5], .lddq = b->out_ld[0], .lds = b->out_ld[1]);
}

/* dy[row, h] . v[key] */
static double by_value(const struct bi_multiquery_grad_params *p, int64_t row, int32_t h,
                       int64_t key)
{
    double sum = 0;
    for (int32_t c = 0; c < p->of.e; c++)
        sum += (double)p->dy[row * p->lddy + (int64_t)h * p->of.e + c] *
               (double)p->of.v[key * p->of.ldv + c];
    return sum;
}

double bi_ref_multiquery_slope(const struct bi_multiquery_grad_params *p, int64_t row, int32_t h,
                               int64_t key, double *weight)
{
    const float *sums = p->sums + row * p->lds + 3 * (int64_t)h;
    const double z = bi_ref_multiquery_logit(&p->of, row, h, key), cap = (double)p->of.cap;
    *weight = exp(z - (double)sums[0]) * (double)sums[1];
    return *weight * (by_value(p, row, h, key) - (double)sums[2]) *
           (cap > 0 ? 1 - z / cap * (z / cap) : 1);
}

void bi_ref_rotate_back(const struct bi_multiquery_params *p, int64_t place, const double *x,
                        float *y)
{
    const int32_t half = p->d / 2;
    const float *turn = p->table ? p->table + place * p->d : NULL;
    for (int32_t c = 0; c < p->d; c++)
        y[c] = (float)(!turn      ? x[c]
                       : c < half ? x[c] * (double)turn[c] + x[c + half] * (double)turn[half + c]
                                  : x[c] * (double)turn[c - half] - x[c - half] * (double)turn[c]);
}

static void grad_query(const struct bi_multiquery_grad_params *p, int64_t row, int32_t h)
{
    const struct bi_multiquery_params *o = &p->of;
    const int64_t first = row - row % o->n;
    float *sums = p->sums + row * p->lds + 3 * (int64_t)h;
    double most = -INFINITY, total = 0, mean = 0, dq[BI_MULTIQUERY_KEY] = {0}, weight;
    for (int64_t j = first; j < first + o->n; j++)
        most = fmax(most, bi_ref_multiquery_logit(o, row, h, j));
    for (int64_t j = first; j < first + o->n; j++) {
        weight = exp(bi_ref_multiquery_logit(o, row, h, j) - most);
        total += weight;
        mean += weight * by_value(p, row, h, j);
    }
    sums[0] = (float)most;
    sums[1] = (float)(1 / total);
    sums[2] = (float)(mean / total);
    for (int64_t j = first; j < first + o->n; j++) {
        const double t = bi_ref_multiquery_slope(p, row, h, j, &weight) * (double)o->scale;
        const float *k = o->k + j * o->ldk;
        for (int32_t c = 0; c < o->d; c++)
            dq[c] += t * (o->table ? bi_ref_rotated(k, o->table + (j - first) * o->d, o->d, c)
                                   : (double)k[c]);
    }
    bi_ref_rotate_back(o, row - first, dq, p->dq + row * p->lddq + (int64_t)h * o->d);
}

static void grad_reference(const void *params)
{
    const struct bi_multiquery_grad_params *p = params;
    for (int64_t r = 0; r < p->of.rows; r++)
        for (int32_t h = 0; h < p->of.n_heads; h++)
            grad_query(p, r, h);
}

/* in: q, k, v, table, bias, dy of the multiquery `node`; *sums: what the other derivatives begin
 * with. */
bi_value_id bi_multiquery_grad(struct bi_graph *g, const bi_value_id in[6],
                               const struct bi_node *node, bi_value_id *sums)
{
    const struct bi_multiquery_attr a = *BI_ATTR(node, multiquery);
    const bi_value_id dq = bi_node_add(g, BI_OP_MULTIQUERY_GRAD, in, 6,
                                       BI_ATTRS(multiquery_grad, .cap = a.cap, .scale = a.scale,
                                                .n_heads = a.n_heads, .n = a.n, .pool = a.pool));
    *sums = bi_other_output(g, dq, 1);
    return dq;
}

const struct bi_op bi_op_multiquery_grad = {
    .name = "multiquery_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_multiquery_grad,
    .required = 39,
};
