/* sigmoid_grad.c - the derivative of sigmoid.
 *   x, dy [R, D] -> dy (s (1 - s)), s = 1 / (1 + e^-x) */
#include "shared.h"

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_launch_unary_grad(g, node, bind, launch, BI_UNARY_SIGMOID);
}

bi_value_id bi_sigmoid_grad(struct bi_graph *g, bi_value_id x, bi_value_id dy)
{
    return bi_node_add(g, BI_OP_SIGMOID_GRAD, BI_IN(x, dy), NULL);
}

const struct bi_op bi_op_sigmoid_grad = {
    .name = "sigmoid_grad",
    .infer = bi_infer_pair_like_first,
    .launch = grad_launch,
    .reference = bi_ref_unary_grad,
    .cost = bi_cost_bytes,
    .required = 3,
};
