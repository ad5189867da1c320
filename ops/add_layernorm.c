/* add_layernorm.c - a + b, and its norm.   a, b [R, D], w [D], bias [D] -> sum, norm [R, D] */
#include <string.h>

#include "../kernels/layernorm.h"
#include "shared.h"

static int add_layernorm_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, a->shape[1], err);
    if (!st && a->shape[0] != b->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "add_layernorm: shapes %s and %s",
                     bi_shape_text(a).text, bi_shape_text(b).text);
    for (int i = 2; !st && i <= 3; i++)
        st = bi_expect(g, node, i, 1, a->shape[1], err);
    for (int slot = 0; !st && slot < 2; slot++)
        bi_out_like(g, node, slot, 0);
    return st;
}

static void add_layernorm_launch(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "layernorm", struct bi_layernorm_params, .counts = b->counts, .x = b->in[0],
              .add = b->in[1], .w = b->in[2], .b = b->in[3], .sum = b->out[0], .y = b->out[1],
              .ldx = b->in_ld[0], .lda = b->in_ld[1], .lds = b->out_ld[0], .ldy = b->out_ld[1],
              .rows = x->shape[0], .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1],
              .eps = BI_ATTR(node, add_layernorm)->eps);
}

const struct bi_op bi_op_add_layernorm = {
    .name = "add_layernorm",
    .infer = add_layernorm_infer,
    .launch = add_layernorm_launch,
    .reference = bi_ref_layernorm,
    .cost = bi_cost_bytes,
    .required = 15,
    .half = {.out = 2},
};
