/* rbf.c - rbf: distances along edges as Gaussians.
 *   x [N, 3 A], index [N, k], distance [N, k], pairs [P, 2] -> [N k, 16 P] */
#include <math.h>
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int rbf_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *index = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 2, 2, index->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 3, 2, 2, err);
    if (!st &&
        (x->shape[1] % 3 || x->shape[1] > 3 * BI_ATOMS_MAX || index->shape[1] > BI_NEIGHBORS_MAX))
        st = bi_fail(err, BIOINFER_INTERNAL, "rbf: x %s, index %s", bi_shape_text(x).text,
                     bi_shape_text(index).text);
    if (!st)
        bi_out_shape(
            g, node, 0, BI_AXIS_EDGES, 2,
            (int64_t[]){x->shape[0] * index->shape[1], BI_RBF_BINS * bi_in(g, node, 3)->shape[0]});
    return st;
}

static void rbf_launch(const struct bi_graph *g, const struct bi_node *node,
                       const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "rbf", struct bi_rbf_params, .counts = b->counts, .x = b->in[0],
              .index = b->in[1], .distance = b->in[2], .pairs = b->in[3], .y = b->out[0],
              .rows = x->shape[0], .width = (int32_t)x->shape[1],
              .k = (int32_t)bi_in(g, node, 1)->shape[1],
              .n_pairs = (int32_t)bi_in(g, node, 3)->shape[0]);
}

static void rbf_reference(const void *params)
{
    const struct bi_rbf_params *p = params;
    int64_t edges = (int64_t)p->counts->n_tokens * p->k, width = BI_RBF_BINS * p->n_pairs;
    for (int64_t e = 0; e < edges; e++) {
        const float *a = p->x + e / p->k * p->width;
        const float *b = p->x + (int64_t)p->index[e] * p->width;
        for (int32_t i = 0; i < p->n_pairs; i++) {
            float *y = p->y + e * width + i * BI_RBF_BINS;
            double sum = 1e-6, d;
            if (p->index[e] < 0) {
                memset(y, 0, BI_RBF_BINS * sizeof *y);
                continue;
            }
            for (int c = 0; c < 3; c++) {
                double x = (double)a[3 * (int)p->pairs[2 * i] + c] -
                           (double)b[3 * (int)p->pairs[2 * i + 1] + c];
                sum += x * x;
            }
            d = i ? sqrt(sum) : (double)p->distance[e];
            for (int n = 0; n < BI_RBF_BINS; n++) {
                double z = (d - (2 + 20.0 * n / 15)) / 1.25;
                y[n] = (float)exp(-z * z);
            }
        }
    }
}

static void rbf_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                     double *bytes)
{
    *flops = 20.0 * (double)bi_value_elements(&g->values[node->out[0]]);
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_rbf(struct bi_graph *g, bi_value_id x, bi_value_id index, bi_value_id distance,
                   bi_value_id pairs)
{
    return bi_node_add(g, BI_OP_RBF, BI_IN(x, index, distance, pairs), NULL);
}

const struct bi_op bi_op_rbf = {
    .name = "rbf",
    .infer = rbf_infer,
    .launch = rbf_launch,
    .reference = rbf_reference,
    .cost = rbf_cost,
    .required = 15,
};
