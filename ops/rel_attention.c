/* rel_attention.c - attention over one sequence with relative positions.
 *   q [M, H d], k [T, H d], v [T, H e], r [2 T - 1, H d], u [H d], w [H d] -> [M, H e]
 * Or n sequences like that, one behind the other (windows; 0 = one).
 * Queries are those of tokens first ... first + M - 1: the last layer needs only the tokens
 * that are kept. Meaning: kernels/rel_attention.h. */
#include <math.h>
#include <string.h>

#include "../kernels/rel_attention.h"
#include "shared.h"

static int rel_attention_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *q = bi_in(g, node, 0), *k = bi_in(g, node, 1), *v = bi_in(g, node, 2);
    const struct bi_value *r = bi_in(g, node, 3);
    const struct bi_rel_attention_attr *a = BI_ATTR(node, rel_attention);
    const int64_t windows = a->windows ? a->windows : 1;
    int64_t width;
    int st = 0;
    if (a->n_heads < 1 || a->head_dim < 1)
        return bi_fail(err, BIOINFER_INTERNAL, "rel_attention: %d heads of width %d", a->n_heads,
                       a->head_dim);
    width = (int64_t)a->n_heads * a->head_dim;
    for (int i = 0; !st && i < 2; i++)
        st = bi_expect(g, node, i, 2, width, err);
    if (!st)
        st = bi_expect(g, node, 2, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 3, 2, width, err);
    for (int i = 4; !st && i <= 5; i++)
        st = bi_expect(g, node, i, 1, width, err);
    if (st)
        return st;
    if (q->axis != BI_AXIS_FIXED || k->axis != BI_AXIS_FIXED || v->shape[0] != k->shape[0] ||
        v->shape[1] % a->n_heads || windows < 0 || k->shape[0] % windows || q->shape[0] % windows ||
        r->shape[0] != 2 * (k->shape[0] / windows) - 1 || a->first < 0 ||
        q->shape[0] / windows > k->shape[0] / windows - a->first)
        return bi_fail(err, BIOINFER_INTERNAL,
                       "rel_attention: queries %s from %d, keys %s, "
                       "values %s, positions %s",
                       bi_shape_text(q).text, a->first, bi_shape_text(k).text,
                       bi_shape_text(v).text, bi_shape_text(r).text);
    bi_out_shape(g, node, 0, q->axis, 2, (int64_t[]){q->shape[0], v->shape[1]});
    return 0;
}

static void rel_attention_launch(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_rel_attention_attr *a = BI_ATTR(node, rel_attention);
    const int64_t windows = a->windows ? a->windows : 1;
    BI_LAUNCH(launch, "rel_attention", struct bi_rel_attention_params, .counts = b->counts,
              .q = b->in[0], .k = b->in[1], .v = b->in[2], .r = b->in[3], .u = b->in[4],
              .w = b->in[5], .y = b->out[0], .ldq = b->in_ld[0], .ldk = b->in_ld[1],
              .ldv = b->in_ld[2], .ldr = b->in_ld[3], .ldy = b->out_ld[0],
              .n = (int32_t)(bi_in(g, node, 1)->shape[0] / windows), .first = a->first,
              .n_queries = (int32_t)(bi_in(g, node, 0)->shape[0] / windows),
              .n_windows = (int32_t)windows, .n_heads = a->n_heads, .key_dim = a->head_dim,
              .value_dim = (int32_t)(bi_in(g, node, 2)->shape[1] / a->n_heads), .scale = a->scale);
}

static double logit(const struct bi_rel_attention_params *p, int32_t h, int32_t i, int32_t j)
{
    const int32_t d = p->key_dim;
    const float *q = p->q + i * p->ldq + h * d, *k = p->k + j * p->ldk + h * d;
    const float *r = p->r + (p->n - 1 - (p->first + i) + j) * p->ldr + h * d;
    double sum = 0;
    for (int32_t c = 0; c < d; c++) {
        double x = (double)q[c] * (double)p->scale;
        sum += (x + (double)p->u[h * d + c]) * (double)k[c] +
               (x + (double)p->w[h * d + c]) * (double)r[c];
    }
    return sum;
}

static void attend(const struct bi_rel_attention_params *p)
{
    const int32_t e = p->value_dim;
    for (int32_t h = 0; h < p->n_heads; h++)
        for (int32_t i = 0; i < p->n_queries; i++) {
            double max = -INFINITY, total = 0, sum[512] = {0};
            assert(e <= (int32_t)BI_COUNT(sum));
            for (int32_t j = 0; j < p->n; j++)
                max = fmax(max, logit(p, h, i, j));
            for (int32_t j = 0; j < p->n; j++) {
                double weight = exp(logit(p, h, i, j) - max);
                total += weight;
                for (int32_t c = 0; c < e; c++)
                    sum[c] += weight * (double)p->v[j * p->ldv + h * e + c];
            }
            for (int32_t c = 0; c < e; c++)
                p->y[i * p->ldy + h * e + c] = (float)(sum[c] / total);
        }
}

static void rel_attention_reference(const void *params)
{
    struct bi_rel_attention_params p = *(const struct bi_rel_attention_params *)params;
    for (int32_t w = 0; w < p.n_windows; w++) {
        attend(&p);
        p.q += p.n_queries * p.ldq;
        p.k += p.n * p.ldk;
        p.v += p.n * p.ldv;
        p.y += p.n_queries * p.ldy;
    }
}

static void rel_attention_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                               double *bytes)
{
    const struct bi_value *q = bi_in(g, node, 0), *k = bi_in(g, node, 1), *v = bi_in(g, node, 2);
    *flops = 2.0 * (double)q->shape[0] * (double)k->shape[0] /
             (BI_ATTR(node, rel_attention)->windows ? BI_ATTR(node, rel_attention)->windows : 1) *
             (2.0 * (double)q->shape[1] + (double)v->shape[1]);
    *bytes = bi_bytes(g, node);
}

/* in: q, k, v, r, u, w of n_windows, one behind the other; first: the token of the first query. */
bi_value_id bi_rel_attention(struct bi_graph *g, const bi_value_id in[6], int32_t n_windows,
                             int32_t n_heads, int32_t first, float scale)
{
    return bi_node_add(g, BI_OP_REL_ATTENTION, in, 6,
                       BI_ATTRS(rel_attention, .n_heads = n_heads,
                                .head_dim = bi_head_dim(g, in[1], n_heads), .first = first,
                                .windows = n_windows > 1 ? n_windows : 0, .scale = scale));
}

static void rel_attention_grad(struct bi_graph *g, const struct bi_node *node,
                               const bi_value_id *dy, unsigned wanted, bi_value_id *dx)
{
    bi_value_id in[8];
    if (wanted & ~7u) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: rel_attention has none by its positions");
        return;
    }
    memcpy(in, node->in, 6 * sizeof *in);
    in[6] = dy[0];
    dx[0] = bi_rel_attention_grad(g, in, node, &in[7]);
    if (wanted & 6)
        dx[1] = bi_rel_attention_grad_keys(g, in, node, &dx[2]);
}

const struct bi_op bi_op_rel_attention = {
    .name = "rel_attention",
    .infer = rel_attention_infer,
    .launch = rel_attention_launch,
    .reference = rel_attention_reference,
    .cost = rel_attention_cost,
    .grad = rel_attention_grad,
    .required = 63,
    .half = {.out = 1, .in = 15, .all = 15},
};
