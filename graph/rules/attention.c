/* attention.c - rules that make attention of its parts, and stack what it reads. */
#include <string.h>

#include "rule.h"

#define SCORES SHARED(SCORES, "scores", VALUE("q"), VALUE("k"), VALUE("start"))
#define SOFTMAX_OF(...) NODE(SOFTMAX, NULL, __VA_ARGS__, VALUE("start"))
#define ROPED(node, name) SHARED(ROPE, node, VALUE(name), VALUE("table"), VALUE("start"))
#define SCALED SHARED(SCALE, "scale", VALUE("q"))
#define BIASES MAYBE("bias"), MAYBE("grid_bias"), MAYBE("grid_start")

/* ---- attention and contacts of scores ---- */

/* Are values as wide as queries and keys? */
static bool same_width(const struct bi_match *m)
{
    return m->g->values[bi_match_value(m, "v")].shape[1] ==
           m->g->values[bi_match_value(m, "q")].shape[1];
}

static struct bi_attention_attr attr_of_scores(const struct bi_match *m)
{
    const struct bi_scores_attr *a = BI_ATTR(bi_match_node(m, "scores"), scores);
    return (struct bi_attention_attr){
        .scale = a->scale, .n_heads = a->n_heads, .head_dim = a->head_dim};
}

static bi_value_id to_attention(struct bi_match *m)
{
    const struct bi_attention_attr a = attr_of_scores(m);
    return NEW(m->g, BI_OP_ATTENTION, BI_ATTRS_AT(attention, &a), bi_match_value(m, "q"),
               bi_match_value(m, "k"), bi_match_value(m, "v"), bi_match_value(m, "start"));
}

const struct bi_rule bi_rule_attention = {
    .name = "attention",
    .pattern = NODE(MIX, NULL,
                    SOFTMAX_OF(NODE(SCORES, "scores", VALUE("q"), VALUE("k"), VALUE("start"))),
                    VALUE("v"), VALUE("start")),
    .guard = same_width,
    .rewrite = to_attention,
};

static bi_value_id to_attention_bias(struct bi_match *m)
{
    const struct bi_attention_attr a = attr_of_scores(m);
    return NEW(m->g, BI_OP_ATTENTION, BI_ATTRS_AT(attention, &a), bi_match_value(m, "q"),
               bi_match_value(m, "k"), bi_match_value(m, "v"), bi_match_value(m, "start"), BI_NONE,
               bi_match_value(m, "bias"));
}

const struct bi_rule bi_rule_attention_bias = {
    .name = "attention_bias",
    .pattern = NODE(MIX, NULL,
                    SOFTMAX_OF(NODE(RELATIVE_BIAS, NULL,
                                    NODE(SCORES, "scores", VALUE("q"), VALUE("k"), VALUE("start")),
                                    VALUE("bias"), VALUE("start"))),
                    VALUE("v"), VALUE("start")),
    .guard = same_width,
    .rewrite = to_attention_bias,
};

static bi_value_id to_attention_grid(struct bi_match *m)
{
    const struct bi_attention_attr a = attr_of_scores(m);
    return NEW(m->g, BI_OP_ATTENTION, BI_ATTRS_AT(attention, &a), bi_match_value(m, "q"),
               bi_match_value(m, "k"), bi_match_value(m, "v"), bi_match_value(m, "start"), BI_NONE,
               BI_NONE, bi_match_value(m, "grid_bias"), bi_match_value(m, "grid_start"));
}

const struct bi_rule bi_rule_attention_grid = {
    .name = "attention_grid",
    .pattern = NODE(MIX, NULL,
                    SOFTMAX_OF(NODE(GRID_BIAS, NULL,
                                    NODE(SCORES, "scores", VALUE("q"), VALUE("k"), VALUE("start")),
                                    VALUE("grid_bias"), VALUE("start"), VALUE("grid_start"))),
                    VALUE("v"), VALUE("start")),
    .guard = same_width,
    .rewrite = to_attention_grid,
};

