/* tensor_update.c - matrices, what is added to them, and the square of that.
 * kernels/tensor_map.h has the operands, kernels/tensor_math.h the formula. */
#include "tensors.h"

static void update_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                        unsigned wanted, bi_value_id *dx)
{
    for (int k = 0; k < 3; k++)
        dx[k] = dy[k];
    if (wanted >> 3 & 7)
        bi_node_outputs(g, bi_tensor_update_grad(g, node->in + 3, dy, node->in[6]), dx + 3, 3);
}

/* c: [N] a factor of the square for each atom, or BI_NONE for 1. */
bi_value_id bi_tensor_update(struct bi_graph *g, const bi_value_id x[3], const bi_value_id d[3],
                             bi_value_id c)
{
    return bi_node_add(g, BI_OP_TENSOR_UPDATE, BI_IN(x[0], x[1], x[2], d[0], d[1], d[2], c), NULL);
}

const struct bi_op bi_op_tensor_update = {
    .name = "tensor_update",
    .infer = bi_infer_tensor_map,
    .launch = bi_launch_tensor_map,
    .reference = bi_ref_tensor_map,
    .cost = bi_cost_bytes,
    .required = 63,
    .grad = update_grad,
};
