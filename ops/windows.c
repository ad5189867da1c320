/* windows.c - windows: rows first, first + 1, ... and with each the next taps - 1, a view.
 *   x [R, C] -> [n, taps C],  row r = x[first + r], x[first + r + 1], ..., end to end
 * A matmul over it is a convolution of `taps` positions: the im2col that takes no memory,
 * because neighbouring rows overlap. taps 1 is a crop. */
#include <string.h>

#include "../kernels/norm_act.h"
#include "shared.h"

static int windows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const struct bi_windows_attr *a = BI_ATTR(node, windows);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (st)
        return st;
    if (x->axis != BI_AXIS_FIXED || a->first < 0 || a->taps < 1 || a->n < 1 ||
        a->n > x->shape[0] - a->first - (a->taps - 1))
        return bi_fail(err, BIOINFER_INTERNAL, "windows: %d of %d rows from row %d of %s", a->n,
                       a->taps, a->first, bi_shape_text(x).text);
    if (a->taps > 1 && x->kind == BI_VALUE_NODE && bi_ops[g->nodes[x->node].op]->view)
        return bi_fail(err, BIOINFER_INTERNAL, "windows: the rows of a view need not be adjacent");
    bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){a->n, a->taps * x->shape[1]});
    return 0;
}

static int64_t windows_first(const struct bi_node *node)
{
    return BI_ATTR(node, windows)->first;
}

static void windows_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                         double *bytes)
{
    (void)g;
    (void)node;
    *flops = *bytes = 0;
}

bi_value_id bi_windows(struct bi_graph *g, bi_value_id x, int32_t first, int64_t n, int32_t taps)
{
    return bi_node_add(g, BI_OP_WINDOWS, BI_IN(x),
                       BI_ATTRS(windows, .first = first, .n = (int32_t)n, .taps = taps));
}

/* A convolution is a product of windows. The derivative by its rows is one of the derivatives of
 * its products, with the taps in reverse. */
static void windows_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                         unsigned wanted, bi_value_id *dx)
{
    const struct bi_windows_attr *a = BI_ATTR(node, windows);
    const int64_t rows = g->values[node->in[0]].shape[0];
    const struct bi_value *d = &g->values[dy[0]];
    const struct bi_node *product = d->kind == BI_VALUE_NODE ? &g->nodes[d->node] : NULL;
    bi_value_id x, w;
    (void)wanted;
    if (a->taps == 1) {
        dx[0] = bi_pad_rows(g, dy[0], a->first, rows);
        return;
    }
    if (!product || product->op != BI_OP_MATMUL || a->first || a->n + a->taps - 1 != rows) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: windows of %d taps have none", a->taps);
        return;
    }
    x = product->in[0];
    w = bi_weight_flipped(g, product->in[1], a->taps);
    x = bi_norm_act(g, x, BI_NONE, BI_NONE, BI_NORM_ACT_NONE, a->taps - 1);
    dx[0] = bi_matmul(g, bi_windows(g, x, 0, rows, a->taps), w);
}

const struct bi_op bi_op_windows = {
    .name = "windows",
    .infer = windows_infer,
    .cost = windows_cost,
    .first = windows_first,
    .view = BI_VIEW_ROWS,
    .grad = windows_grad,
    .required = 1,
    .half = {.out = 1, .in = 1, .all = 1},
};
