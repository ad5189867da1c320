/* tensor_scale.c - the three parts of matrices, each times a factor of its own.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

static void scale_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                       unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    bi_node_outputs(g, bi_tensor_scale_grad(g, node->in, node->in[3], dy), dx, 4);
}

/* s: [N, 3 F], the factors of the three parts behind each other. */
bi_value_id bi_tensor_scale(struct bi_graph *g, const bi_value_id x[3], bi_value_id s)
{
    return bi_node_add(g, BI_OP_TENSOR_SCALE, BI_IN(x[0], x[1], x[2], s), NULL);
}

const struct bi_op bi_op_tensor_scale = {
    .name = "tensor_scale",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 15,
    .grad = scale_grad,
};