static bi_value_id to_attention_contacts(struct bi_match *m)
{
    const struct bi_scores_attr *scores = BI_ATTR(bi_match_node(m, "scores"), scores);
    const struct bi_contacts_attr *contacts = BI_ATTR(m->root, contacts);
    const struct bi_attention_contacts_attr a = {.scale = scores->scale,
                                                 .n_heads = contacts->n_heads,
                                                 .head_dim = scores->head_dim,
                                                 .n_prefix = contacts->n_prefix,
                                                 .n_suffix = contacts->n_suffix};
    return NEW(m->g, BI_OP_ATTENTION_CONTACTS, BI_ATTRS_AT(attention_contacts, &a),
               bi_match_value(m, "q"), bi_match_value(m, "k"), bi_match_value(m, "w"),
               bi_match_value(m, "start"), BI_NONE, bi_match_value(m, "before"));
}

const struct bi_rule bi_rule_attention_contacts = {
    .name = "attention_contacts",
    .pattern = NODE(CONTACTS, NULL, SHARED(SOFTMAX, NULL, SCORES, VALUE("start")), VALUE("w"),
                    VALUE("start"), MAYBE("before")),
    .rewrite = to_attention_contacts,
};

/* ---- rotations and factors of queries and keys ---- */

/* Rows of a table stay float32 whatever reads them: their rotation is what rounds them. */
static bool not_rotated(const struct bi_match *m)
{
    const struct bi_node *from = bi_rule_producer(m->g, bi_match_node(m, "q_rope")->in[0]);
    return (!from || from->op != BI_OP_SELECT_ROWS) && m->root->in[4] == BI_NONE;
}

static bi_value_id attention_like(struct bi_match *m, const struct bi_attrs *a)
{
    return NEW(m->g, BI_OP_ATTENTION, a, bi_match_value(m, "q"), bi_match_value(m, "k"),
               bi_match_value(m, "v"), bi_match_value(m, "start"), bi_match_value(m, "table"),
               bi_match_value(m, "bias"), bi_match_value(m, "grid_bias"),
               bi_match_value(m, "grid_start"));
}

static bi_value_id to_attention_rope(struct bi_match *m)
{
    return attention_like(m, BI_ATTRS_OF(m->root));
}

const struct bi_rule bi_rule_attention_rope = {
    .name = "attention_rope",
    .pattern = NODE(ATTENTION, NULL, ROPED("q_rope", "q"), ROPED("k_rope", "k"), VALUE("v"),
                    VALUE("start"), NULL, BIASES),
    .guard = not_rotated,
    .rewrite = to_attention_rope,
};

/* The factor of queries, which the root takes over: a rotation commutes with it. */
static float factor_of(const struct bi_match *m)
{
    return BI_ATTR(bi_match_node(m, "scale"), scale)->factor;
}

static bi_value_id to_attention_scale(struct bi_match *m)
{
    struct bi_attention_attr a = *BI_ATTR(m->root, attention);
    a.scale *= factor_of(m);
    return attention_like(m, BI_ATTRS_AT(attention, &a));
}

const struct bi_rule bi_rule_attention_scale = {
    .name = "attention_scale",
    .pattern = NODE(ATTENTION, NULL, SCALED, VALUE("k"), VALUE("v"), VALUE("start"), MAYBE("table"),
                    BIASES),
    .rewrite = to_attention_scale,
};

static bi_value_id contacts_like(struct bi_match *m, const struct bi_attrs *a)
{
    return NEW(m->g, BI_OP_ATTENTION_CONTACTS, a, bi_match_value(m, "q"), bi_match_value(m, "k"),
               bi_match_value(m, "w"), bi_match_value(m, "start"), bi_match_value(m, "table"),
               bi_match_value(m, "before"));
}

static bi_value_id to_contacts_rope(struct bi_match *m)
{
    return contacts_like(m, BI_ATTRS_OF(m->root));
}

const struct bi_rule bi_rule_contacts_rope = {
    .name = "contacts_rope",
    .pattern = NODE(ATTENTION_CONTACTS, NULL, ROPED("q_rope", "q"), ROPED("k_rope", "k"),
                    VALUE("w"), VALUE("start"), NULL, MAYBE("before")),
    .rewrite = to_contacts_rope,
};

