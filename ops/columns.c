/* columns.c - a view: x[:, first : first + n].   x [R, N] -> [R, n]; nothing runs */
#include "shared.h"

static int columns_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (BI_ATTR(node, columns)->first < 0 || BI_ATTR(node, columns)->n < 1 ||
                BI_ATTR(node, columns)->first > x->shape[1] - BI_ATTR(node, columns)->n))
        st = bi_fail(err, BIOINFER_INTERNAL, "columns: %d + %d of %s",
                     BI_ATTR(node, columns)->first, BI_ATTR(node, columns)->n,
                     bi_shape_text(x).text);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){x->shape[0], BI_ATTR(node, columns)->n});
    return st;
}

static int64_t columns_first(const struct bi_node *node)
{
    return BI_ATTR(node, columns)->first;
}

static void columns_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                         double *bytes)
{
    (void)g;
    (void)node;
    *flops = *bytes = 0;
}

bi_value_id bi_columns(struct bi_graph *g, bi_value_id x, int32_t first, int32_t n)
{
    return bi_node_add(g, BI_OP_COLUMNS, BI_IN(x), BI_ATTRS(columns, .first = first, .n = n));
}

static void columns_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                         unsigned wanted, bi_value_id *dx)
{
    const struct bi_value x = g->values[node->in[0]];
    (void)wanted;
    if (BI_ATTR(node, columns)->first) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: columns has none but of the first ones");
        return;
    }
    dx[0] = bi_fill(g, BI_F32, x.axis, x.shape[0], x.shape[1], 0);
    dx[0] = bi_add_narrow(g, dx[0], dy[0]);
}

const struct bi_op bi_op_columns = {
    .name = "columns",
    .infer = columns_infer,
    .cost = columns_cost,
    .grad = columns_grad,
    .first = columns_first,
    .view = BI_VIEW_ELEMENTS,
    .required = 1,
    .half = {.out = 1, .in = 1, .all = 1},
};
