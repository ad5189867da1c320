/* unclip.c - unclip: from logits of tracks to values in the scale of an experiment.
 *   x [R, T], gain, mean [T] -> [R, T]. kernels/track_rows.h has the
 * formula. */
#include <math.h>
#include <string.h>

#include "../../../kernels/track_rows.h"
#include "../../../ops/shared.h"

static int unclip_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i < 3; i++)
        st = bi_expect(g, node, i, 1, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void unclip_launch(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "unclip", struct bi_unclip_params, .counts = b->counts, .x = b->in[0],
              .gain = b->in[1], .mean = b->in[2], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .width = (int32_t)x->shape[1], .exponent = BI_ATTR(node, unclip)->exponent);
}

static void unclip_reference(const void *params)
{
    const struct bi_unclip_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    const double from = (double)BI_UNCLIP_FROM;
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const double x = (double)p->x[r * p->ldx + c];
            const double s = (fmax(x, 0) + log1p(exp(-fabs(x)))) * (double)p->gain[c];
            const double u = s <= from ? s : (s + from) * (s + from) / (4 * from);
            p->y[r * p->ldy + c] = (float)(pow(u, (double)p->exponent) * (double)p->mean[c]);
        }
}

bi_value_id bi_unclip(struct bi_graph *g, bi_value_id x, bi_value_id gain, bi_value_id mean,
                      float exponent)
{
    return bi_node_add(g, BI_OP_UNCLIP, BI_IN(x, gain, mean),
                       BI_ATTRS(unclip, .exponent = exponent));
}

static void unclip_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                        unsigned wanted, bi_value_id *dx)
{
    const bi_value_id in[] = {node->in[0], node->in[1], node->in[2], dy[0]};
    if (wanted != 1)
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: unclip has none by its gain or mean");
    else
        dx[0] = bi_unclip_grad(g, in, BI_ATTR(node, unclip)->exponent);
}

const struct bi_op bi_op_unclip = {
    .name = "unclip",
    .infer = unclip_infer,
    .launch = unclip_launch,
    .reference = unclip_reference,
    .cost = bi_cost_bytes,
    .grad = unclip_grad,
    .required = 7,
};
