/* tensor_scale_grad.c - the derivative of tensor_scale.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

/* dy: BI_NONE = 0. */
bi_value_id bi_tensor_scale_grad(struct bi_graph *g, const bi_value_id x[3], bi_value_id s,
                                 const bi_value_id dy[3])
{
    return bi_node_add(g, BI_OP_TENSOR_SCALE_GRAD, BI_IN(x[0], x[1], x[2], s, dy[0], dy[1], dy[2]),
                       NULL);
}

const struct bi_op bi_op_tensor_scale_grad = {
    .name = "tensor_scale_grad",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 15,
};
