/* tensor_norm_grad.c - the derivative of tensor_norm.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

bi_value_id bi_tensor_norm_grad(struct bi_graph *g, const bi_value_id x[3], bi_value_id dy)
{
    const bool whole = dy == BI_NONE || x[0] == BI_NONE ||
                       g->values[dy].shape[1] == g->values[x[0]].shape[1];
    return bi_node_add(g, BI_OP_TENSOR_NORM_GRAD, BI_IN(x[0], x[1], x[2], dy),
                       BI_ATTRS(tensor_norm_grad, .parts = whole ? 1 : 3));
}

const struct bi_op bi_op_tensor_norm_grad = {
    .name = "tensor_norm_grad",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 15,
};
