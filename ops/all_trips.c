/* all_trips.c - a view: the rows that the trips of a stage make, those of trip 0 first.
 *
 * x [R] or [R, D] of each trip -> [trips R] or [trips R, D]; nothing runs, as each trip writes x
 * where its rows are. */
#include "shared.h"

static int all_trips_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const bool made = x->kind == BI_VALUE_NODE;
    const int32_t trips = made ? bi_graph_trips(g, g->nodes[x->node].phase) : 1;
    int st = bi_expect(g, node, 0, x->rank == 1 ? 1 : 2, -1, err);
    if (!st && (trips == 1 || bi_graph_trips(g, node->phase) > 1))
        st = bi_fail(err, BIOINFER_INTERNAL, "all_trips: of a value that no ended stage makes");
    if (!st && x->axis != BI_AXIS_FIXED)
        st = bi_fail(err, BIOINFER_INTERNAL, "all_trips: of counted rows");
    if (st)
        return st;
    bi_out_shape(g, node, 0, BI_AXIS_FIXED, x->rank, (int64_t[]){trips * x->shape[0], x->shape[1]});
    if (x->dtype == BI_I32)
        bi_out(g, node, 0)->dtype = BI_I32;
    return 0;
}

static int64_t all_trips_first(const struct bi_node *node)
{
    (void)node;
    return 0;
}

static void all_trips_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    (void)g;
    (void)node;
    *flops = *bytes = 0;
}

/* x itself where its stage has one trip. */
bi_value_id bi_all_trips(struct bi_graph *g, bi_value_id x)
{
    const struct bi_value *v = g->status ? NULL : &g->values[x];
    if (v && (v->kind != BI_VALUE_NODE || bi_graph_trips(g, g->nodes[v->node].phase) == 1))
        return x;
    return bi_node_add(g, BI_OP_ALL_TRIPS, BI_IN(x), NULL);
}

const struct bi_op bi_op_all_trips = {
    .name = "all_trips",
    .infer = all_trips_infer,
    .cost = all_trips_cost,
    .first = all_trips_first,
    .view = BI_VIEW_TRIPS,
    .required = 1,
};
