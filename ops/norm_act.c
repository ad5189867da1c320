/* norm_act.c - act(scale x + shift) with zero rows around: what stands before a convolution.
 *   x [R, C], scale [C]?, shift [C]? -> [R + 2 pad, C] */
#include <math.h>
#include <string.h>

#include "../kernels/norm_act.h"
#include "shared.h"

static int norm_act_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i <= 2; i++)
        if (bi_in(g, node, i))
            st = bi_expect(g, node, i, 1, x->shape[1], err);
    if (!st && (BI_ATTR(node, norm_act)->pad < 0 ||
                (BI_ATTR(node, norm_act)->pad && x->axis != BI_AXIS_FIXED)))
        st = bi_fail(err, BIOINFER_INTERNAL, "norm_act: %d rows of padding around packed rows",
                     BI_ATTR(node, norm_act)->pad);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0] + 2 * BI_ATTR(node, norm_act)->pad, x->shape[1]});
    return st;
}

static void norm_act_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "norm_act", struct bi_norm_act_params, .counts = b->counts, .x = b->in[0],
              .scale = b->in[1], .shift = b->in[2], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .width = (int32_t)x->shape[1], .pad = BI_ATTR(node, norm_act)->pad,
              .act = BI_ATTR(node, norm_act)->act);
}

const char *const bi_norm_act_names[] = {[BI_NORM_ACT_QUICK_GELU] = "quick_gelu",
                                         [BI_NORM_ACT_TANH_GELU] = "tanh_gelu",
                                         [BI_NORM_ACT_RELU] = "relu",
                                         [BI_NORM_ACT_SOFTPLUS] = "softplus",
                                         [BI_NORM_ACT_TANH] = "tanh"};

double bi_ref_norm_act(double z, int act)
{
    switch (act) {
    case BI_NORM_ACT_QUICK_GELU:
        return z / (1 + exp(-1.702 * z));
    case BI_NORM_ACT_TANH_GELU:
        return 0.5 * z * (1 + tanh(0.79788456080286535588 * (z + 0.044715 * z * z * z)));
    case BI_NORM_ACT_RELU:
        return z < 0 ? 0 : z; /* NaN stays */
    case BI_NORM_ACT_SOFTPLUS:
        return (z > 0 ? z : 0 * z) + log1p(exp(-fabs(z)));
    case BI_NORM_ACT_TANH:
        return tanh(z);
    default:
        return z;
    }
}

static void norm_act_reference(const void *params)
{
    const struct bi_norm_act_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = -p->pad; r < rows + p->pad; r++) {
        float *y = p->y + (r + p->pad) * p->ldy;
        for (int32_t c = 0; c < p->width; c++) {
            double z = 0;
            if (r >= 0 && r < rows) {
                z = (double)p->x[r * p->ldx + c] * (p->scale ? (double)p->scale[c] : 1);
                z = bi_ref_norm_act(z + (p->shift ? (double)p->shift[c] : 0), p->act);
            }
            y[c] = (float)z;
        }
    }
}

/* act: enum bi_norm_act; scale and shift may be BI_NONE; pad: zero rows on each side. */
bi_value_id bi_norm_act(struct bi_graph *g, bi_value_id x, bi_value_id scale, bi_value_id shift,
                        int act, int32_t pad)
{
    return bi_node_add(g, BI_OP_NORM_ACT, BI_IN(x, scale, shift),
                       BI_ATTRS(norm_act, .act = act, .pad = pad));
}

static void norm_act_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                          unsigned wanted, bi_value_id *dx)
{
    const bi_value_id in[] = {node->in[0], node->in[1], node->in[2], dy[0]};
    const int32_t act = BI_ATTR(node, norm_act)->act, pad = BI_ATTR(node, norm_act)->pad;
    if (wanted != 1)
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: norm_act has none by its scale or shift");
    else if (act == BI_NORM_ACT_NONE && node->in[1] == BI_NONE)
        dx[0] = pad ? bi_windows(g, dy[0], pad, g->values[node->in[0]].shape[0], 1) : dy[0];
    else
        dx[0] = bi_norm_act_grad(g, in, act, pad);
}

const struct bi_op bi_op_norm_act = {
    .name = "norm_act",
    .infer = norm_act_infer,
    .launch = norm_act_launch,
    .reference = norm_act_reference,
    .cost = bi_cost_bytes,
    .grad = norm_act_grad,
    .required = 1,
    .half = {.out = 1, .in = 1, .if_out = 1},
};
