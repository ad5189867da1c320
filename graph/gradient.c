/* gradient.c - the derivative of a value by one that it follows from, as nodes of the same graph.
 *
 * Nodes between x and y are visited from the last to the first. Each op says how the derivative by
 * its outputs becomes that by its inputs (bi_op.grad); what several readers of a value give is
 * added in the order of that visit. */
#include "graph.h"

#include <string.h>

#include "../ops/op.h"

struct sweep {
    struct bi_graph *g;
    bool *follows;   /* [n_values] does the value follow from x? */
    bi_value_id *by; /* [n_values] the derivative by a value; BI_NONE = 0 so far */
};

/* Marks what follows from x among the values of the first n nodes. */
static void mark(struct sweep *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct bi_node *node = &s->g->nodes[i];
        bool any = false;
        for (int k = 0; k < BI_NODE_IN && !node->dead; k++)
            any |= node->in[k] != BI_NONE && s->follows[node->in[k]];
        for (int k = 0; any && k < bi_op_n_out(node->op); k++)
            s->follows[node->out[k]] = true;
    }
}

/* Adds what the node's op gives to the derivatives by its inputs. */
static void visit(struct sweep *s, size_t at)
{
    struct bi_graph *g = s->g;
    const struct bi_node node = g->nodes[at]; /* a copy, as nodes are added */
    const struct bi_op *op = bi_ops[node.op];
    bi_value_id dy[BI_NODE_OUT], dx[BI_NODE_IN];
    unsigned wanted = 0;
    bool any = false;
    for (int k = 0; k < BI_NODE_OUT; k++) {
        dy[k] = k < bi_op_n_out(node.op) ? s->by[node.out[k]] : BI_NONE;
        any |= dy[k] != BI_NONE;
    }
    for (int k = 0; k < BI_NODE_IN; k++) {
        dx[k] = BI_NONE;
        if (node.in[k] != BI_NONE && s->follows[node.in[k]])
            wanted |= 1u << k;
    }
    if (!any || !wanted || g->status)
        return;
    const bool carried = bi_graph_repeats(g, node.phase) && node.phase != g->phase;
    if (!op->grad || op->in_place || carried) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: %s has none%s", op->name,
                      carried ? " behind the loop" : "");
        return;
    }
    op->grad(g, &node, dy, wanted, dx);
    for (int k = 0; k < BI_NODE_IN && !g->status; k++) {
        bi_value_id *sum = &s->by[node.in[k] == BI_NONE ? 0 : node.in[k]];
        if (wanted >> k & 1 && dx[k] != BI_NONE)
            *sum = *sum == BI_NONE ? dx[k] : bi_add(g, *sum, dx[k]);
    }
}

bi_value_id bi_graph_gradient(struct bi_graph *g, bi_value_id y, bi_value_id x)
{
    struct sweep s = {.g = g};
    const size_t n_values = g->n_values, n_nodes = g->n_nodes;
    bi_value_id result = BI_NONE;
    if (g->status)
        return BI_NONE;
    const struct bi_value from = g->values[x], to = g->values[y];
    s.follows = bi_calloc(g->arena.env, n_values, sizeof *s.follows);
    s.by = bi_calloc(g->arena.env, n_values, sizeof *s.by);
    if (!s.follows || !s.by) {
        bi_graph_fail(g, BIOINFER_NOMEM, "gradient");
        goto out;
    }
    if (from.dtype != BI_F32 || to.dtype != BI_F32 || from.rank != 2 || to.rank != 2) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: of %s %s by %s %s", bi_dtype_name(to.dtype),
                      bi_shape_text(&to).text, bi_dtype_name(from.dtype),
                      bi_shape_text(&from).text);
        goto out;
    }
    for (size_t i = 0; i < n_values; i++)
        s.by[i] = BI_NONE;
    s.follows[x] = true;
    mark(&s, n_nodes);
    if (!s.follows[y]) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: the value does not follow from the other");
        goto out;
    }
    s.by[y] = bi_fill(g, BI_F32, to.axis, to.shape[0], to.shape[1], 1);
    for (size_t i = n_nodes; i-- > 0;)
        if (!g->nodes[i].dead)
            visit(&s, i);
    result = g->status ? BI_NONE : s.by[x];
    if (result == BI_NONE)
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: it is 0 everywhere");
out:
    bi_free(g->arena.env, s.follows);
    bi_free(g->arena.env, s.by);
    return result;
}