static bi_value_id to_contacts_scale(struct bi_match *m)
{
    struct bi_attention_contacts_attr a = *BI_ATTR(m->root, attention_contacts);
    a.scale *= factor_of(m);
    return contacts_like(m, BI_ATTRS_AT(attention_contacts, &a));
}

const struct bi_rule bi_rule_contacts_scale = {
    .name = "contacts_scale",
    .pattern = NODE(ATTENTION_CONTACTS, NULL, SCALED, VALUE("k"), VALUE("w"), VALUE("start"),
                    MAYBE("table"), MAYBE("before")),
    .rewrite = to_contacts_scale,
};

/* ---- queries, keys and values as columns of one product ---- */

static const char *const part_names[] = {"q", "k", "v"};
static const char *const weight_names[] = {"q_w", "k_w", "v_w"};
static const char *const bias_names[] = {"q_bias", "k_bias", "v_bias"};

#define PART(name) SHARED(LINEAR, name, VALUE("x"), VALUE(name "_w"), MAYBE(name "_bias"))
#define NORMED_PART(name)                                                                          \
    NODE(LAYERNORM, name "_norm",                                                                  \
         NODE(LINEAR, name, VALUE("x"), VALUE(name "_w"), MAYBE(name "_bias")),                    \
         VALUE(name "_gain"))
#define BEHIND_PARTS VALUE("start"), MAYBE("table"), BIASES

/* Are these three linears over one x, none with more than a bias? */
static bool stackable(const struct bi_match *m)
{
    const bool biased = bi_match_value(m, "q_bias") != BI_NONE;
    for (int i = 0; i < 3; i++) {
        const bi_value_id b = bi_match_value(m, bias_names[i]);
        const struct bi_node *n = bi_match_node(m, part_names[i]);
        if (!bi_rule_is_one_weight(m->g, bi_match_value(m, weight_names[i])) ||
            BI_ATTR(n, linear)->act || BI_ATTR(n, linear)->gated || n->in[3] != BI_NONE ||
            (b != BI_NONE) != biased || bi_rule_is_output(m->g, n->out[0]))
            return false;
        if (b != BI_NONE && m->g->values[b].kind != BI_VALUE_WEIGHT)
            return false;
    }
    return true;
}

static bi_value_id columns(struct bi_graph *g, bi_value_id x, int64_t first, int64_t n)
{
    return bi_columns(g, x, (int32_t)first, (int32_t)n);
}

/* The three weights, or biases, of a match as one. */
static bi_value_id stack_of(struct bi_match *m, const char *const names[3])
{
    bi_value_id part[3];
    for (int i = 0; i < 3; i++)
        part[i] = bi_match_value(m, names[i]);
    return part[0] == BI_NONE ? BI_NONE : bi_weight_stack(m->g, part, 3);
}

static bi_value_id stack_linears(struct bi_match *m)
{
    const bi_value_id w = stack_of(m, weight_names), b = stack_of(m, bias_names);
    return NEW(m->g, BI_OP_LINEAR, NULL, bi_match_value(m, "x"), w, b);
}

/* Every use of the three parts moves over to columns of the stack. */
static bi_value_id to_stacked(struct bi_match *m)
{
    struct bi_graph *g = m->g;
    const struct bi_node root = *m->root;
    bi_value_id part[3], cut[3], all;
    int64_t width[3], first = 0;
    for (int i = 0; i < 3; i++) {
        part[i] = bi_match_node(m, part_names[i])->out[0];
        width[i] = g->values[part[i]].shape[1];
    }
    all = stack_linears(m);
    for (int i = 0; i < 3; i++) {
        cut[i] = columns(g, all, first, width[i]);
        first += width[i];
    }
    for (int i = 0; i < 3; i++)
        bi_match_replace(m, part[i], cut[i]);
    return NEW(g, root.op, BI_ATTRS_OF(&root), cut[0], cut[1], cut[2], root.in[3], root.in[4],
               root.in[5], root.in[6], root.in[7]);
}

const struct bi_rule bi_rule_qkv_stack = {
    .name = "qkv_stack",
    .pattern = NODE(ATTENTION, NULL, PART("q"), PART("k"), PART("v"), BEHIND_PARTS),
    .guard = stackable,
    .rewrite = to_stacked,
};

