/* norm_split.c - a norm that is the residual stream and the operand of the next product: in
 * float32 and in float16.   x [R, D], w [D], b [D]? -> [R, D], [R, D] */
#include <string.h>

#include "../kernels/layernorm.h"
#include "shared.h"

static int norm_split_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_norm(g, node, 1, err);
    for (int slot = 0; !st && slot < 2; slot++)
        bi_out_like(g, node, slot, 0);
    return st;
}

static void norm_split_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "layernorm", struct bi_layernorm_params, .counts = b->counts, .x = b->in[0],
              .w = b->in[1], .b = b->in[2], .y = b->out[0], .copy = b->out[1], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .ldc = b->out_ld[1], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1],
              .rms = BI_ATTR(node, norm_split)->rms, .eps = BI_ATTR(node, norm_split)->eps);
}

const struct bi_op bi_op_norm_split = {
    .name = "norm_split",
    .infer = norm_split_infer,
    .launch = norm_split_launch,
    .reference = bi_ref_layernorm,
    .cost = bi_cost_bytes,
    .required = 3,
    .half = {.out = 2},
};
