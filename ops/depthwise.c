/* depthwise.c - a convolution of each channel alone, over rows already padded.
 *   x [R + taps - 1, C], w [taps, C] -> [R, C] */
#include <string.h>

#include "../kernels/depthwise.h"
#include "../kernels/norm_act.h"
#include "shared.h"

enum { MOST_TAPS = 64 }; /* that have a gradient */

static int depthwise_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && (x->axis != BI_AXIS_FIXED || x->shape[0] < w->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "depthwise: %s under a kernel of %s",
                     bi_shape_text(x).text, bi_shape_text(w).text);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0] - w->shape[0] + 1, x->shape[1]});
    return st;
}

static void depthwise_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    BI_LAUNCH(launch, "depthwise", struct bi_depthwise_params, .counts = b->counts, .x = b->in[0],
              .w = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0] - w->shape[0] + 1, .width = (int32_t)x->shape[1],
              .taps = (int32_t)w->shape[0]);
}

static void depthwise_reference(const void *params)
{
    const struct bi_depthwise_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            double sum = 0;
            for (int32_t i = 0; i < p->taps; i++)
                sum += (double)p->x[(r + i) * p->ldx + c] * (double)p->w[i * p->width + c];
            p->y[r * p->ldy + c] = (float)sum;
        }
}

static void depthwise_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(&g->values[node->out[0]]) *
             (double)bi_in(g, node, 1)->shape[0];
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_depthwise(struct bi_graph *g, bi_value_id x, bi_value_id w)
{
    return bi_node_add(g, BI_OP_DEPTHWISE, BI_IN(x, w), NULL);
}

static void depthwise_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    const int64_t taps = g->values[node->in[1]].shape[0];
    int32_t turned[MOST_TAPS];
    if (wanted != 1 || taps > MOST_TAPS) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: depthwise has none by %lld taps",
                      (long long)taps);
        return;
    }
    for (int32_t i = 0; i < taps; i++)
        turned[i] = (int32_t)taps - 1 - i;
    dx[0] = bi_norm_act(g, dy[0], BI_NONE, BI_NONE, BI_NORM_ACT_NONE, (int32_t)taps - 1);
    dx[0] = bi_depthwise(g, dx[0], bi_weight_rows(g, node->in[1], turned, taps));
}

const struct bi_op bi_op_depthwise = {
    .name = "depthwise",
    .infer = depthwise_infer,
    .launch = depthwise_launch,
    .reference = depthwise_reference,
    .cost = depthwise_cost,
    .grad = depthwise_grad,
    .required = 3,
    .half = {.out = 1},
};
