/* silu.c - silu: z / (1 + e^-z), element by element. */
#include "../kernels/unary.h"
#include "shared.h"

static void silu_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_launch_unary(g, node, bind, launch, BI_UNARY_SILU, 0);
}

bi_value_id bi_silu(struct bi_graph *g, bi_value_id x)
{
    return bi_node_add(g, BI_OP_SILU, BI_IN(x), NULL);
}

static void silu_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                      unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_silu_grad(g, node->in[0], dy[0]);
}

const struct bi_op bi_op_silu = {
    .name = "silu",
    .infer = bi_infer_like_first,
    .launch = silu_launch,
    .reference = bi_ref_unary,
    .cost = bi_cost_bytes,
    .grad = silu_grad,
    .required = 1,
};
