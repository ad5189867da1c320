/* linear_diff.c - a product, and the differences of its neighbouring rows.
 *   x [2 R, K], w [N, K], bias [N]?, residual [2 R, N]? -> y = x w^T + b + r [2 R, N], of pairs [R, N]
 * Made by bi_graph_follow for backends whose linear can (linear.h). */
#include <string.h>

#include "../kernels/linear.h"
#include "shared.h"

static int linear_diff_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1), *r = bi_in(g, node, 3);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && bi_in(g, node, 2))
        st = bi_expect(g, node, 2, 1, w->shape[0], err);
    if (!st && r)
        st = bi_expect(g, node, 3, 2, w->shape[0], err);
    if (!st && (x->axis != BI_AXIS_FIXED || x->shape[0] % 2 || (r && r->shape[0] != x->shape[0])))
        st = bi_fail(err, BIOINFER_INTERNAL, "linear_diff: rows of %s do not pair, or not with the "
                     "residual", bi_shape_text(x).text);
    for (int slot = 0; !st && slot < 2; slot++)
        bi_out_shape(g, node, slot, x->axis, 2, (int64_t[]){x->shape[0] >> slot, w->shape[0]});
    return st;
}

static void linear_diff_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch);
    p->residual = b->in[3];
    p->ldr = b->in_ld[3];
    p->also = b->out[1];
    p->lda = b->out_ld[1];
}

static void linear_diff_reference(const void *params)
{
    const struct bi_linear_params *p = params;
    bi_ref_linear(p);
    for (int64_t r = 0; r < p->rows / 2; r++)
        for (int32_t c = 0; c < p->n; c++)
            p->also[r * p->lda + c] =
                p->y[2 * r * p->ldy + c] - p->y[(2 * r + 1) * p->ldy + c];
}

const struct bi_op bi_op_linear_diff = {
    .name = "linear_diff", .infer = linear_diff_infer, .launch = linear_diff_launch,
    .reference = linear_diff_reference, .cost = bi_cost_linear, .required = 3,
    .layout = {[1] = BI_LAYOUT_LINEAR},
};
