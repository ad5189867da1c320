/* edge_message.c - edge_message: neighbor_sum(gelu(w gelu(edge_sum) + b)).
 *   the ten inputs of edge_sum, w [D, D], b [D], mask [N]? -> sum [R, D], weight [R]
 * Rows of the activations between the two products never leave fast memory. */
#include <string.h>

#include "edges.h"

static int edge_message_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *self = bi_in(g, node, 1);
    int64_t width;
    int st = bi_expect_edges(g, node, BI_ATTR(node, edge_message)->k, err);
    if (st)
        return st;
    width = self->shape[1];
    st = bi_expect(g, node, 10, 2, width, err);
    if (!st)
        st = bi_expect(g, node, 11, 1, width, err);
    if (!st && (bi_in(g, node, 10)->shape[0] != width || width > 128))
        st = bi_fail(err, BIOINFER_INTERNAL, "edge_message: w %s of width %lld",
                     bi_shape_text(bi_in(g, node, 10)).text, (long long)width);
    if (st)
        return st;
    bi_out_shape(g, node, 0, self->axis, 2, (int64_t[]){self->shape[0], width});
    bi_out_shape(g, node, 1, self->axis, 1, (int64_t[]){self->shape[0]});
    return 0;
}

static void edge_message_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *self = bi_in(g, node, 1);
    BI_LAUNCH(launch, "edge_message", struct bi_edge_message_params, .counts = b->counts,
              .terms = bi_edge_terms_of(g, node, b, BI_ATTR(node, edge_message)->k), .w = b->in[10],
              .b = b->in[11], .mask = b->in[12], .sum = b->out[0], .weight = b->out[1],
              .rows = self->shape[0], .axis = (int32_t)self->axis,
              .factor = BI_ATTR(node, edge_message)->factor);
}

static void edge_message_reference(const void *params)
{
    const struct bi_edge_message_params *p = params;
    const struct bi_edge_terms *e = &p->terms;
    const float *w = p->w;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    double z[256], sum[256];
    for (int64_t r = 0; r < rows; r++) {
        int64_t token = e->token ? e->token[r] : r;
        double weight = 0;
        memset(sum, 0, sizeof sum);
        for (int n = 0; n < e->k; n++) {
            double m = bi_ref_edge_mask(p->mask, e->index, token, e->k, n);
            weight += m;
            if (m == 0 || !bi_ref_edge(e, r, n, z))
                continue;
            for (int32_t c = 0; c < e->width; c++)
                z[c] = bi_ref_gelu(z[c]);
            for (int32_t c = 0; c < e->width; c++) {
                double y = (double)p->b[c];
                for (int32_t i = 0; i < e->width; i++)
                    y += z[i] * (double)w[(int64_t)c * e->width + i];
                sum[c] += m * bi_ref_gelu(y);
            }
        }
        for (int32_t c = 0; c < e->width; c++)
            p->sum[r * e->width + c] = (float)(sum[c] * (double)p->factor);
        p->weight[r] = (float)(weight * (double)p->factor);
    }
}

static void edge_message_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                              double *bytes)
{
    const struct bi_value *self = bi_in(g, node, 1);
    *flops = 2.0 * (double)self->shape[0] * BI_ATTR(node, edge_message)->k *
             (double)self->shape[1] * (double)self->shape[1];
    *bytes = bi_bytes(g, node);
}

const struct bi_op bi_op_edge_message = {
    .name = "edge_message",
    .infer = edge_message_infer,
    .launch = edge_message_launch,
    .reference = edge_message_reference,
    .cost = edge_message_cost,
    .required = 0xc03,
    .layout = {[10] = BI_LAYOUT_PANELS},
};
