/* edge_concat.c - edge_concat: both ends of an edge and itself.
 *   h [N, D], e [N k, C], index [N, k] -> [N k, 2 D + C] = [h_i | e_ij | h_j] */
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int edge_concat_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *h = bi_in(g, node, 0), *e = bi_in(g, node, 1),
                          *index = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 2, 2, -1, err);
    if (!st && (index->shape[0] != h->shape[0] || e->shape[0] != h->shape[0] * index->shape[1]))
        st = bi_fail(err, BIOINFER_INTERNAL, "edge_concat: h %s, e %s, index %s",
                     bi_shape_text(h).text, bi_shape_text(e).text, bi_shape_text(index).text);
    if (!st)
        bi_out_shape(g, node, 0, e->axis, 2,
                     (int64_t[]){e->shape[0], 2 * h->shape[1] + e->shape[1]});
    return st;
}

static void edge_concat_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *h = bi_in(g, node, 0);
    BI_LAUNCH(launch, "edge_concat", struct bi_edge_concat_params, .counts = b->counts,
              .h = b->in[0], .e = b->in[1], .index = b->in[2], .y = b->out[0], .rows = h->shape[0],
              .width = (int32_t)h->shape[1], .edge_width = (int32_t)bi_in(g, node, 1)->shape[1],
              .k = (int32_t)bi_in(g, node, 2)->shape[1]);
}

static void edge_concat_reference(const void *params)
{
    const struct bi_edge_concat_params *p = params;
    int64_t edges = (int64_t)p->counts->n_tokens * p->k, width = 2 * p->width + p->edge_width;
    size_t row = (size_t)p->width * sizeof *p->y;
    for (int64_t e = 0; e < edges; e++) {
        float *y = p->y + e * width;
        if (p->index[e] < 0) {
            memset(y, 0, (size_t)width * sizeof *y);
            continue;
        }
        memcpy(y, p->h + e / p->k * p->width, row);
        memcpy(y + p->width, p->e + e * p->edge_width, (size_t)p->edge_width * sizeof *y);
        memcpy(y + p->width + p->edge_width, p->h + (int64_t)p->index[e] * p->width, row);
    }
}

bi_value_id bi_edge_concat(struct bi_graph *g, bi_value_id h, bi_value_id e, bi_value_id index)
{
    return bi_node_add(g, BI_OP_EDGE_CONCAT, BI_IN(h, e, index), NULL);
}

const struct bi_op bi_op_edge_concat = {
    .name = "edge_concat",
    .infer = edge_concat_infer,
    .launch = edge_concat_launch,
    .reference = edge_concat_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
