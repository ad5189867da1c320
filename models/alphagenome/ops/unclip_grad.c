/* unclip_grad.c - the derivative of unclip.
 *   x [R, T], gain, mean [T], dy [R, T] -> [R, T]. kernels/track_grads.h has the formula. */
#include <math.h>
#include <string.h>

#include "../../../kernels/track_grads.h"
#include "../../../kernels/track_rows.h"
#include "../../../ops/shared.h"

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *dy = bi_in(g, node, 3);
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i < 4; i++)
        st = bi_expect(g, node, i, i < 3 ? 1 : 2, x->shape[1], err);
    if (!st && dy->shape[0] != x->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "unclip_grad: dy %s beside x %s",
                     bi_shape_text(dy).text, bi_shape_text(x).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "unclip_grad", struct bi_unclip_grad_params, .counts = b->counts,
              .x = b->in[0], .gain = b->in[1], .mean = b->in[2], .dy = b->in[3], .dx = b->out[0],
              .ldx = b->in_ld[0], .lddy = b->in_ld[3], .lddx = b->out_ld[0], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1],
              .exponent = BI_ATTR(node, unclip_grad)->exponent);
}

static void grad_reference(const void *params)
{
    const struct bi_unclip_grad_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    const double from = (double)BI_UNCLIP_FROM, exponent = (double)p->exponent;
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const double x = (double)p->x[r * p->ldx + c], gain = (double)p->gain[c];
            const double s = (fmax(x, 0) + log1p(exp(-fabs(x)))) * gain;
            const double u = s <= from ? s : (s + from) * (s + from) / (4 * from);
            const double du = s <= from ? 1 : (s + from) / (2 * from);
            const double slope = exponent * pow(u, exponent - 1) * du * gain / (1 + exp(-x));
            p->dx[r * p->lddx + c] = (float)(slope * (double)p->mean[c] *
                                             (double)p->dy[r * p->lddy + c]);
        }
}

/* in: x, gain and mean of the unclip, dy. */
bi_value_id bi_unclip_grad(struct bi_graph *g, const bi_value_id in[4], float exponent)
{
    return bi_node_add(g, BI_OP_UNCLIP_GRAD, in, 4, BI_ATTRS(unclip_grad, .exponent = exponent));
}

const struct bi_op bi_op_unclip_grad = {
    .name = "unclip_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_bytes,
    .required = 15,
};
