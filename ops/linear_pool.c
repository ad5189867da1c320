/* linear_pool.c - logits of pairs of rows, the pooling by them, its norm, activation and zero rows.
 *   x [R, K], w [N, K], pairs [2 R, N], scale, shift [N] -> [R + 2 pad, N]
 *   act(scale z + shift), z = pair_pool of pairs with the logits x w^T of their difference
 * Made by bi_graph_follow for backends whose linear can (linear.h). */
#include <math.h>
#include <string.h>

#include "../kernels/linear.h"
#include "shared.h"

static int linear_pool_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1), *a = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, w->shape[0], err);
    for (int i = 3; !st && i <= 4; i++)
        st = bi_expect(g, node, i, 1, w->shape[0], err);
    if (!st && (x->axis != BI_AXIS_FIXED || a->shape[0] != 2 * x->shape[0] ||
                node->attr.pad < 0 || node->attr.pad > x->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "linear_pool: rows of %s for logits %s, %d around",
                     bi_shape_text(a).text, bi_shape_text(x).text, node->attr.pad);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0] + 2 * node->attr.pad, w->shape[0]});
    return st;
}

static void linear_pool_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch);
    p->bias = NULL;
    p->pairs = b->in[2];
    p->ldp = b->in_ld[2];
    p->scale = b->in[3];
    p->shift = b->in[4];
    p->pad = node->attr.pad;
}

static void linear_pool_reference(const void *params)
{
    const struct bi_linear_params *p = params;
    struct bi_linear_params logits = *p;
    logits.y += p->pad * p->ldy;
    bi_ref_linear(&logits);
    for (int64_t r = 0; r < p->rows + 2 * p->pad; r++)
        for (int32_t c = 0; c < p->n; c++) {
            const float *x = p->pairs + 2 * (r - p->pad) * p->ldp + c;
            float *y = p->y + r * p->ldy + c;
            if (r < p->pad || r >= p->rows + p->pad) {
                *y = 0;
            } else {
                double a = (double)x[0], b = (double)x[p->ldp];
                double z = b + (a - b) / (1 + exp(-(double)*y));
                *y = (float)bi_ref_norm_act(z * (double)p->scale[c] + (double)p->shift[c], p->then);
            }
        }
}

const struct bi_op bi_op_linear_pool = {
    .name = "linear_pool", .infer = linear_pool_infer, .launch = linear_pool_launch,
    .reference = linear_pool_reference, .cost = bi_cost_linear, .required = 31,
    .layout = {[1] = BI_LAYOUT_LINEAR},
};
