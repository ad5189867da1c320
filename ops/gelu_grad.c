/* gelu_grad.c - the derivative of gelu.
 *   x, dy [R, D] -> dy (P(x) + x p(x)), P and p of the normal distribution */
#include "shared.h"

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_launch_unary_grad(g, node, bind, launch, BI_UNARY_GELU);
}

bi_value_id bi_gelu_grad(struct bi_graph *g, bi_value_id x, bi_value_id dy)
{
    return bi_node_add(g, BI_OP_GELU_GRAD, BI_IN(x, dy), NULL);
}

const struct bi_op bi_op_gelu_grad = {
    .name = "gelu_grad",
    .infer = bi_infer_pair_like_first,
    .launch = grad_launch,
    .reference = bi_ref_unary_grad,
    .cost = bi_cost_bytes,
    .required = 3,
};
