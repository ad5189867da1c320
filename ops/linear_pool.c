/* linear_pool.c - attention pooling of pairs of rows by the logits of their difference, then a
 * norm, its activation and zero rows.
 *   x [R, C], w [C, C], odd [R, C], scale, shift [C]? -> [R + 2 pad, C]
 *   act(scale z + shift), or z without them, z = odd + x sigmoid(x w^T): pair_pool, x = even - odd
 * Made by bi_graph_follow for backends whose linear can (linear.h). */
#include <math.h>

#include "../kernels/linear.h"
#include "shared.h"

static int linear_pool_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *odd = bi_in(g, node, 2);
    const int32_t pad = BI_ATTR(node, linear_pool)->pad;
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i <= 2; i++)
        st = bi_expect(g, node, i, 2, x->shape[1], err);
    for (int i = 3; !st && i <= 4; i++)
        if (bi_in(g, node, 3) || bi_in(g, node, 4))
            st = bi_expect(g, node, i, 1, x->shape[1], err);
    if (!st && (x->axis != BI_AXIS_FIXED || odd->shape[0] != x->shape[0] ||
                bi_in(g, node, 1)->shape[0] != x->shape[1] || pad < 0 || pad > x->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "linear_pool: odd rows %s, differences %s, %d around",
                     bi_shape_text(odd).text, bi_shape_text(x).text, pad);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){x->shape[0] + 2 * pad, x->shape[1]});
    return st;
}

static void linear_pool_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch,
                                                  BI_ATTR(node, linear_pool)->act);
    p->bias = NULL;
    p->odd = b->in[2];
    p->ldo = b->in_ld[2];
    p->scale = b->in[3];
    p->shift = b->in[4];
    p->pad = BI_ATTR(node, linear_pool)->pad;
}

static void linear_pool_reference(const void *params)
{
    const struct bi_linear_params *p = params;
    struct bi_linear_params logits = *p;
    logits.y += p->pad * p->ldy;
    bi_ref_linear(&logits);
    for (int64_t r = -p->pad; r < p->rows + p->pad; r++)
        for (int32_t c = 0; c < p->n; c++) {
            float *y = p->y + (r + p->pad) * p->ldy + c;
            double z = 0;
            if (r >= 0 && r < p->rows) {
                z = (double)p->odd[r * p->ldo + c] +
                    (double)p->x[r * p->ldx + c] / (1 + exp(-(double)*y));
                if (p->scale)
                    z = bi_ref_norm_act(z * (double)p->scale[c] + (double)p->shift[c], p->then);
            }
            *y = (float)z;
        }
}

const struct bi_op bi_op_linear_pool = {
    .name = "linear_pool",
    .infer = linear_pool_infer,
    .launch = linear_pool_launch,
    .reference = linear_pool_reference,
    .cost = bi_cost_linear,
    .required = 7,
    .layout = {[1] = BI_LAYOUT_LINEAR},
};
