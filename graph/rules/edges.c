/* edges.c - rules of graphs over residues, whose edges are pairs of neighbours. */
#include <string.h>

#include "../../kernels/linear.h"
#include "../../ops/op.h"
#include "rule.h"

#define TEN_INPUTS ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY

static bool concat_is_split(const struct bi_match *m)
{
    const bi_value_id w = bi_match_value(m, "w");
    return bi_rule_is_one_weight(m->g, w) && !m->g->values[w].columns[0] &&
           m->root->in[3] == BI_NONE;
}

/* w [h_i | e | h_j] = w_1 h_i + w_2 e + w_3 h_j: the first and the last once per residue, and
 * nothing is gathered but their results. */
static bi_value_id to_edge_linear(struct bi_match *m)
{
    struct bi_graph *g = m->g;
    const bi_value_id node = bi_match_value(m, "node"), edge = bi_match_value(m, "edge");
    const bi_value_id index = bi_match_value(m, "index"), w = bi_match_value(m, "w");
    const int64_t d = g->values[node].shape[1], c = g->values[edge].shape[1];
    const struct bi_edge_sum_attr a = {.k = (int32_t)g->values[index].shape[1],
                                       .act = BI_ATTR(m->root, linear)->act};
    const bi_value_id own = NEW(g, BI_OP_LINEAR, NULL, edge, bi_weight_columns(g, w, d, c),
                                bi_match_value(m, "bias"));
    const bi_value_id self = NEW(g, BI_OP_LINEAR, NULL, node, bi_weight_columns(g, w, 0, d));
    const bi_value_id other = NEW(g, BI_OP_LINEAR, NULL, node, bi_weight_columns(g, w, d + c, d));
    return NEW(g, BI_OP_EDGE_SUM, BI_ATTRS_AT(edge_sum, &a), own, self, other, BI_NONE, BI_NONE,
               BI_NONE, BI_NONE, index);
}

const struct bi_rule bi_rule_edge_linear = {
    .name = "edge_linear",
    .pattern = NODE(LINEAR, NULL,
                    SHARED(EDGE_CONCAT, NULL, VALUE("node"), VALUE("edge"), VALUE("index")),
                    VALUE("w"), MAYBE("bias")),
    .guard = concat_is_split,
    .rewrite = to_edge_linear,
};

static bool no_act(const struct bi_match *m)
{
    return BI_ATTR(bi_match_node(m, "sum"), edge_sum)->act == BI_ACT_NONE;
}

static bi_value_id to_edge_sum_gelu(struct bi_match *m)
{
    const struct bi_node *sum = bi_match_node(m, "sum");
    struct bi_edge_sum_attr a = *BI_ATTR(sum, edge_sum);
    a.act = BI_ACT_GELU;
    return bi_node_add(m->g, BI_OP_EDGE_SUM, sum->in, bi_op_n_in(BI_OP_EDGE_SUM),
                       BI_ATTRS_AT(edge_sum, &a));
}

const struct bi_rule bi_rule_edge_sum_gelu = {
    .name = "edge_sum_gelu",
    .pattern = NODE(GELU, NULL, NODE(EDGE_SUM, "sum", TEN_INPUTS)),
    .guard = no_act,
    .rewrite = to_edge_sum_gelu,
};

static bool plain_linear(const struct bi_match *m)
{
    const struct bi_node *linear = bi_match_node(m, "linear");
    return linear->in[2] != BI_NONE && linear->in[3] == BI_NONE &&
           BI_ATTR(linear, linear)->act == BI_ACT_NONE;
}

/* A linear behind a sum instead of in front of it runs once per residue. Its bias counts once for
 * every term. */
static bi_value_id to_neighbor_sum_linear(struct bi_match *m)
{
    struct bi_graph *g = m->g;
    const struct bi_node *sum = m->root, *linear = bi_match_node(m, "linear");
    bi_value_id weight, s = NEW(g, BI_OP_NEIGHBOR_SUM, BI_ATTRS_OF(sum), linear->in[0], sum->in[1],
                                sum->in[2], sum->in[3]);
    if (s == BI_NONE)
        return BI_NONE;
    weight = g->nodes[g->n_nodes - 1].out[1];
    bi_match_replace(m, sum->out[1], weight);
    s = NEW(g, BI_OP_LINEAR, NULL, s, linear->in[1]);
    return NEW(g, BI_OP_ROW_BIAS, NULL, s, linear->in[2], weight);
}

const struct bi_rule bi_rule_neighbor_sum_linear = {
    .name = "neighbor_sum_linear",
    .pattern = NODE(NEIGHBOR_SUM, NULL, NODE(LINEAR, "linear", ANY, ANY, ANY), ANY, ANY, ANY),
    .guard = plain_linear,
    .rewrite = to_neighbor_sum_linear,
};

/* Is the product square and biased, are both activations there, and does the sum go through the
 * neighbours as the edges do? */
static bool message_fits(const struct bi_match *m)
{
    const struct bi_node *sum = m->root, *linear = bi_match_node(m, "linear");
    const struct bi_node *edges = bi_match_node(m, "edges");
    const struct bi_value *w = &m->g->values[linear->in[1]];
    return linear->in[2] != BI_NONE && linear->in[3] == BI_NONE &&
           BI_ATTR(linear, linear)->act == BI_ACT_GELU &&
           BI_ATTR(edges, edge_sum)->act == BI_ACT_GELU && w->kind == BI_VALUE_WEIGHT &&
           w->shape[0] == w->shape[1] && w->shape[0] <= 128 && sum->in[2] == edges->in[7] &&
           sum->in[3] == edges->in[9] &&
           BI_ATTR(sum, neighbor_sum)->k == BI_ATTR(edges, edge_sum)->k;
}

static bi_value_id to_edge_message(struct bi_match *m)
{
    const struct bi_node *linear = bi_match_node(m, "linear");
    const struct bi_neighbor_sum_attr *sum = BI_ATTR(m->root, neighbor_sum);
    bi_value_id in[BI_NODE_IN], fused;
    memcpy(in, bi_match_node(m, "edges")->in, 10 * sizeof in[0]);
    in[10] = linear->in[1];
    in[11] = linear->in[2];
    in[12] = m->root->in[1];
    fused = bi_node_add(m->g, BI_OP_EDGE_MESSAGE, in, 13,
                        BI_ATTRS(edge_message, .factor = sum->factor, .k = sum->k));
    if (fused != BI_NONE)
        bi_match_replace(m, m->root->out[1], m->g->nodes[m->g->n_nodes - 1].out[1]);
    return fused;
}

const struct bi_rule bi_rule_edge_message = {
    .name = "edge_message",
    .pattern = NODE(NEIGHBOR_SUM, NULL,
                    NODE(LINEAR, "linear", NODE(EDGE_SUM, "edges", TEN_INPUTS), ANY, ANY), ANY, ANY,
                    ANY),
    .guard = message_fits,
    .rewrite = to_edge_message,
};
