/* lower.c - which values are float16 on devices with matrix units.
 *
 * Only operands of matrix products and attention are: their producers round once, and the
 * products sum in float32. The residual stream, statistics, and everything that leaves the
 * graph stay float32. A norm that is both (post-norm layers) is written twice: norm_split.
 * Between convolutions a value meets one residual sum at most before an activation makes it an
 * operand; there it is float16, too, as its traffic is what costs. Products of operands that a
 * model calls exact are near float32, in two terms of float16 (halves.h). Each op says which of its
 * values its kernels can read and write so (struct bi_half of ops/op.h). */
#include "graph.h"

#include "../kernels/linear.h"
#include "../ops/op.h"

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

/* May input k of a node be float16? */
static bool reads_half(const struct bi_node *n, int k)
{
    return k == 0 && (n->op == BI_OP_LINEAR || n->op == BI_OP_MATMUL);
}

/* Rows of a value, as a view or picked by a list of fixed length, are of its type. */
static bool follows(const struct bi_graph *g, const struct bi_node *n)
{
    return n->op == BI_OP_WINDOWS ||
           (n->op == BI_OP_SELECT_ROWS && g->values[n->in[1]].axis == BI_AXIS_FIXED);
}

/* Norms that products read and others too become norm_split, and products read its second
 * output. */
static int split_norms(struct bi_graph *g, struct bioinfer_error *err)
{
    size_t n_nodes = g->n_nodes;
    for (size_t i = 0; i < n_nodes; i++) {
        struct bi_node norm = g->nodes[i];
        struct bi_attr a = {.eps = norm.attr.eps, .rms = norm.op == BI_OP_RMSNORM};
        int32_t n_products = 0, n_others = 0;
        bi_value_id x, y;
        if ((norm.op != BI_OP_LAYERNORM && norm.op != BI_OP_RMSNORM) || norm.attr.groups > 1)
            continue;
        for (size_t j = 0; j < n_nodes; j++)
            for (int k = 0; k < BI_NODE_IN; k++)
                if (g->nodes[j].in[k] == norm.out[0] && !follows(g, &g->nodes[j]))
                    *(reads_half(&g->nodes[j], k) ? &n_products : &n_others) += 1;
        for (size_t j = 0; j < g->n_outputs; j++)
            n_others += g->outputs[j].value == norm.out[0];
        if (!n_products || !n_others)
            continue;
        g->phase = norm.phase;
        x = bi_node_add(g, BI_OP_NORM_SPLIT, norm.in, 3, &a);
        if (x == BI_NONE)
            return bi_graph_status(g, err);
        y = g->nodes[g->n_nodes - 1].out[1];
        for (size_t j = 0; j < n_nodes; j++)
            for (int k = 0; k < BI_NODE_IN; k++)
                if (g->nodes[j].in[k] == norm.out[0] && reads_half(&g->nodes[j], k))
                    g->nodes[j].in[k] = y;
        bi_graph_replace(g, norm.out[0], x);
    }
    bi_graph_dce(g);
    return bi_graph_sort(g, err);
}

/* Gates of an exact operand, whose kernel gives float16, as two products and what joins them. */
static void split_gates(struct bi_graph *g, const struct bi_node *n)
{
    const struct bi_attr none = {0};
    bi_value_id part[2];
    g->phase = n->phase;
    for (int i = 0; i < 2; i++) {
        bi_value_id w = bi_weight_part(g, n->in[1], i);
        part[i] = bi_node_add(g, BI_OP_LINEAR, (const bi_value_id[]){n->in[0], w}, 2, &none);
    }
    bi_graph_replace(g, n->out[0], bi_mul(g, bi_silu(g, part[0]), part[1]));
}

/* Operands in two terms, for the products that take them so; once for those of one operand. */
static int split_exact(struct bi_graph *g, struct bioinfer_error *err)
{
    size_t n_nodes = g->n_nodes;
    int st;
    for (size_t i = 0; i < n_nodes; i++) {
        struct bi_node n = g->nodes[i]; /* bi_node_add moves them */
        if (n.op == BI_OP_LINEAR && n.attr.gated && g->values[n.in[0]].exact &&
            n.attr.act == BI_ACT_SILU)
            split_gates(g, &n);
    }
    bi_graph_dce(g);
    n_nodes = g->n_nodes;
    for (size_t i = 0; !g->status && i < n_nodes; i++) {
        const struct bi_attr a = {.half = 1};
        bi_value_id x = g->nodes[i].in[0], halves = BI_NONE;
        if ((g->nodes[i].op != BI_OP_LINEAR && g->nodes[i].op != BI_OP_MATMUL) ||
            !g->values[x].exact)
            continue;
        for (size_t j = n_nodes; j < g->n_nodes; j++)
            halves = g->nodes[j].in[0] == x ? g->nodes[j].out[0] : halves;
        g->phase = g->nodes[i].phase;
        if (halves == BI_NONE)
            halves = bi_node_add(g, BI_OP_HALVES, &x, 1, &a);
        if (halves == BI_NONE)
            break;
        g->nodes[i].in[0] = halves;
        g->nodes[i].attr.terms = (int32_t)(g->values[halves].shape[1] / g->values[x].shape[1]);
    }
    return (st = bi_graph_status(g, err)) ? st : bi_graph_sort(g, err);
}

int bi_graph_lower(struct bi_graph *g, struct bioinfer_error *err)
{
    bool *half, changed = true;
    int st = split_exact(g, err);
    if (st || (st = split_norms(g, err)))
        return st;
    if (!(half = bi_calloc(g->arena.env, g->n_values + 1, sizeof *half)))
        return bi_fail(err, BIOINFER_NOMEM, "graph: precision");
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < bi_op_n_out(g->nodes[i].op); k++)
            half[g->nodes[i].out[k]] = half_of(g, &g->nodes[i]).out >> k & 1 &&
                                       !g->values[g->nodes[i].out[k]].wide;
    for (size_t i = 0; i < g->n_outputs; i++)
        half[g->outputs[i].value] = false;
    while (changed) { /* marks are only taken back, so this ends */
        changed = false;
        for (size_t i = 0; i < g->n_nodes; i++)
            changed |= restrict_node(g, half, &g->nodes[i]);
    }
    for (size_t i = 0; !st && i < g->n_nodes; i++) {
        struct bi_node *n = &g->nodes[i];
        n->attr.half = 0;
        for (int k = 0; k < bi_op_n_out(n->op); k++)
            n->attr.half |= (uint32_t)half[n->out[k]] << k;
        st = bi_ops[n->op]->infer(g, n, err);
    }
    bi_free(g->arena.env, half);
    return st ? st : bi_graph_verify(g, err);
}
