/* scale.c - scale: x times a constant factor. */
#include "../kernels/unary.h"
#include "shared.h"

static void scale_launch(const struct bi_graph *g, const struct bi_node *node,
                         const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_launch_unary(g, node, bind, launch, BI_UNARY_SCALE, BI_ATTR(node, scale)->factor);
}

bi_value_id bi_scale(struct bi_graph *g, bi_value_id x, float factor)
{
    return bi_node_add(g, BI_OP_SCALE, BI_IN(x), BI_ATTRS(scale, .factor = factor));
}

static void scale_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                       unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_scale(g, dy[0], BI_ATTR(node, scale)->factor);
}

const struct bi_op bi_op_scale = {
    .name = "scale",
    .infer = bi_infer_like_first,
    .launch = scale_launch,
    .reference = bi_ref_unary,
    .cost = bi_cost_bytes,
    .grad = scale_grad,
    .required = 1,
};
