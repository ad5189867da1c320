/* precision.c - passes in front of bi_graph_lower(), which decides what is float16. */
#include "../../kernels/linear.h"
#include "../../ops/op.h"
#include "rule.h"

/* ---- exact_products: operands that a model calls exact ---- */

/* Makes gates of an exact operand, whose kernel gives float16, two products and what joins them. */
static void split_gates(struct bi_graph *g, const struct bi_node *n)
{
    bi_value_id part[2];
    g->phase = n->phase;
    for (int i = 0; i < 2; i++)
        part[i] = NEW(g, BI_OP_LINEAR, NULL, n->in[0], bi_weight_part(g, n->in[1], i));
    bi_graph_replace(g, n->out[0], bi_mul(g, bi_silu(g, part[0]), part[1]));
}

static void set_terms(struct bi_node *product, int32_t terms)
{
    if (product->op == BI_OP_LINEAR)
        BI_ATTR_SET(product, linear)->terms = terms;
    else
        BI_ATTR_SET(product, matmul)->terms = terms;
}

/* Operands come in two terms of float16 (kernels/halves.h) for the products that take them so, once
 * for all products of one operand. */
static void exact_products(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    size_t n_nodes = g->n_nodes;
    (void)target;
    for (size_t i = 0; i < n_nodes; i++) {
        const struct bi_node n = g->nodes[i]; /* bi_node_add moves them */
        if (n.op == BI_OP_LINEAR && BI_ATTR(&n, linear)->gated && g->values[n.in[0]].exact &&
            BI_ATTR(&n, linear)->act == BI_ACT_SILU)
            split_gates(g, &n);
    }
    bi_graph_dce(g);
    n_nodes = g->n_nodes;
    for (size_t i = 0; !g->status && i < n_nodes; i++) {
        bi_value_id x = g->nodes[i].in[0], halves = BI_NONE;
        if ((g->nodes[i].op != BI_OP_LINEAR && g->nodes[i].op != BI_OP_MATMUL) ||
            !g->values[x].exact)
            continue;
        for (size_t j = n_nodes; j < g->n_nodes; j++)
            halves = g->nodes[j].in[0] == x ? g->nodes[j].out[0] : halves;
        g->phase = g->nodes[i].phase;
        if (halves == BI_NONE)
            halves = bi_node_add_half(g, BI_OP_HALVES, &x, 1, NULL, true);
        if (halves == BI_NONE)
            break;
        g->nodes[i].in[0] = halves;
        set_terms(&g->nodes[i], (int32_t)(g->values[halves].shape[1] / g->values[x].shape[1]));
        ++*fired;
    }
}

const struct bi_rule bi_rule_exact_products = {
    .name = "exact_products",
    .phase = BI_RULE_LOWER,
    .needs = BI_TARGET_MATRIX,
    .pass = exact_products,
};

/* ---- norm_split: norms that products read, and others too ---- */

static bool reads_half(const struct bi_node *n, int k)
{
    return k == 0 && (n->op == BI_OP_LINEAR || n->op == BI_OP_MATMUL);
}

/* Does node n give rows of its input, of its type: as a view, or picked by a list of fixed
 * length? */
static bool keeps_type(const struct bi_graph *g, const struct bi_node *n)
{
    return n->op == BI_OP_WINDOWS ||
           (n->op == BI_OP_SELECT_ROWS && g->values[n->in[1]].axis == BI_AXIS_FIXED);
}

/* Is a value read by products, as what may be float16, and by others as well? */
static bool is_read_as_both(const struct bi_graph *g, bi_value_id y)
{
    bool by_products = false, by_others = bi_rule_is_output(g, y);
    for (size_t j = 0; j < g->n_nodes; j++)
        for (int k = 0; k < BI_NODE_IN; k++) {
            if (g->nodes[j].in[k] != y || keeps_type(g, &g->nodes[j]))
                continue;
            if (reads_half(&g->nodes[j], k))
                by_products = true;
            else
                by_others = true;
        }
    return by_products && by_others;
}

/* Such a norm is written twice, and products read the second output. */
static void norm_split(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    const size_t n_nodes = g->n_nodes;
    (void)target;
    for (size_t i = 0; i < n_nodes && !g->status; i++) {
        const struct bi_node norm = g->nodes[i];
        const bool rms = norm.op == BI_OP_RMSNORM;
        bi_value_id x, y;
        if ((!rms && (norm.op != BI_OP_LAYERNORM || BI_ATTR(&norm, layernorm)->groups > 1)) ||
            !is_read_as_both(g, norm.out[0]))
            continue;
        g->phase = norm.phase;
        x = bi_node_add(
            g, BI_OP_NORM_SPLIT, norm.in, 3,
            BI_ATTRS(norm_split, .rms = rms,
                     .eps = rms ? BI_ATTR(&norm, rmsnorm)->eps : BI_ATTR(&norm, layernorm)->eps));
        if (x == BI_NONE)
            return;
        y = g->nodes[g->n_nodes - 1].out[1];
        for (size_t j = 0; j < n_nodes; j++)
            for (int k = 0; k < BI_NODE_IN; k++)
                if (g->nodes[j].in[k] == norm.out[0] && reads_half(&g->nodes[j], k))
                    g->nodes[j].in[k] = y;
        bi_graph_replace(g, norm.out[0], x);
        ++*fired;
    }
}

const struct bi_rule bi_rule_norm_split = {
    .name = "norm_split",
    .phase = BI_RULE_LOWER,
    .needs = BI_TARGET_MATRIX,
    .pass = norm_split,
};
