/* linear_silu_pair.c - a product with an activation, and the product itself, which the derivative
 * of the activation reads.
 *   x [R, K], w [N, K], bias [N]? -> silu(x w^T + b), x w^T + b
 * Made by the rule linear_silu_pair (graph/rules/common.c). */
#include "../kernels/linear.h"
#include "shared.h"

static int linear_silu_pair_infer(struct bi_graph *g, struct bi_node *node,
                                  struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && bi_in(g, node, 2))
        st = bi_expect(g, node, 2, 1, w->shape[0], err);
    for (int slot = 0; !st && slot < 2; slot++)
        bi_out_shape(g, node, slot, x->axis, 2, (int64_t[]){x->shape[0], w->shape[0]});
    return st;
}

static void linear_silu_pair_launch(const struct bi_graph *g, const struct bi_node *node,
                                    const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch, 0);
    p->act = BI_ACT_SILU;
    p->before = b->out[1];
    p->ldb = b->out_ld[1];
}

const struct bi_op bi_op_linear_silu_pair = {
    .name = "linear_silu_pair",
    .infer = linear_silu_pair_infer,
    .launch = linear_silu_pair_launch,
    .reference = bi_ref_linear,
    .cost = bi_cost_linear,
    .required = 3,
    .layout = {[1] = BI_LAYOUT_LINEAR},
};
