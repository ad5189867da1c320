/* edge_forces.c - edge_forces: forces and virials from the derivatives by the vectors of edges.
 *   d [E, 3], vector [E, 3], start [N + 1], col, reverse [E] -> [N, 12] */
#include <string.h>

#include "tensors.h"

static int edge_forces_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, 3, err);
    if (!st)
        st = bi_expect_edge_list(g, node, -1, 0, 0, err);
    if (!st && bi_in(g, node, 0)->shape[0] != bi_in(g, node, 1)->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "edge_forces: derivatives %s of vectors %s",
                     bi_shape_text(bi_in(g, node, 0)).text, bi_shape_text(bi_in(g, node, 1)).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2,
                     (int64_t[]){bi_in(g, node, 2)->shape[0] - 1, 12});
    return st;
}

static void edge_forces_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edge_forces", struct bi_edge_forces_params,
              .edges = bi_edge_list_of(g, node, b, 1, -1, 0, 0), .d = b->in[0], .y = b->out[0]);
}

static void edge_forces_reference(const void *params)
{
    const struct bi_edge_forces_params *p = params;
    const struct bi_edge_list *l = &p->edges;
    const int64_t n = bi_live_rows(l->counts, BI_AXIS_TOKENS, l->rows);
    for (int64_t i = 0; i < n; i++) {
        double sum[12] = {0};
        for (int64_t e = l->start[i]; e < l->start[i + 1]; e++)
            for (int b = 0; b < 3; b++) {
                const double d = (double)p->d[3 * e + b];
                sum[b] += (double)p->d[3 * (int64_t)l->reverse[e] + b] - d;
                for (int a = 0; a < 3; a++)
                    sum[3 + 3 * a + b] += (double)l->vector[3 * e + a] * d;
            }
        for (int k = 0; k < 12; k++)
            p->y[12 * i + k] = (float)sum[k];
    }
}

bi_value_id bi_edge_forces(struct bi_graph *g, bi_value_id d, const struct bi_edge_values *edges)
{
    return bi_node_add(g, BI_OP_EDGE_FORCES,
                       BI_IN(d, edges->vector, edges->start, edges->col, edges->reverse), NULL);
}

const struct bi_op bi_op_edge_forces = {
    .name = "edge_forces",
    .infer = edge_forces_infer,
    .launch = edge_forces_launch,
    .reference = edge_forces_reference,
    .cost = bi_cost_bytes,
    .required = 31,
};
