/* tensor_product_grad.c - the derivative of tensor_product.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

/* d: the derivative by the product; BI_NONE = 0. */
bi_value_id bi_tensor_product_grad(struct bi_graph *g, const bi_value_id y[3],
                                   const bi_value_id m[3], const bi_value_id d[3], bi_value_id c,
                                   bool so3)
{
    return bi_node_add(g, BI_OP_TENSOR_PRODUCT_GRAD,
                       BI_IN(y[0], y[1], y[2], m[0], m[1], m[2], d[0], d[1], d[2], c),
                       BI_ATTRS(tensor_product_grad, .so3 = so3));
}

const struct bi_op bi_op_tensor_product_grad = {
    .name = "tensor_product_grad",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 63,
};
