/* linear_silu_slope.c - a product times the derivative of an activation.
 *   x [R, K], w [N, K], z [R, N] -> silu'(z) x w^T
 * Made by the rule linear_silu_slope (graph/rules/common.c). */
#include "../kernels/linear.h"
#include "shared.h"

static int linear_silu_slope_infer(struct bi_graph *g, struct bi_node *node,
                                   struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1), *z = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, w->shape[0], err);
    if (!st && z->shape[0] != x->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "linear_silu_slope: z %s beside x %s",
                     bi_shape_text(z).text, bi_shape_text(x).text);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){x->shape[0], w->shape[0]});
    return st;
}

static void linear_silu_slope_launch(const struct bi_graph *g, const struct bi_node *node,
                                     const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch, 0);
    p->bias = NULL;
    p->slope = b->in[2];
    p->ldz = b->in_ld[2];
}

const struct bi_op bi_op_linear_silu_slope = {
    .name = "linear_silu_slope",
    .infer = linear_silu_slope_infer,
    .launch = linear_silu_slope_launch,
    .reference = bi_ref_linear,
    .cost = bi_cost_linear,
    .required = 7,
    .layout = {[1] = BI_LAYOUT_LINEAR},
};
