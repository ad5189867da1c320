/* sigmoid.c - sigmoid: 1 / (1 + exp(-x)), element by element. */
#include "../kernels/unary.h"
#include "shared.h"

static void sigmoid_launch(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_launch_unary(g, node, bind, launch, BI_UNARY_SIGMOID, 0);
}

bi_value_id bi_sigmoid(struct bi_graph *g, bi_value_id x)
{
    return bi_node_add(g, BI_OP_SIGMOID, BI_IN(x), NULL);
}

static void sigmoid_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                         unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_sigmoid_grad(g, node->in[0], dy[0]);
}

const struct bi_op bi_op_sigmoid = {
    .name = "sigmoid",
    .infer = bi_infer_like_first,
    .launch = sigmoid_launch,
    .reference = bi_ref_unary,
    .cost = bi_cost_bytes,
    .grad = sigmoid_grad,
    .required = 1,
};