/* Also: the norms of queries and keys are alike. */
static bool norms_stackable(const struct bi_match *m)
{
    const struct bi_layernorm_attr *q = BI_ATTR(bi_match_node(m, "q_norm"), layernorm);
    const struct bi_layernorm_attr *k = BI_ATTR(bi_match_node(m, "k_norm"), layernorm);
    const bi_value_id gain = bi_match_value(m, "q_gain"), gain2 = bi_match_value(m, "k_gain");
    return stackable(m) && q->eps == k->eps && q->groups <= 1 && k->groups <= 1 &&
           bi_rule_is_one_weight(m->g, gain) && bi_rule_is_one_weight(m->g, gain2) &&
           m->g->values[gain].shape[0] == m->g->values[gain2].shape[0];
}

/* Queries and keys go side by side through one norm. */
static bi_value_id to_norms_stacked(struct bi_match *m)
{
    struct bi_graph *g = m->g;
    const struct bi_node root = *m->root;
    const float eps = BI_ATTR(bi_match_node(m, "q_norm"), layernorm)->eps;
    const int64_t d = g->values[bi_match_node(m, "q")->out[0]].shape[1];
    const int64_t dv = g->values[bi_match_node(m, "v")->out[0]].shape[1];
    const bi_value_id all = stack_linears(m), value = columns(g, all, 2 * d, dv);
    const bi_value_id gains[] = {bi_match_value(m, "q_gain"), bi_match_value(m, "k_gain")};
    const bi_value_id gain = bi_weight_stack(g, gains, 2);
    const bi_value_id norm = NEW(g, BI_OP_LAYERNORM, BI_ATTRS(layernorm, .groups = 2, .eps = eps),
                                 columns(g, all, 0, 2 * d), gain);
    const bi_value_id q = columns(g, norm, 0, d), k = columns(g, norm, d, d);
    return NEW(g, root.op, BI_ATTRS_OF(&root), q, k, value, root.in[3], root.in[4], root.in[5],
               root.in[6], root.in[7]);
}

const struct bi_rule bi_rule_qk_norm_stack = {
    .name = "qk_norm_stack",
    .pattern = NODE(ATTENTION, NULL, NORMED_PART("q"), NORMED_PART("k"),
                    NODE(LINEAR, "v", VALUE("x"), VALUE("v_w"), MAYBE("v_bias")), BEHIND_PARTS),
    .guard = norms_stackable,
    .rewrite = to_norms_stacked,
};

static bool rel_stackable(const struct bi_match *m)
{
    for (int i = 0; i < 3; i++)
        if (!bi_rule_is_one_weight(m->g, bi_match_value(m, weight_names[i])) ||
            bi_rule_is_output(m->g, bi_match_node(m, part_names[i])->out[0]))
            return false;
    return true;
}

/* Values may be wider than queries and keys. */
static bi_value_id to_rel_stacked(struct bi_match *m)
{
    const struct bi_node root = *m->root;
    const bi_value_id w = stack_of(m, weight_names);
    const bi_value_id all = NEW(m->g, BI_OP_MATMUL, NULL, bi_match_value(m, "x"), w);
    bi_value_id in[BI_NODE_IN];
    int64_t first = 0;
    memcpy(in, root.in, sizeof in);
    for (int i = 0; i < 3; i++) {
        const int64_t width = m->g->values[root.in[i]].shape[1];
        in[i] = columns(m->g, all, first, width);
        first += width;
    }
    return bi_node_add(m->g, root.op, in, 6, BI_ATTRS_OF(&root));
}

const struct bi_rule bi_rule_rel_qkv_stack = {
    .name = "rel_qkv_stack",
    .pattern = NODE(REL_ATTENTION, NULL, NODE(MATMUL, "q", VALUE("x"), VALUE("q_w")),
                    NODE(MATMUL, "k", VALUE("x"), VALUE("k_w")),
                    NODE(MATMUL, "v", VALUE("x"), VALUE("v_w")), VALUE("relative"),
                    VALUE("content_bias"), VALUE("position_bias")),
    .guard = rel_stackable,
    .rewrite = to_rel_stacked,
};
