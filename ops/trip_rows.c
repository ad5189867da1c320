/* trip_rows.c - a view: the rows of a value that a trip of a stage works on.
 *
 * x [R] or [R, D] -> rows trip step ... trip step + n - 1 of it; nothing runs. Trips may share
 * rows. x is made in front of the stage, or is an input that all trips read. Of counted rows those
 * that are not live are seen, too, and hold anything. */
#include "shared.h"

static int trip_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const struct bi_trip_rows_attr *a = BI_ATTR(node, trip_rows);
    const int64_t trips = bi_graph_trips(g, node->phase);
    const bool inside = x->kind == BI_VALUE_NODE && g->nodes[x->node].phase == node->phase;
    if (x->rank < 1 || x->rank > 2 || a->step < 1 || a->n < 1 ||
        (trips - 1) * a->step > x->shape[0] - a->n)
        return bi_fail(err, BIOINFER_INTERNAL, "trip_rows: %d rows, by steps of %d, %d trips of %s",
                       a->n, a->step, (int)trips, bi_shape_text(x).text);
    if (x->kind == BI_VALUE_WEIGHT || (trips > 1 && (inside || x->trips > 1)))
        return bi_fail(err, BIOINFER_INTERNAL,
                       "trip_rows: of a value that is not that of all trips");
    bi_out_shape(g, node, 0, BI_AXIS_FIXED, x->rank, (int64_t[]){a->n, x->shape[1]});
    if (x->dtype == BI_I32)
        bi_out(g, node, 0)->dtype = BI_I32;
    return 0;
}

static int64_t trip_rows_first(const struct bi_node *node)
{
    return BI_ATTR(node, trip_rows)->step;
}

static void trip_rows_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    (void)g;
    (void)node;
    *flops = *bytes = 0;
}

bi_value_id bi_trip_rows(struct bi_graph *g, bi_value_id x, int64_t step, int64_t n)
{
    return bi_node_add(g, BI_OP_TRIP_ROWS, BI_IN(x),
                       BI_ATTRS(trip_rows, .step = (int32_t)step, .n = (int32_t)n));
}

const struct bi_op bi_op_trip_rows = {
    .name = "trip_rows",
    .infer = trip_rows_infer,
    .cost = trip_rows_cost,
    .first = trip_rows_first,
    .view = BI_VIEW_STEPS,
    .required = 1,
    .half = {.out = 1, .in = 1, .all = 1},
};
