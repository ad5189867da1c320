/* edge_start.c - edge_start: where the edges of each atom begin; sets how many there are.
 *   report [4], degree [N] -> report, in place, start [N + 1], int32
 * attr: edges = those that there is room for. kernels/atom_edges.h says what the report holds. */
#include <string.h>

#include "atoms.h"

static int edge_start_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int64_t n = bi_in(g, node, 1)->shape[0];
    int st = bi_expect_ints(g, node, 0, BI_REPORT_WORDS, 0, err);
    if (!st)
        st = bi_expect_ints(g, node, 1, n, 0, err);
    if (!st && BI_ATTR(node, edge_start)->edges < 1)
        st = bi_fail(err, BIOINFER_INTERNAL, "edge_start: room for %d edges",
                     BI_ATTR(node, edge_start)->edges);
    if (st)
        return st;
    bi_out_ints(g, node, 0, BI_AXIS_FIXED, BI_REPORT_WORDS, 0);
    bi_out_ints(g, node, 1, BI_AXIS_TOKENS, n + 1, 0);
    return 0;
}

static void edge_start_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edge_start", struct bi_atom_edges_params, .counts = bi_atom_counts(b),
              .report = b->out[0], .degree = b->in[1], .start = b->out[1],
              .rows = bi_in(g, node, 1)->shape[0], .capacity = BI_ATTR(node, edge_start)->edges);
}

static void edge_start_reference(const void *params)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        p->start[i] = sum > INT32_MAX ? INT32_MAX : (int32_t)sum;
        sum += bi_edge_degree(p, i);
        if (p->degree[i] < 0)
            p->report[BI_REPORT_TOUCHES] = 1;
    }
    p->start[n] = (int32_t)sum;
    if (sum > p->capacity)
        memset(p->start, 0, (size_t)(n + 1) * sizeof *p->start);
    bi_edge_report(p, sum);
}

/* Returns the changed report. */
bi_value_id bi_edge_start(struct bi_graph *g, bi_value_id report, bi_value_id degree,
                          int64_t n_edges, bi_value_id *start)
{
    const bi_value_id id = bi_node_add(g, BI_OP_EDGE_START, BI_IN(report, degree),
                                       BI_ATTRS(edge_start, .edges = (int32_t)n_edges));
    *start = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_edge_start = {
    .name = "edge_start",
    .infer = edge_start_infer,
    .launch = edge_start_launch,
    .reference = edge_start_reference,
    .cost = bi_cost_bytes,
    .required = 3,
    .in_place = true,
};
