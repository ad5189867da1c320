/* tensor_message_grad.c - tensor_message_grad: the derivative of tensor_message.
 *   inputs of tensor_message, and that by its outputs (BI_NONE = 0), and what is added to results:
 *   three parts? and [E, 3]? (rule tensor_sums)
 *   -> that by Y: [N, F], [3 N, F], [5 N, F], and that by the vectors: [E, 3]
 * An atom's derivative gathers from the atoms that it sends to, and these are its neighbours (own:
 * itself): one visit of each edge serves both. */
#include <string.h>

#include "tensors.h"

static int message_grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *y = bi_in(g, node, 4);
    int st = bi_expect_edge_list(g, node, 7, y->shape[1],
                                 BI_ATTR(node, tensor_message_grad)->cutoff, err);
    for (int k = 0; !st && k < 3; k++)
        if (bi_in(g, node, 9 + k) && !(st = bi_expect(g, node, 9 + k, 2, y->shape[1], err)) &&
            bi_in(g, node, 9 + k)->shape[0] != (2 * k + 1) * y->shape[0])
            st = bi_fail(err, BIOINFER_INTERNAL, "tensor_message_grad: derivative %d %s beside %s",
                         k, bi_shape_text(bi_in(g, node, 9 + k)).text, bi_shape_text(y).text);
    for (int k = 0; !st && k < 3 && bi_in(g, node, 12); k++)
        st = bi_expect_same(g, node, 12 + k, 4 + k, err);
    if (!st && bi_in(g, node, 15))
        st = bi_expect_same(g, node, 15, 0, err);
    for (int k = 0; !st && k < 3; k++)
        bi_out_like(g, node, k, 4 + k);
    if (!st)
        bi_out_like(g, node, 3, 0);
    return st;
}

static void message_grad_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "tensor_message_grad", struct bi_tensor_message_params,
              .edges = bi_edge_list_of(g, node, b, 0, 7, bi_in(g, node, 4)->shape[1],
                                       BI_ATTR(node, tensor_message_grad)->cutoff),
              .x = {b->in[4], b->in[5], b->in[6]}, .self = b->in[8],
              .g = {b->in[9], b->in[10], b->in[11]}, .y = {b->out[0], b->out[1], b->out[2]},
              .dvector = b->out[3], .more = {b->in[12], b->in[13], b->in[14]},
              .more_vector = b->in[15]);
    if (BI_ATTR(node, tensor_message_grad)->own)
        ((struct bi_tensor_message_params *)launch->params)->edges.reverse = NULL;
}

/* The sum over channels of f_k' x_k[i] . g_k[j], j the neighbour of edge e, or own: i. */
static double by_length(const struct bi_tensor_message_params *p, int64_t i, int64_t e, double r)
{
    const struct bi_edge_list *l = &p->edges;
    double sum = 0, slope;
    for (int k = 0; k < 3; k++)
        for (int c = 0; p->g[k] && c <= 2 * k; c++)
            for (int64_t f = 0; f < l->width; f++) {
                const int64_t m = 2 * k + 1, w = l->width;
                bi_ref_edge_factor(l, r, k, f, &slope);
                sum += slope * (double)p->x[k][(i * m + c) * w + f] *
                       (double)p->g[k][(bi_message_from(l, i, e) * m + c) * w + f];
            }
    return sum;
}

static void message_grad_reference(const void *params)
{
    const struct bi_tensor_message_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const int64_t n = bi_live_rows(l->counts, BI_AXIS_TOKENS, l->rows);
    for (int k = 0; k < 3; k++)
        if (!p->g[k])
            memset(p->y[k], 0, sizeof(float) * (size_t)(n * (2 * k + 1)) * (size_t)l->width);
    /* the derivative by Y is the message of the derivatives */
    for (int k = 0; k < 3; k++)
        for (int64_t at = 0; p->g[k] && at < n * (2 * k + 1) * l->width; at++) {
            const int64_t m = 2 * k + 1, w = l->width, i = at / (m * w), c = at / w % m, f = at % w;
            double u[3], slope, sum = 0;
            for (int64_t e = l->start[i]; e < l->start[i + 1]; e++)
                sum += bi_ref_edge_factor(l, bi_ref_edge_length(l, e, u), k, f, &slope) *
                       (double)p->g[k][(bi_message_from(l, i, e) * m + c) * w + f];
            if (p->self)
                sum += (double)p->self[k * w + f] * (double)p->g[k][(i * m + c) * w + f];
            p->y[k][at] = (float)sum;
        }
    for (int k = 0; k < 3 && p->more[0]; k++)
        for (int64_t at = 0; at < n * (2 * k + 1) * l->width; at++)
            p->y[k][at] += p->more[k][at];
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = l->start[i]; e < l->start[i + 1]; e++) {
            double u[3];
            float sign;
            const int64_t back = bi_message_back(l, e, &sign);
            const double by = (double)sign * by_length(p, i, e, bi_ref_edge_length(l, e, u));
            for (int c = 0; c < 3; c++) {
                const int64_t at = 3 * back + c;
                p->dvector[at] = (float)(by * u[c]) + (p->more_vector ? p->more_vector[at] : 0);
            }
        }
}

static void message_grad_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                              double *bytes)
{
    const double n = (double)bi_in(g, node, 0)->shape[0] * (double)bi_in(g, node, 4)->shape[1];
    *flops = 84 * n;
    *bytes = 4 * 21 * n + bi_bytes(g, node);
}

/* in: the inputs of tensor_message. */
bi_value_id bi_tensor_message_grad(struct bi_graph *g, const bi_value_id in[9],
                                   const bi_value_id dm[3], float cutoff, bool own)
{
    return bi_node_add(
        g, BI_OP_TENSOR_MESSAGE_GRAD,
        BI_IN(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], in[8], dm[0], dm[1], dm[2]),
        BI_ATTRS(tensor_message_grad, .cutoff = cutoff, .own = own));
}

const struct bi_op bi_op_tensor_message_grad = {
    .name = "tensor_message_grad",
    .infer = message_grad_infer,
    .launch = message_grad_launch,
    .reference = message_grad_reference,
    .cost = message_grad_cost,
    .required = 255,
};
