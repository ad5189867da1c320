/* rel_attention_grad_keys.c - the derivatives of rel_attention by its keys and values.
 *   q [M, H d], k [T, H d], v [T, H e], r [2 T - 1, H d], u, w [H d], dy [M, H e], sums [M, 3 H]
 *   -> dk [T, H d], dv [T, H e]
 * attr as of rel_attention; sums as rel_attention_grad gives them. */
#include "../kernels/rel_attention_grad.h"

#include <math.h>
#include <string.h>

#include "shared.h"

int bi_expect_rel_attention_grad(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_rel_attention_attr *a, struct bioinfer_error *err)
{
    const struct bi_value *q = bi_in(g, node, 0), *k = bi_in(g, node, 1), *v = bi_in(g, node, 2);
    const struct bi_value *r = bi_in(g, node, 3), *dy = bi_in(g, node, 6);
    const int64_t windows = a->windows ? a->windows : 1, width = (int64_t)a->n_heads * a->head_dim;
    int st = 0;
    if (a->n_heads < 1 || a->head_dim < 1 || a->head_dim > BI_REL_GRAD_KEY)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "gradient: %d heads of width %d, at most %d",
                       a->n_heads, a->head_dim, BI_REL_GRAD_KEY);
    for (int i = 0; !st && i < 4; i++)
        st = bi_expect(g, node, i, 2, i == 2 ? -1 : width, err);
    for (int i = 4; !st && i < 6; i++)
        st = bi_expect(g, node, i, 1, width, err);
    if (!st)
        st = bi_expect(g, node, 6, 2, v->shape[1], err);
    if (st)
        return st;
    if (v->shape[1] % a->n_heads || v->shape[1] / a->n_heads > BI_REL_GRAD_VALUE)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "gradient: values %s of %d heads, at most %d each", bi_shape_text(v).text,
                       a->n_heads, BI_REL_GRAD_VALUE);
    if (q->axis != BI_AXIS_FIXED || k->axis != BI_AXIS_FIXED || windows < 1 ||
        v->shape[0] != k->shape[0] || k->shape[0] % windows || q->shape[0] % windows ||
        dy->shape[0] != q->shape[0] || r->shape[0] != 2 * (k->shape[0] / windows) - 1 ||
        a->first < 0 || q->shape[0] / windows > k->shape[0] / windows - a->first)
        return bi_fail(err, BIOINFER_INTERNAL, "%s: queries %s, dy %s, keys %s, positions %s",
                       bi_ops[node->op]->name, bi_shape_text(q).text, bi_shape_text(dy).text,
                       bi_shape_text(k).text, bi_shape_text(r).text);
    return 0;
}

static struct bi_rel_attention_attr attr_of(const struct bi_node *node)
{
    const struct bi_rel_attention_grad_keys_attr *a = BI_ATTR(node, rel_attention_grad_keys);
    return (struct bi_rel_attention_attr){a->scale, a->n_heads, a->head_dim, a->first, a->windows};
}

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *q = bi_in(g, node, 0), *sums = bi_in(g, node, 7);
    const struct bi_rel_attention_attr a = attr_of(node);
    int st = bi_expect_rel_attention_grad(g, node, &a, err);
    if (!st)
        st = bi_expect(g, node, 7, 2, (int64_t)3 * a.n_heads, err);
    if (!st && sums->shape[0] != q->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "rel_attention_grad_keys: sums %s beside queries %s",
                     bi_shape_text(sums).text, bi_shape_text(q).text);
    for (int i = 0; !st && i < 2; i++)
        bi_out_like(g, node, i, i + 1);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_rel_attention_attr a = attr_of(node);
    const int64_t windows = a.windows ? a.windows : 1;
    BI_LAUNCH(launch, "rel_attention_grad_keys", struct bi_rel_attention_grad_keys_params,
              .counts = b->counts, .q = b->in[0], .k = b->in[1], .v = b->in[2], .r = b->in[3],
              .u = b->in[4], .w = b->in[5], .dy = b->in[6], .sums = b->in[7], .dk = b->out[0],
              .dv = b->out[1], .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2],
              .ldr = b->in_ld[3], .lddy = b->in_ld[6], .lds = b->in_ld[7], .lddk = b->out_ld[0],
              .lddv = b->out_ld[1], .n = (int32_t)(bi_in(g, node, 1)->shape[0] / windows),
              .first = a.first, .n_queries = (int32_t)(bi_in(g, node, 0)->shape[0] / windows),
              .n_windows = (int32_t)windows, .n_heads = a.n_heads, .key_dim = a.head_dim,
              .value_dim = (int32_t)(bi_in(g, node, 2)->shape[1] / a.n_heads), .scale = a.scale);
}

