/* tensor_update_grad.c - the derivative of tensor_update by what is added.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

/* dy: BI_NONE = 0. */
bi_value_id bi_tensor_update_grad(struct bi_graph *g, const bi_value_id d[3],
                                  const bi_value_id dy[3], bi_value_id c)
{
    return bi_node_add(g, BI_OP_TENSOR_UPDATE_GRAD, BI_IN(d[0], d[1], d[2], dy[0], dy[1], dy[2], c),
                       NULL);
}

const struct bi_op bi_op_tensor_update_grad = {
    .name = "tensor_update_grad",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 7,
};
