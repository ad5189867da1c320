/* multiquery_grad_bias.c - the derivative of multiquery by its bias.
 *   q [R, H d], k [R, d], v [R, e], table [n, d]?, bias [R / n P P, H], dy [R, H e], sums [R, 3 H]
 *   -> dbias [R / n P P, H]
 * attr as of multiquery; sums as multiquery_grad gives them. */
#include "multiquery_grad.h"

#include <string.h>

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int st = bi_expect_multiquery_grad(g, node, err);
    if (!st)
        bi_out_like(g, node, 0, 4);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "multiquery_grad_bias", struct bi_multiquery_grad_params,
              .of = bi_multiquery_params_of(g, node, b), .dy = b->in[5], .sums = b->in[6],
              .dbias = b->out[0], .lddy = b->in_ld[5], .lds = b->in_ld[6], .lddb = b->out_ld[0]);
}

static void grad_reference(const void *params)
{
    const struct bi_multiquery_grad_params *p = params;
    const int64_t n = p->of.n, pool = p->of.pool, side = n / pool;
    for (int64_t at = 0; at < p->of.rows / n * side * side; at++)
        for (int32_t h = 0; h < p->of.n_heads; h++) {
            const int64_t first = at / (side * side) * n, place = at / side % side;
            double sum = 0, weight;
            for (int64_t i = place * pool; i < (place + 1) * pool; i++)
                for (int64_t j = at % side * pool; j < (at % side + 1) * pool; j++)
                    sum += bi_ref_multiquery_slope(p, first + i, h, first + j, &weight);
            p->dbias[at * p->lddb + h] = (float)sum;
        }
}

/* in: q, k, v, table, bias, dy of the multiquery `node`, and sums. */
bi_value_id bi_multiquery_grad_bias(struct bi_graph *g, const bi_value_id in[7],
                                    const struct bi_node *node)
{
    const struct bi_multiquery_attr a = *BI_ATTR(node, multiquery);
    return bi_node_add(g, BI_OP_MULTIQUERY_GRAD_BIAS, in, 7,
                       BI_ATTRS(multiquery_grad_bias, .cap = a.cap, .scale = a.scale,
                                .n_heads = a.n_heads, .n = a.n, .pool = a.pool));
}

const struct bi_op bi_op_multiquery_grad_bias = {
    .name = "multiquery_grad_bias",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_multiquery_grad,
    .required = 119,
};
