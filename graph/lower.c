/* lower.c - which values are float16 on devices with matrix units.
 *
 * Only operands of matrix products and attention are: their producers round once, and the products
 * sum in float32. The residual stream, statistics, and everything that leaves the graph stay
 * float32. A norm that is both (post-norm layers) was written twice by the rule norm_split. Between
 * convolutions a value meets one residual sum at most before an activation makes it an operand;
 * there it is float16, too, as its traffic is what costs. Each op says which of its values its
 * kernels can read and write so (struct bi_half of ops/op.h); a node for whose types and sizes the
 * target has no kernel all the same stays in float32. */
#include "graph.h"

#include "../ops/op.h"
#include "rules.h"

/* Clears a mark; true when it was set. */
static bool clear(bool *half, bi_value_id id)
{
    bool was = id != BI_NONE && half[id];
    if (was)
        half[id] = false;
    return was;
}

/* Which values of node n may be float16. */
static struct bi_half half_of(const struct bi_graph *g, const struct bi_node *n)
{
    const struct bi_op *op = bi_ops[n->op];
    struct bi_half may = op->half;
    if (op->half_of)
        op->half_of(g, n, &may);
    return may;
}

/* Takes back marks that node n cannot live with; true when one was. */
static bool restrict_node(const struct bi_graph *g, bool *half, const struct bi_node *n)
{
    const struct bi_half may = half_of(g, n);
    const bool joins = may.all && may.out & 1; /* output 0 is like the inputs of may.all */
    bool all = !joins || half[n->out[0]], changed = false;
    for (int k = 0; k < BI_NODE_IN; k++) {
        const unsigned bit = 1u << k;
        if (n->in[k] == BI_NONE)
            continue;
        if (!(may.in & bit) || (may.if_out & bit && !half[n->out[0]]))
            changed |= clear(half, n->in[k]);
        if (may.for_out & bit && !half[n->in[k]])
            changed |= clear(half, n->out[0]);
        all = all && (half[n->in[k]] || !(may.all & bit));
    }
    for (int k = 0; !all && k < BI_NODE_IN; k++)
        if (may.all & 1u << k)
            changed |= clear(half, n->in[k]);
    if (!all && joins)
        changed |= clear(half, n->out[0]);
    return changed;
}

/* Takes back marks until every node can live with its own. */
static void restrict_all(const struct bi_graph *g, bool *half)
{
    for (bool changed = true; changed;) { /* marks are only taken back, so this ends */
        changed = false;
        for (size_t i = 0; i < g->n_nodes; i++)
            changed |= restrict_node(g, half, &g->nodes[i]);
    }
}

/* Makes types of marks. */
static int set_types(struct bi_graph *g, const bool *half, struct bioinfer_error *err)
{
    int st = 0;
    for (size_t i = 0; !st && i < g->n_nodes; i++) {
        struct bi_node *n = &g->nodes[i];
        for (int k = 0; k < bi_op_n_out(n->op); k++)
            g->values[n->out[k]].dtype = half[n->out[k]] ? BI_F16 : BI_F32;
        st = bi_ops[n->op]->infer(g, n, err);
    }
    return st;
}

/* Takes back all marks of node n where the target has no kernel for it; true when there were. */
static bool refuse_node(const struct bi_graph *g, const struct bi_target *target, bool *half,
                        const struct bi_node *n)
{
    bool refused = false;
    if (bi_target_takes(target, g, n))
        return false;
    for (int k = 0; k < BI_NODE_IN; k++)
        refused |= clear(half, n->in[k]);
    for (int k = 0; k < BI_NODE_OUT; k++)
        refused |= clear(half, n->out[k]);
    return refused;
}

int bi_graph_lower(struct bi_graph *g, const struct bi_target *target, struct bioinfer_error *err)
{
    bool *half, refused = true;
    int st = 0;
    if (!(half = bi_calloc(g->arena.env, g->n_values + 1, sizeof *half)))
        return bi_fail(err, BIOINFER_NOMEM, "graph: precision");
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < bi_op_n_out(g->nodes[i].op); k++)
            half[g->nodes[i].out[k]] = half_of(g, &g->nodes[i]).out >> k & 1 &&
                                       !g->values[g->nodes[i].out[k]].wide;
    for (size_t i = 0; i < g->n_outputs; i++)
        half[g->outputs[i].value] = false;
    while (!st && refused) {
        restrict_all(g, half);
        st = set_types(g, half, err);
        refused = false;
        for (size_t i = 0; !st && i < g->n_nodes; i++)
            refused |= refuse_node(g, target, half, &g->nodes[i]);
    }
    bi_free(g->arena.env, half);
    return st ? st : bi_graph_verify(g, err);
}
