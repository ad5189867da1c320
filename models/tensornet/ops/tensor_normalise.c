/* tensor_normalise.c - matrices over one more than the squares of their norms.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

static void normalise_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    bi_node_outputs(g, bi_tensor_normalise_grad(g, node->in, dy), dx, 3);
}

bi_value_id bi_tensor_normalise(struct bi_graph *g, const bi_value_id x[3])
{
    return bi_node_add(g, BI_OP_TENSOR_NORMALISE, BI_IN(x[0], x[1], x[2]), NULL);
}

const struct bi_op bi_op_tensor_normalise = {
    .name = "tensor_normalise",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 7,
    .grad = normalise_grad,
};
