/* rmsnorm.c - x / sqrt(mean of squares + eps) * w + b.   x [R, D], w [D], b [D]? -> [R, D]
 *   b: made by the rule rmsnorm_offset. */
#include <string.h>

#include "../kernels/layernorm.h"
#include "shared.h"

static int rmsnorm_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_norm(g, node, 1, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void rmsnorm_launch(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "layernorm", struct bi_layernorm_params, .counts = b->counts, .x = b->in[0],
              .w = b->in[1], .b = b->in[2], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0], .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1],
              .rms = 1, .eps = BI_ATTR(node, rmsnorm)->eps);
}

bi_value_id bi_rmsnorm(struct bi_graph *g, bi_value_id x, bi_value_id w, float eps)
{
    return bi_node_add(g, BI_OP_RMSNORM, BI_IN(x, w), BI_ATTRS(rmsnorm, .eps = eps));
}

static void rmsnorm_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                         unsigned wanted, bi_value_id *dx)
{
    if (wanted != 1) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: rmsnorm has none but by its rows");
        return;
    }
    dx[0] = bi_rmsnorm_grad(g, node->in[0], node->in[1], dy[0], BI_ATTR(node, rmsnorm)->eps);
}

const struct bi_op bi_op_rmsnorm = {
    .name = "rmsnorm",
    .infer = rmsnorm_infer,
    .launch = rmsnorm_launch,
    .reference = bi_ref_layernorm,
    .cost = bi_cost_bytes,
    .grad = rmsnorm_grad,
    .required = 3,
    .half = {.out = 1},
};
