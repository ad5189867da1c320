/* matmul.c - matmul: x w^T.   x [R, K], w [N, K] -> [R, N]; runs as linear without bias. */
#include "shared.h"

static int matmul_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    return bi_op_linear.infer(g, node, err);
}

static void matmul_launch(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_op_linear.launch(g, node, bind, launch);
}

static void matmul_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                        double *bytes)
{
    bi_op_linear.cost(g, node, flops, bytes);
}

bi_value_id bi_matmul(struct bi_graph *g, bi_value_id x, bi_value_id w)
{
    return bi_node_add(g, BI_OP_MATMUL, BI_IN(x, w), NULL);
}

static void matmul_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                        unsigned wanted, bi_value_id *dx)
{
    if (wanted & 2) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: matmul has none by its weights");
        return;
    }
    dx[0] = bi_matmul(g, dy[0], bi_weight_transposed(g, node->in[1]));
}

const struct bi_op bi_op_matmul = {
    .name = "matmul",
    .infer = matmul_infer,
    .launch = matmul_launch,
    .reference = bi_ref_linear,
    .cost = matmul_cost,
    .grad = matmul_grad,
    .required = 3,
    .layout = {[1] = BI_LAYOUT_LINEAR},
    .half = {.out = 1, .in = 1, .for_out = 1},
    .weight_form = bi_linear_weight_form,
};
