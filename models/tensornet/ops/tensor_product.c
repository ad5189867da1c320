/* tensor_product.c - the product of two matrices, normalised.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

static void product_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                         unsigned wanted, bi_value_id *dx)
{
    (void)wanted; /* c is given by the caller of the graph */
    bi_node_outputs(g,
                    bi_tensor_product_grad(g, node->in, node->in + 3, dy, node->in[6],
                                           BI_ATTR(node, tensor_product)->so3),
                    dx, 6);
}

/* c: [N] a factor for each atom, or BI_NONE for 1. so3: 2 y m in place of c (y m + m y). */
bi_value_id bi_tensor_product(struct bi_graph *g, const bi_value_id y[3], const bi_value_id m[3],
                              bi_value_id c, bool so3)
{
    return bi_node_add(g, BI_OP_TENSOR_PRODUCT, BI_IN(y[0], y[1], y[2], m[0], m[1], m[2], c),
                       BI_ATTRS(tensor_product, .so3 = so3));
}

const struct bi_op bi_op_tensor_product = {
    .name = "tensor_product",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 63,
    .grad = product_grad,
};
