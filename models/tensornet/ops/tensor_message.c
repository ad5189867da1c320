/* tensor_message.c - tensor_message: what atoms get of the matrices of their neighbours.
 *   vector [E, 3], start [N + 1], col, reverse [E], Y, table [knots, 12 F], self [3 F]?
 *   -> [N, F], [3 N, F], [5 N, F]
 * cutoff: in the unit of the vectors; own: an atom gets its own matrix for each neighbour. */
#include <string.h>

#include "tensors.h"

static int message_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *y = bi_in(g, node, 4);
    int st = bi_expect(g, node, 4, 2, -1, err);
    if (!st)
        st = bi_expect_edge_list(g, node, 7, y->shape[1], BI_ATTR(node, tensor_message)->cutoff,
                                 err);
    for (int k = 1; !st && k < 3; k++)
        if (!(st = bi_expect(g, node, 4 + k, 2, y->shape[1], err)) &&
            bi_in(g, node, 4 + k)->shape[0] != (2 * k + 1) * y->shape[0])
            st = bi_fail(err, BIOINFER_INTERNAL, "tensor_message: part %d %s beside %s", k,
                         bi_shape_text(bi_in(g, node, 4 + k)).text, bi_shape_text(y).text);
    if (!st && bi_in(g, node, 8))
        st = bi_expect(g, node, 8, 1, 3 * y->shape[1], err);
    if (!st && bi_in(g, node, 1)->shape[0] != y->shape[0] + 1)
        st = bi_fail(err, BIOINFER_INTERNAL, "tensor_message: start %s of %lld atoms",
                     bi_shape_text(bi_in(g, node, 1)).text, (long long)y->shape[0]);
    for (int k = 0; !st && k < 3; k++)
        bi_out_like(g, node, k, 4 + k);
    return st;
}

static void message_launch(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "tensor_message", struct bi_tensor_message_params,
              .edges = bi_edge_list_of(g, node, b, 0, 7, bi_in(g, node, 4)->shape[1],
                                       BI_ATTR(node, tensor_message)->cutoff),
              .x = {b->in[4], b->in[5], b->in[6]}, .self = b->in[8],
              .y = {b->out[0], b->out[1], b->out[2]});
    if (BI_ATTR(node, tensor_message)->own)
        ((struct bi_tensor_message_params *)launch->params)->edges.reverse = NULL;
}

static void message_reference(const void *params)
{
    const struct bi_tensor_message_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const int64_t n = bi_live_rows(l->counts, BI_AXIS_TOKENS, l->rows), w = l->width;
    for (int64_t at = 0; at < n * w; at++) {
        const int64_t i = at / w, f = at % w;
        for (int k = 0; k < 3; k++)
            for (int c = 0; c <= 2 * k; c++) {
                const int64_t m = 2 * k + 1;
                double u[3], slope, sum = 0;
                for (int64_t e = l->start[i]; e < l->start[i + 1]; e++)
                    sum += bi_ref_edge_factor(l, bi_ref_edge_length(l, e, u), k, f, &slope) *
                           (double)p->x[k][(bi_message_from(l, i, e) * m + c) * w + f];
                if (p->self)
                    sum += (double)p->self[k * w + f] * (double)p->x[k][(i * m + c) * w + f];
                p->y[k][(i * m + c) * w + f] = (float)sum;
            }
    }
}

static void message_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                         double *bytes)
{
    const double n = (double)bi_in(g, node, 0)->shape[0] * (double)bi_in(g, node, 4)->shape[1];
    *flops = 42 * n;
    *bytes = 4 * 21 * n + bi_bytes(g, node);
}

static void message_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                         unsigned wanted, bi_value_id *dx)
{
    bi_value_id out[4];
    (void)wanted; /* vectors and Y; the table is the model's */
    bi_node_outputs(g,
                    bi_tensor_message_grad(g, node->in, dy, BI_ATTR(node, tensor_message)->cutoff,
                                           BI_ATTR(node, tensor_message)->own != 0),
                    out, 4);
    for (int k = 0; k < 3; k++)
        dx[4 + k] = out[k];
    dx[0] = out[3];
}

/* self: factors of an edge from each atom to itself, BI_NONE = there is none. */
bi_value_id bi_tensor_message(struct bi_graph *g, const struct bi_edge_values *edges,
                              const bi_value_id y[3], bi_value_id table, bi_value_id self,
                              float cutoff, bool own)
{
    return bi_node_add(g, BI_OP_TENSOR_MESSAGE,
                       BI_IN(edges->vector, edges->start, edges->col, edges->reverse, y[0], y[1],
                             y[2], table, self),
                       BI_ATTRS(tensor_message, .cutoff = cutoff, .own = own));
}

const struct bi_op bi_op_tensor_message = {
    .name = "tensor_message",
    .infer = message_infer,
    .launch = message_launch,
    .reference = message_reference,
    .cost = message_cost,
    .grad = message_grad,
    .required = 255,
};
