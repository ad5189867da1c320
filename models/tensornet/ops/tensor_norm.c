/* tensor_norm.c - squares of the norms of matrices, of the whole or of its three parts.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

static void norm_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                      unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    bi_node_outputs(g, bi_tensor_norm_grad(g, node->in, dy[0]), dx, 3);
}

/* parts: 1 or 3. */
bi_value_id bi_tensor_norm(struct bi_graph *g, const bi_value_id x[3], int32_t parts)
{
    return bi_node_add(g, BI_OP_TENSOR_NORM, BI_IN(x[0], x[1], x[2]),
                       BI_ATTRS(tensor_norm, .parts = parts));
}

const struct bi_op bi_op_tensor_norm = {
    .name = "tensor_norm",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 7,
    .grad = norm_grad,
};
