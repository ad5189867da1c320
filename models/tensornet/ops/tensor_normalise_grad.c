/* tensor_normalise_grad.c - the derivative of tensor_normalise.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

/* dy: BI_NONE = 0. */
bi_value_id bi_tensor_normalise_grad(struct bi_graph *g, const bi_value_id x[3],
                                     const bi_value_id dy[3])
{
    return bi_node_add(g, BI_OP_TENSOR_NORMALISE_GRAD, BI_IN(x[0], x[1], x[2], dy[0], dy[1], dy[2]),
                       NULL);
}

const struct bi_op bi_op_tensor_normalise_grad = {
    .name = "tensor_normalise_grad",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 7,
};
