/* multiquery_grad_keys.c - the derivatives of multiquery by its keys and values.
 *   q [R, H d], k [R, d], v [R, e], table [n, d]?, bias [R / n P P, H]?, dy [R, H e], sums [R, 3 H]
 *   -> dk [R, d], dv [R, e]
 * attr as of multiquery; sums as multiquery_grad gives them. */
#include "multiquery_grad.h"

#include <string.h>

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int st = bi_expect_multiquery_grad(g, node, err);
    for (int i = 0; !st && i < 2; i++)
        bi_out_like(g, node, i, i + 1);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "multiquery_grad_keys", struct bi_multiquery_grad_params,
              .of = bi_multiquery_params_of(g, node, b), .dy = b->in[5], .sums = b->in[6],
              .dk = b->out[0], .dv = b->out[1], .lddy = b->in_ld[5], .lds = b->in_ld[6],
              .lddk = b->out_ld[0], .lddv = b->out_ld[1]);
}

/* Adds what a query gives to the derivatives by a key and its value, in double. */
static void add_query(const struct bi_multiquery_grad_params *p, int64_t row, int32_t h,
                      int64_t key, double *dk, double *dv)
{
    const struct bi_multiquery_params *o = &p->of;
    const float *q = o->q + row * o->ldq + (int64_t)h * o->d;
    const float *dy = p->dy + row * p->lddy + (int64_t)h * o->e;
    double weight;
    const double t = bi_ref_multiquery_slope(p, row, h, key, &weight) * (double)o->scale;
    for (int32_t c = 0; c < o->d; c++)
        dk[c] += t * (o->table ? bi_ref_rotated(q, o->table + row % o->n * o->d, o->d, c)
                               : (double)q[c]);
    for (int32_t c = 0; c < o->e; c++)
        dv[c] += weight * (double)dy[c];
}

static void grad_reference(const void *params)
{
    const struct bi_multiquery_grad_params *p = params;
    for (int64_t j = 0; j < p->of.rows; j++) {
        const int64_t first = j - j % p->of.n;
        double dk[BI_MULTIQUERY_KEY] = {0}, dv[BI_MULTIQUERY_VALUE] = {0};
        for (int32_t h = 0; h < p->of.n_heads; h++)
            for (int64_t i = first; i < first + p->of.n; i++)
                add_query(p, i, h, j, dk, dv);
        bi_ref_rotate_back(&p->of, j - first, dk, p->dk + j * p->lddk);
        for (int32_t c = 0; c < p->of.e; c++)
            p->dv[j * p->lddv + c] = (float)dv[c];
    }
}

/* in: q, k, v, table, bias, dy of the multiquery `node`, and sums. *dv: the second output. */
bi_value_id bi_multiquery_grad_keys(struct bi_graph *g, const bi_value_id in[7],
                                    const struct bi_node *node, bi_value_id *dv)
{
    const struct bi_multiquery_attr a = *BI_ATTR(node, multiquery);
    const bi_value_id dk = bi_node_add(g, BI_OP_MULTIQUERY_GRAD_KEYS, in, 7,
                                       BI_ATTRS(multiquery_grad_keys, .cap = a.cap,
                                                .scale = a.scale, .n_heads = a.n_heads, .n = a.n,
                                                .pool = a.pool));
    *dv = bi_other_output(g, dk, 1);
    return dk;
}

const struct bi_op bi_op_multiquery_grad_keys = {
    .name = "multiquery_grad_keys",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_multiquery_grad,
    .required = 103,
};
