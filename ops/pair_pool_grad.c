/* pair_pool_grad.c - pair_pool_grad: the derivatives of pair_pool by x and by its logits.
 *   x [2 R, C], logits [2 R, C]?, dy [R, C] -> dx, dlogits [2 R, C] */
#include <math.h>
#include <string.h>

#include "../kernels/track_grads.h"
#include "shared.h"

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *l = bi_in(g, node, 1), *dy = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && l)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, x->shape[1], err);
    if (!st && (x->axis != BI_AXIS_FIXED || x->shape[0] != 2 * dy->shape[0] ||
                (l && l->shape[0] != x->shape[0])))
        st = bi_fail(err, BIOINFER_INTERNAL, "pair_pool_grad: dy %s beside x %s",
                     bi_shape_text(dy).text, bi_shape_text(x).text);
    for (int i = 0; !st && i < 2; i++)
        bi_out_like(g, node, i, 0);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *dy = bi_in(g, node, 2);
    BI_LAUNCH(launch, "pair_pool_grad", struct bi_pair_pool_grad_params, .counts = b->counts,
              .x = b->in[0], .logits = b->in[1], .dy = b->in[2], .dx = b->out[0],
              .dlogits = bi_op_is_spared(g, node, 1) ? NULL : b->out[1], .ldx = b->in_ld[0],
              .ldl = b->in_ld[1], .lddy = b->in_ld[2], .lddx = b->out_ld[0], .lddl = b->out_ld[1],
              .rows = dy->shape[0], .width = (int32_t)dy->shape[1]);
}

static void grad_reference(const void *params)
{
    const struct bi_pair_pool_grad_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const double a = (double)p->x[2 * r * p->ldx + c];
            const double b = (double)p->x[(2 * r + 1) * p->ldx + c];
            const double d = (double)p->dy[r * p->lddy + c];
            double s = a >= b ? 1 : a < b ? 0 : a + b, by = 0; /* NaN stays */
            if (p->logits) {
                s = 1 / (1 + exp((double)p->logits[(2 * r + 1) * p->ldl + c] -
                                 (double)p->logits[2 * r * p->ldl + c]));
                by = s * (1 - s) * (a - b) * d;
            }
            p->dx[2 * r * p->lddx + c] = (float)(s * d);
            p->dx[(2 * r + 1) * p->lddx + c] = (float)((1 - s) * d);
            if (p->dlogits) {
                p->dlogits[2 * r * p->lddl + c] = (float)by;
                p->dlogits[(2 * r + 1) * p->lddl + c] = (float)-by;
            }
        }
}

/* *dlogits: the second output, which is 0 where there are no logits. */
bi_value_id bi_pair_pool_grad(struct bi_graph *g, bi_value_id x, bi_value_id logits, bi_value_id dy,
                              bi_value_id *dlogits)
{
    const bi_value_id dx = bi_node_add(g, BI_OP_PAIR_POOL_GRAD, BI_IN(x, logits, dy), NULL);
    *dlogits = bi_other_output(g, dx, 1);
    return dx;
}

const struct bi_op bi_op_pair_pool_grad = {
    .name = "pair_pool_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_bytes,
    .required = 5,
    .spare = 2,
};
