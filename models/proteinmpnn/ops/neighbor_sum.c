/* neighbor_sum.c - neighbor_sum: the messages of a residue's edges, added up.
 *   x [R k, D], mask [N]?, index [N, k]?, token [R]? -> sum [R, D], weight [R]
 * Formula: kernels/edges.h. */
#include <string.h>

#include "edges.h"

static enum bi_axis rows_of(enum bi_axis edges)
{
    return edges == BI_AXIS_SAMPLE_EDGES    ? BI_AXIS_SAMPLES
           : edges == BI_AXIS_SAMPLED_EDGES ? BI_AXIS_SAMPLED
           : edges == BI_AXIS_PAIRS         ? BI_AXIS_ATOMS
                                            : BI_AXIS_TOKENS;
}

static int neighbor_sum_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int64_t k = BI_ATTR(node, neighbor_sum)->k;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && bi_in(g, node, 2))
        st = bi_expect(g, node, 2, 2, k, err);
    if (!st && (k < 1 || k > BI_NEIGHBORS_MAX || x->shape[0] % k))
        st = bi_fail(err, BIOINFER_INTERNAL, "neighbor_sum: x %s of %lld neighbours",
                     bi_shape_text(x).text, (long long)k);
    if (st)
        return st;
    bi_out_shape(g, node, 0, rows_of(x->axis), 2, (int64_t[]){x->shape[0] / k, x->shape[1]});
    bi_out_shape(g, node, 1, rows_of(x->axis), 1, (int64_t[]){x->shape[0] / k});
    return 0;
}

static void neighbor_sum_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *sum = &g->values[node->out[0]];
    BI_LAUNCH(launch, "neighbor_sum", struct bi_neighbor_sum_params, .counts = b->counts,
              .x = b->in[0], .mask = b->in[1], .index = b->in[2], .token = b->in[3],
              .sum = b->out[0], .weight = b->out[1], .rows = sum->shape[0],
              .axis = (int32_t)sum->axis, .width = (int32_t)sum->shape[1],
              .k = BI_ATTR(node, neighbor_sum)->k, .factor = BI_ATTR(node, neighbor_sum)->factor);
}

double bi_ref_edge_mask(const float *mask, const int32_t *index, int64_t token, int32_t k, int n)
{
    int64_t j = index ? index[token * k + n] : token * k + n;
    if (j < 0)
        return 0;
    return !mask ? 1 : index ? (double)mask[token] * (double)mask[j] : (double)mask[j];
}

static void neighbor_sum_reference(const void *params)
{
    const struct bi_neighbor_sum_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        int64_t token = p->token ? p->token[r] : r;
        double weight = 0;
        for (int n = 0; n < p->k; n++)
            weight += bi_ref_edge_mask(p->mask, p->index, token, p->k, n);
        for (int32_t c = 0; c < p->width; c++) {
            double sum = 0;
            for (int n = 0; n < p->k; n++) {
                double m = bi_ref_edge_mask(p->mask, p->index, token, p->k, n);
                if (m != 0)
                    sum += m * (double)p->x[(r * p->k + n) * p->width + c];
            }
            p->sum[r * p->width + c] = (float)(sum * (double)p->factor);
        }
        p->weight[r] = (float)(weight * (double)p->factor);
    }
}

/* Sum over the neighbours of each row times factor, mask [N] of both ends or BI_NONE; *weight
 * [R]: the factors' own sum. */
bi_value_id bi_neighbor_sum(struct bi_graph *g, bi_value_id x, bi_value_id mask, bi_value_id index,
                            bi_value_id token, int32_t k, float factor, bi_value_id *weight)
{
    bi_value_id id = bi_node_add(g, BI_OP_NEIGHBOR_SUM, BI_IN(x, mask, index, token),
                                 BI_ATTRS(neighbor_sum, .k = k, .factor = factor));
    *weight = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_neighbor_sum = {
    .name = "neighbor_sum",
    .infer = neighbor_sum_infer,
    .launch = neighbor_sum_launch,
    .reference = neighbor_sum_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
