/* tensor_embed_grad.c - the derivative of tensor_embed by the vectors of edges.
 *   inputs of tensor_embed, and that by its outputs (BI_NONE = 0), and what is added to the result,
 *   [E, 3]? (rule tensor_sums) -> [E, 3]
 * Let u = v / r and h = sum of g_k . y_k over channels:
 * dv = (dh/dr) u + (1 - u u^T) (dh/du) / r. */
#include <math.h>
#include <string.h>

#include "tensors.h"

static int embed_grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int64_t width = bi_in(g, node, 5)->shape[1], n = bi_in(g, node, 4)->shape[0];
    static const int numbers[3] = {1, 3, 5};
    int st = bi_expect_edge_list(g, node, 7, width, BI_ATTR(node, tensor_embed_grad)->cutoff, err);
    for (int k = 0; !st && k < 3; k++)
        if (bi_in(g, node, 9 + k) && !(st = bi_expect(g, node, 9 + k, 2, width, err)) &&
            bi_in(g, node, 9 + k)->shape[0] != numbers[k] * n)
            st = bi_fail(err, BIOINFER_INTERNAL,
                         "tensor_embed_grad: derivative %d %s of %lld atoms", k,
                         bi_shape_text(bi_in(g, node, 9 + k)).text, (long long)n);
    if (!st && bi_in(g, node, 12))
        st = bi_expect_same(g, node, 12, 0, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void embed_grad_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "tensor_embed_grad", struct bi_tensor_embed_params,
              .edges = bi_edge_list_of(g, node, b, 0, 7, bi_in(g, node, 5)->shape[1],
                                       BI_ATTR(node, tensor_embed_grad)->cutoff),
              .code = b->in[4], .own = b->in[5], .other = b->in[6],
              .g = {b->in[9], b->in[10], b->in[11]}, .dvector = b->out[0],
              .more_vector = b->in[12]);
}

/* Derivative k of part `part` at atom i, channel f. */
static double derivative(const struct bi_tensor_embed_params *p, int part, int64_t i, int k,
                         int64_t f)
{
    const float *g = p->g[part];
    return g ? (double)g[(i * (2 * part + 1) + k) * p->edges.width + f] : 0;
}

/* Adds what channel f of edge e, of atom i, gives to dh/dr and dh/du. */
static void add_channel(const struct bi_tensor_embed_params *p, int64_t i, int64_t e, int64_t f,
                        double r, const double u[3], double *by_r, double by_u[3])
{
    const struct bi_edge_list *l = &p->edges;
    const double z = (double)p->own[p->code[i] * l->width + f] +
                     (double)p->other[p->code[l->col[e]] * l->width + f];
    double slope[3], value[3], a = 0, d[5];
    for (int k = 0; k < 3; k++)
        value[k] = bi_ref_edge_factor(l, r, k, f, &slope[k]);
    for (int k = 0; k < 5; k++)
        d[k] = derivative(p, 2, i, k, f);
    for (int k = 0; k < 3; k++) {
        a += sqrt(2) * u[k] * derivative(p, 1, i, k, f);
        by_u[k] += z * value[1] * sqrt(2) * derivative(p, 1, i, k, f);
    }
    *by_r += z *
             (slope[0] * sqrt(3) * derivative(p, 0, i, 0, f) + slope[1] * a +
              slope[2] * (sqrt(2) * (u[0] * u[1] * d[0] + u[0] * u[2] * d[1] + u[1] * u[2] * d[2]) +
                          (u[0] * u[0] - u[1] * u[1]) / sqrt(2) * d[3] +
                          (2 * u[2] * u[2] - u[0] * u[0] - u[1] * u[1]) / sqrt(6) * d[4]));
    by_u[0] += z * value[2] *
               (sqrt(2) * (u[1] * d[0] + u[2] * d[1] + u[0] * d[3]) - 2 / sqrt(6) * u[0] * d[4]);
    by_u[1] += z * value[2] *
               (sqrt(2) * (u[0] * d[0] + u[2] * d[2] - u[1] * d[3]) - 2 / sqrt(6) * u[1] * d[4]);
    by_u[2] += z * value[2] * (sqrt(2) * (u[0] * d[1] + u[1] * d[2]) + 4 / sqrt(6) * u[2] * d[4]);
}

static void embed_grad_reference(const void *params)
{
    const struct bi_tensor_embed_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const int64_t n = bi_live_rows(l->counts, BI_AXIS_TOKENS, l->rows);
    for (int64_t i = 0; i < n; i++)
        for (int64_t e = l->start[i]; e < l->start[i + 1]; e++) {
            double u[3], by_r = 0, by_u[3] = {0}, along = 0;
            const double r = bi_ref_edge_length(l, e, u);
            for (int64_t f = 0; f < l->width; f++)
                add_channel(p, i, e, f, r, u, &by_r, by_u);
            for (int k = 0; k < 3; k++)
                along += u[k] * by_u[k];
            for (int k = 0; k < 3; k++)
                p->dvector[3 * e + k] = (float)(by_r * u[k] + (by_u[k] - along * u[k]) / r) +
                                        (p->more_vector ? p->more_vector[3 * e + k] : 0);
        }
}

static void embed_grad_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                            double *bytes)
{
    const double n = (double)bi_in(g, node, 0)->shape[0] * (double)bi_in(g, node, 5)->shape[1];
    *flops = 100 * n;
    *bytes = 4 * 13 * n + bi_bytes(g, node);
}

/* in: the inputs of tensor_embed. */
bi_value_id bi_tensor_embed_grad(struct bi_graph *g, const bi_value_id in[9],
                                 const bi_value_id dx[3], float cutoff)
{
    return bi_node_add(
        g, BI_OP_TENSOR_EMBED_GRAD,
        BI_IN(in[0], in[1], in[2], in[3], in[4], in[5], in[6], in[7], BI_NONE, dx[0], dx[1], dx[2]),
        BI_ATTRS(tensor_embed_grad, .cutoff = cutoff));
}

const struct bi_op bi_op_tensor_embed_grad = {
    .name = "tensor_embed_grad",
    .infer = embed_grad_infer,
    .launch = embed_grad_launch,
    .reference = embed_grad_reference,
    .cost = embed_grad_cost,
    .required = 255,
};
