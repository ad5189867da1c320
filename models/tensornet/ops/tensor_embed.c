/* tensor_embed.c - tensor_embed: the first matrices of atoms, sums over their edges.
 *   vector [E, 3], start [N + 1], col, reverse [E], code [N], own, other [kinds, F],
 *   table [knots, 12 F], self [F]? -> [N, F], [3 N, F], [5 N, F]
 * cutoff: in the unit of the vectors. */
#include <math.h>
#include <string.h>

#include "tensors.h"

static int embed_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *own = bi_in(g, node, 5);
    const int64_t width = own->rank == 2 ? own->shape[1] : 0, n = bi_in(g, node, 4)->shape[0];
    int st = bi_expect_edge_list(g, node, 7, width, BI_ATTR(node, tensor_embed)->cutoff, err);
    if (!st)
        st = bi_expect(g, node, 6, 2, width, err);
    if (!st && bi_in(g, node, 8))
        st = bi_expect(g, node, 8, 1, width, err);
    if (!st && (own->shape[0] != bi_in(g, node, 6)->shape[0] ||
                bi_in(g, node, 4)->dtype != BI_I32 || bi_in(g, node, 1)->shape[0] != n + 1))
        st = bi_fail(err, BIOINFER_INTERNAL, "tensor_embed: code %s, own %s, other %s, start %s",
                     bi_shape_text(bi_in(g, node, 4)).text, bi_shape_text(own).text,
                     bi_shape_text(bi_in(g, node, 6)).text, bi_shape_text(bi_in(g, node, 1)).text);
    if (st)
        return st;
    bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2, (int64_t[]){n, width});
    bi_out_shape(g, node, 1, BI_AXIS_VECTORS, 2, (int64_t[]){3 * n, width});
    bi_out_shape(g, node, 2, BI_AXIS_TENSORS, 2, (int64_t[]){5 * n, width});
    return 0;
}

static void embed_launch(const struct bi_graph *g, const struct bi_node *node,
                         const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "tensor_embed", struct bi_tensor_embed_params,
              .edges = bi_edge_list_of(g, node, b, 0, 7, bi_in(g, node, 5)->shape[1],
                                       BI_ATTR(node, tensor_embed)->cutoff),
              .code = b->in[4], .own = b->in[5], .other = b->in[6], .self = b->in[8],
              .y = {b->out[0], b->out[1], b->out[2]});
}

/* Adds edge e of atom i, kinds a and b, to the nine sums of channel f. */
static void add_edge(const struct bi_tensor_embed_params *p, int64_t e, int64_t f, double z,
                     double sum[9])
{
    const struct bi_edge_list *l = &p->edges;
    double u[3], slope;
    const double r = bi_ref_edge_length(l, e, u);
    const double s[5] = {sqrt(2) * u[0] * u[1], sqrt(2) * u[0] * u[2], sqrt(2) * u[1] * u[2],
                         (u[0] * u[0] - u[1] * u[1]) / sqrt(2),
                         (2 * u[2] * u[2] - u[0] * u[0] - u[1] * u[1]) / sqrt(6)};
    sum[0] += sqrt(3) * z * bi_ref_edge_factor(l, r, 0, f, &slope);
    for (int k = 0; k < 3; k++)
        sum[1 + k] += sqrt(2) * z * u[k] * bi_ref_edge_factor(l, r, 1, f, &slope);
    for (int k = 0; k < 5; k++)
        sum[4 + k] += z * s[k] * bi_ref_edge_factor(l, r, 2, f, &slope);
}

static void embed_reference(const void *params)
{
    const struct bi_tensor_embed_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const int64_t n = bi_live_rows(l->counts, BI_AXIS_TOKENS, l->rows), w = l->width;
    for (int64_t at = 0; at < n * w; at++) {
        const int64_t i = at / w, f = at % w;
        const double own = (double)p->own[p->code[i] * w + f];
        double sum[9] = {0};
        for (int64_t e = l->start[i]; e < l->start[i + 1]; e++)
            add_edge(p, e, f, own + (double)p->other[p->code[l->col[e]] * w + f], sum);
        if (p->self)
            sum[0] += sqrt(3) * (double)p->self[f] * (own + (double)p->other[p->code[i] * w + f]);
        p->y[0][i * w + f] = (float)sum[0];
        for (int k = 0; k < 3; k++)
            p->y[1][(3 * i + k) * w + f] = (float)sum[1 + k];
        for (int k = 0; k < 5; k++)
            p->y[2][(5 * i + k) * w + f] = (float)sum[4 + k];
    }
}

static void embed_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                       double *bytes)
{
    const double n = (double)bi_in(g, node, 0)->shape[0] * (double)bi_in(g, node, 5)->shape[1];
    *flops = 48 * n;
    *bytes = 4 * 13 * n + bi_bytes(g, node);
}

static void embed_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                       unsigned wanted, bi_value_id *dx)
{
    (void)wanted; /* all else is a number of the model or of the batch */
    dx[0] = bi_tensor_embed_grad(g, node->in, dy, BI_ATTR(node, tensor_embed)->cutoff);
}

/* own, other: numbers that the kinds of an atom and of its neighbour add to Z. self: the first
 * factor of an edge from each atom to itself, BI_NONE = there is none. */
bi_value_id bi_tensor_embed(struct bi_graph *g, const struct bi_edge_values *edges,
                            bi_value_id code, bi_value_id own, bi_value_id other, bi_value_id table,
                            bi_value_id self, float cutoff)
{
    return bi_node_add(g, BI_OP_TENSOR_EMBED,
                       BI_IN(edges->vector, edges->start, edges->col, edges->reverse, code, own,
                             other, table, self),
                       BI_ATTRS(tensor_embed, .cutoff = cutoff));
}

const struct bi_op bi_op_tensor_embed = {
    .name = "tensor_embed",
    .infer = embed_infer,
    .launch = embed_launch,
    .reference = embed_reference,
    .cost = embed_cost,
    .grad = embed_grad,
    .required = 255,
};
