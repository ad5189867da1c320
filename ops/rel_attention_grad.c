/* rel_attention_grad.c - the derivative of rel_attention by its queries.
 *   q [M, H d], k [T, H d], v [T, H e], r [2 T - 1, H d], u, w [H d], dy [M, H e]
 *   -> dq [M, H d], sums [M, 3 H]
 * attr as of rel_attention. Meaning: kernels/rel_attention_grad.h. */
#include "../kernels/rel_attention_grad.h"

#include <math.h>
#include <string.h>

#include "shared.h"

static struct bi_rel_attention_attr attr_of(const struct bi_node *node)
{
    const struct bi_rel_attention_grad_attr *a = BI_ATTR(node, rel_attention_grad);
    return (struct bi_rel_attention_attr){a->scale, a->n_heads, a->head_dim, a->first, a->windows};
}

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *q = bi_in(g, node, 0);
    const struct bi_rel_attention_attr a = attr_of(node);
    int st = bi_expect_rel_attention_grad(g, node, &a, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    if (!st)
        bi_out_shape(g, node, 1, q->axis, 2, (int64_t[]){q->shape[0], (int64_t)3 * a.n_heads});
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_rel_attention_attr a = attr_of(node);
    const int64_t windows = a.windows ? a.windows : 1;
    BI_LAUNCH(launch, "rel_attention_grad", struct bi_rel_attention_grad_params,
              .counts = b->counts, .q = b->in[0], .k = b->in[1], .v = b->in[2], .r = b->in[3],
              .u = b->in[4], .w = b->in[5], .dy = b->in[6], .dq = b->out[0], .sums = b->out[1],
              .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2], .ldr = b->in_ld[3],
              .lddy = b->in_ld[6], .lddq = b->out_ld[0], .lds = b->out_ld[1],
              .n = (int32_t)(bi_in(g, node, 1)->shape[0] / windows), .first = a.first,
              .n_queries = (int32_t)(bi_in(g, node, 0)->shape[0] / windows),
              .n_windows = (int32_t)windows, .n_heads = a.n_heads, .key_dim = a.head_dim,
              .value_dim = (int32_t)(bi_in(g, node, 2)->shape[1] / a.n_heads), .scale = a.scale);
}

static double logit(const struct bi_rel_attention_grad_params *p, int32_t h, int32_t i, int32_t j)
{
    const int32_t d = p->key_dim;
    const float *q = p->q + i * p->ldq + h * d, *k = p->k + j * p->ldk + h * d;
    const float *r = p->r + (p->n - 1 - (p->first + i) + j) * p->ldr + h * d;
    double sum = 0;
    for (int32_t c = 0; c < d; c++) {
        const double x = (double)q[c] * (double)p->scale;
        sum += (x + (double)p->u[h * d + c]) * (double)k[c] +
               (x + (double)p->w[h * d + c]) * (double)r[c];
    }
    return sum;
}

/* dy[i, h] . v[j, h] */
static double by_value(const struct bi_rel_attention_grad_params *p, int32_t h, int32_t i,
                       int32_t j)
{
    const int32_t e = p->value_dim;
    double sum = 0;
    for (int32_t c = 0; c < e; c++)
        sum += (double)p->dy[i * p->lddy + h * e + c] * (double)p->v[j * p->ldv + h * e + c];
    return sum;
}

static void grad_query(const struct bi_rel_attention_grad_params *p, int32_t h, int32_t i)
{
    const int32_t d = p->key_dim;
    double max = -INFINITY, total = 0, mean = 0;
    for (int32_t j = 0; j < p->n; j++)
        max = fmax(max, logit(p, h, i, j));
    for (int32_t j = 0; j < p->n; j++) {
        const double weight = exp(logit(p, h, i, j) - max);
        total += weight;
        mean += weight * by_value(p, h, i, j);
    }
    mean /= total;
    for (int32_t c = 0; c < d; c++) {
        double sum = 0;
        for (int32_t j = 0; j < p->n; j++)
            sum += exp(logit(p, h, i, j) - max) / total * (by_value(p, h, i, j) - mean) *
                   ((double)p->k[j * p->ldk + h * d + c] +
                    (double)p->r[(p->n - 1 - (p->first + i) + j) * p->ldr + h * d + c]);
        p->dq[i * p->lddq + h * d + c] = (float)((double)p->scale * sum);
    }
    p->sums[i * p->lds + 3 * h] = (float)max;
    p->sums[i * p->lds + 3 * h + 1] = (float)(1 / total);
    p->sums[i * p->lds + 3 * h + 2] = (float)mean;
}

static void grad_reference(const void *params)
{
    struct bi_rel_attention_grad_params p = *(const struct bi_rel_attention_grad_params *)params;
    for (int32_t w = 0; w < p.n_windows; w++) {
        for (int32_t h = 0; h < p.n_heads; h++)
            for (int32_t i = 0; i < p.n_queries; i++)
                grad_query(&p, h, i);
        p.q += p.n_queries * p.ldq;
        p.dy += p.n_queries * p.lddy;
        p.dq += p.n_queries * p.lddq;
        p.sums += p.n_queries * p.lds;
        p.k += p.n * p.ldk;
        p.v += p.n * p.ldv;
    }
}

/* in: q, k, v, r, u, w, dy of the rel_attention `node`; *sums: what the derivatives by its keys
 * and values begin with. */
bi_value_id bi_rel_attention_grad(struct bi_graph *g, const bi_value_id in[7],
                                  const struct bi_node *node, bi_value_id *sums)
{
    const struct bi_rel_attention_attr *a = BI_ATTR(node, rel_attention);
    const bi_value_id dq = bi_node_add(g, BI_OP_REL_ATTENTION_GRAD, in, 7,
                                       BI_ATTRS(rel_attention_grad, .scale = a->scale,
                                                .n_heads = a->n_heads, .head_dim = a->head_dim,
                                                .first = a->first, .windows = a->windows));
    *sums = bi_other_output(g, dq, 1);
    return dq;
}

const struct bi_op bi_op_rel_attention_grad = {
    .name = "rel_attention_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_rel_attention_grad,
    .required = 127,
};
