/* norm_act_grad.c - norm_act_grad: the derivative of norm_act by x.
 *   x [R, C], scale [C]?, shift [C]?, dy [R + 2 pad, C] -> [R, C] */
#include <math.h>
#include <string.h>

#include "../kernels/norm_act.h"
#include "../kernels/track_grads.h"
#include "shared.h"

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *dy = bi_in(g, node, 3);
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i <= 2; i++)
        if (bi_in(g, node, i))
            st = bi_expect(g, node, i, 1, x->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 3, 2, x->shape[1], err);
    if (!st && (dy->shape[0] != x->shape[0] + 2 * BI_ATTR(node, norm_act_grad)->pad ||
                BI_ATTR(node, norm_act_grad)->pad < 0))
        st = bi_fail(err, BIOINFER_INTERNAL, "norm_act_grad: dy %s beside x %s, %d rows around",
                     bi_shape_text(dy).text, bi_shape_text(x).text,
                     BI_ATTR(node, norm_act_grad)->pad);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "norm_act_grad", struct bi_norm_act_grad_params, .counts = b->counts,
              .x = b->in[0], .scale = b->in[1], .shift = b->in[2], .dy = b->in[3], .dx = b->out[0],
              .ldx = b->in_ld[0], .lddy = b->in_ld[3], .lddx = b->out_ld[0], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1],
              .pad = BI_ATTR(node, norm_act_grad)->pad, .act = BI_ATTR(node, norm_act_grad)->act);
}

static double slope(double z, int act)
{
    const double q = 1 / (1 + exp(-1.702 * z)), s = 1 / (1 + exp(-z));
    const double c = 0.79788456080286535588, t = tanh(c * (z + 0.044715 * z * z * z));
    switch (act) {
    case BI_NORM_ACT_QUICK_GELU:
        return q + 1.702 * z * q * (1 - q);
    case BI_NORM_ACT_TANH_GELU:
        return 0.5 * (1 + t) + 0.5 * z * (1 - t * t) * c * (1 + 3 * 0.044715 * z * z);
    case BI_NORM_ACT_RELU:
        return z > 0 ? 1 : z <= 0 ? 0 : z; /* NaN stays */
    case BI_NORM_ACT_SOFTPLUS:
        return s;
    case BI_NORM_ACT_TANH:
        return 1 - tanh(z) * tanh(z);
    default:
        return 1;
    }
}

static void grad_reference(const void *params)
{
    const struct bi_norm_act_grad_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const double by = p->scale ? (double)p->scale[c] : 1;
            const double z = (double)p->x[r * p->ldx + c] * by +
                             (p->shift ? (double)p->shift[c] : 0);
            p->dx[r * p->lddx + c] = (float)(slope(z, p->act) * by *
                                             (double)p->dy[(r + p->pad) * p->lddy + c]);
        }
}

/* scale and shift may be BI_NONE; act and pad as those of the norm_act. */
bi_value_id bi_norm_act_grad(struct bi_graph *g, const bi_value_id in[4], int act, int32_t pad)
{
    return bi_node_add(g, BI_OP_NORM_ACT_GRAD, in, 4,
                       BI_ATTRS(norm_act_grad, .act = act, .pad = pad));
}

const struct bi_op bi_op_norm_act_grad = {
    .name = "norm_act_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_bytes,
    .required = 9,
};