/* Adds what a query gives to the derivatives by a key and its value, in double. */
static void add_query(const struct bi_rel_attention_grad_keys_params *p, int32_t h, int32_t i,
                      int32_t j, double *dk, double *dv)
{
    const int32_t d = p->key_dim, e = p->value_dim;
    const float *q = p->q + i * p->ldq + h * d, *k = p->k + j * p->ldk + h * d;
    const float *r = p->r + (p->n - 1 - (p->first + i) + j) * p->ldr + h * d;
    const float *dy = p->dy + i * p->lddy + h * e, *v = p->v + j * p->ldv + h * e;
    const float *sums = p->sums + i * p->lds + 3 * h;
    double z = 0, by = -(double)sums[2];
    for (int32_t c = 0; c < d; c++) {
        const double x = (double)q[c] * (double)p->scale;
        z += (x + (double)p->u[h * d + c]) * (double)k[c] +
             (x + (double)p->w[h * d + c]) * (double)r[c];
    }
    const double weight = exp(z - (double)sums[0]) * (double)sums[1];
    for (int32_t c = 0; c < e; c++)
        by += (double)dy[c] * (double)v[c];
    for (int32_t c = 0; c < d; c++)
        dk[c] += weight * by * ((double)q[c] * (double)p->scale + (double)p->u[h * d + c]);
    for (int32_t c = 0; c < e; c++)
        dv[c] += weight * (double)dy[c];
}

static void grad_reference(const void *params)
{
    struct bi_rel_attention_grad_keys_params p = *(
        const struct bi_rel_attention_grad_keys_params *)params;
    for (int32_t w = 0; w < p.n_windows; w++) {
        for (int32_t h = 0; h < p.n_heads; h++)
            for (int32_t j = 0; j < p.n; j++) {
                double dk[BI_REL_GRAD_KEY] = {0}, dv[BI_REL_GRAD_VALUE] = {0};
                for (int32_t i = 0; i < p.n_queries; i++)
                    add_query(&p, h, i, j, dk, dv);
                for (int32_t c = 0; c < p.key_dim; c++)
                    p.dk[j * p.lddk + h * p.key_dim + c] = (float)dk[c];
                for (int32_t c = 0; c < p.value_dim; c++)
                    p.dv[j * p.lddv + h * p.value_dim + c] = (float)dv[c];
            }
        p.q += p.n_queries * p.ldq;
        p.dy += p.n_queries * p.lddy;
        p.sums += p.n_queries * p.lds;
        p.k += p.n * p.ldk;
        p.v += p.n * p.ldv;
        p.dk += p.n * p.lddk;
        p.dv += p.n * p.lddv;
    }
}

void bi_cost_rel_attention_grad(const struct bi_graph *g, const struct bi_node *node, double *flops,
                                double *bytes)
{
    const struct bi_value *q = bi_in(g, node, 0), *v = bi_in(g, node, 2), *r = bi_in(g, node, 3);
    *flops = (double)q->shape[0] * (double)(r->shape[0] + 1) *
             (4.0 * (double)q->shape[1] + 2.0 * (double)v->shape[1]);
    *bytes = bi_bytes(g, node);
}

/* in: q, k, v, r, u, w, dy of the rel_attention `node`, and sums. *dv: the second output. */
bi_value_id bi_rel_attention_grad_keys(struct bi_graph *g, const bi_value_id in[8],
                                       const struct bi_node *node, bi_value_id *dv)
{
    const struct bi_rel_attention_attr *a = BI_ATTR(node, rel_attention);
    const bi_value_id dk = bi_node_add(g, BI_OP_REL_ATTENTION_GRAD_KEYS, in, 8,
                                       BI_ATTRS(rel_attention_grad_keys, .scale = a->scale,
                                                .n_heads = a->n_heads, .head_dim = a->head_dim,
                                                .first = a->first, .windows = a->windows));
    *dv = bi_other_output(g, dk, 1);
    return dk;
}

const struct bi_op bi_op_rel_attention_grad_keys = {
    .name = "rel_attention_grad_keys",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_rel_attention_grad,
    .required = 255,
};
