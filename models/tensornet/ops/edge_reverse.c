/* edge_reverse.c - edge_reverse: the edge that leads back along each edge.
 *   start [N + 1], col [E], key [E, 2] -> [E], int32 (kernels/atom_edges.h) */
#include <string.h>

#include "atoms.h"

static int edge_reverse_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int64_t edges = bi_in(g, node, 1)->shape[0];
    int st = bi_expect_ints(g, node, 0, bi_in(g, node, 0)->shape[0], 0, err);
    if (!st)
        st = bi_expect_ints(g, node, 1, edges, 0, err);
    if (!st)
        st = bi_expect_ints(g, node, 2, edges, 2, err);
    if (!st)
        bi_out_ints(g, node, 0, BI_AXIS_EDGES, edges, 0);
    return st;
}

static void edge_reverse_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edge_reverse", struct bi_atom_edges_params, .counts = bi_atom_counts(b),
              .start = b->in[0], .col = b->in[1], .key = b->in[2], .reverse = b->out[0],
              .rows = bi_in(g, node, 0)->shape[0] - 1, .capacity = bi_in(g, node, 1)->shape[0]);
}

/* Looks at each edge of the other atom. */
static void edge_reverse_reference(const void *params)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    for (int64_t i = 0; i < n; i++)
        for (int32_t e = p->start[i]; e < p->start[i + 1]; e++) {
            int32_t image[3];
            bi_edge_image(p->key[e], 1, image);
            for (int32_t k = p->start[p->col[e]]; k < p->start[p->col[e] + 1]; k++)
                if (p->key[k] == bi_edge_key((int32_t)i, image))
                    p->reverse[e] = k;
        }
}

bi_value_id bi_edge_reverse(struct bi_graph *g, bi_value_id start, bi_value_id col, bi_value_id key)
{
    return bi_node_add(g, BI_OP_EDGE_REVERSE, BI_IN(start, col, key), NULL);
}

const struct bi_op bi_op_edge_reverse = {
    .name = "edge_reverse",
    .infer = edge_reverse_infer,
    .launch = edge_reverse_launch,
    .reference = edge_reverse_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
