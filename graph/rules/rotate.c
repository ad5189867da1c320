/* rotate.c - queries and keys come to attention rotated.
 *
 * rotate_early: the norm that makes them rotates them, in float32 before they are rounded.
 * Attention that copies tiles straight into matrix units (BI_TARGET_ROTATES) has no place to rotate
 * them; there the linear that makes them does it too, or else a rope of their own.
 * multiquery_rope: ropes of their own, as every block of queries would rotate all keys anew. */
#include "../../kernels/linear.h"
#include "rule.h"

/* Does only attention over the same pair with the same table read q and k? */
static bool read_by_attention_only(const struct bi_graph *g, const struct bi_node *attention)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *n = &g->nodes[i];
        bool pair = (n->op == BI_OP_ATTENTION || n->op == BI_OP_ATTENTION_CONTACTS) &&
                    n->in[0] == attention->in[0] && n->in[1] == attention->in[1] &&
                    n->in[4] == attention->in[4];
        for (int k = pair ? 2 : 0; k < BI_NODE_IN; k++)
            if (n->in[k] != BI_NONE &&
                (n->in[k] == attention->in[0] || n->in[k] == attention->in[1]))
                return false;
    }
    return !bi_rule_is_output(g, attention->in[0]) && !bi_rule_is_output(g, attention->in[1]);
}

static struct bi_node *producer(const struct bi_graph *g, bi_value_id id, enum bi_op_kind op)
{
    struct bi_node *n = bi_rule_producer(g, id);
    return n && n->op == op ? n : NULL;
}

/* Columns of all heads. */
static int32_t width_of(const struct bi_node *attention)
{
    const struct bi_attention_attr *a = BI_ATTR(attention, attention);
    return a->n_heads * a->head_dim;
}

/* The node of kind `op` whose columns are q and, behind them, k; NULL = there is none. */
static struct bi_node *source_of(const struct bi_graph *g, const struct bi_node *attention,
                                 enum bi_op_kind op)
{
    const struct bi_node *q = producer(g, attention->in[0], BI_OP_COLUMNS);
    const struct bi_node *k = producer(g, attention->in[1], BI_OP_COLUMNS);
    if (!q || !k || q->in[0] != k->in[0] || BI_ATTR(q, columns)->first ||
        BI_ATTR(k, columns)->first != width_of(attention))
        return NULL;
    return producer(g, q->in[0], op);
}

/* The linear whose first columns are q, then k, and that has nothing else to do. */
static struct bi_node *linear_of(const struct bi_graph *g, const struct bi_node *attention)
{
    struct bi_node *n = source_of(g, attention, BI_OP_LINEAR);
    if (!n || BI_ATTR(n, linear)->act || BI_ATTR(n, linear)->gated || n->in[3] != BI_NONE ||
        n->in[4] != BI_NONE || BI_ATTR(attention, attention)->head_dim > 64 ||
        g->values[n->in[0]].shape[1] % 8 || producer(g, n->in[0], BI_OP_COLUMNS) ||
        producer(g, n->in[0], BI_OP_WINDOWS))
        return NULL;
    return n;
}

/* The norm whose halves are q and k, read by nothing else: their heads are at hand there. */
static struct bi_node *norm_of(const struct bi_graph *g, const struct bi_node *attention)
{
    struct bi_node *n = source_of(g, attention, BI_OP_LAYERNORM);
    if (!n || BI_ATTR(n, layernorm)->groups != 2 || n->in[3] != BI_NONE ||
        g->values[n->in[0]].dtype != g->values[attention->in[0]].dtype)
        return NULL;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < BI_NODE_IN; j++)
            if (g->nodes[i].in[j] == n->out[0] && g->nodes[i].out[0] != attention->in[0] &&
                g->nodes[i].out[0] != attention->in[1])
                return NULL;
    return n;
}

/* Makes node n what `to` is, where the target has a kernel for that. */
static bool become(struct bi_graph *g, const struct bi_target *target, struct bi_node *n,
                   const struct bi_node *to)
{
    const bool takes = bi_target_takes(target, g, to);
    if (takes)
        *n = *to;
    return takes;
}

static bool rotate_norm(struct bi_graph *g, const struct bi_target *target, struct bi_node *norm,
                        const struct bi_node *attention)
{
    struct bi_node n = *norm;
    n.in[3] = attention->in[4];
    n.in[4] = attention->in[3];
    BI_ATTR_SET(&n, layernorm)->head_dim = BI_ATTR(attention, attention)->head_dim;
    return become(g, target, norm, &n);
}

static bool rotate_linear(struct bi_graph *g, const struct bi_target *target,
                          struct bi_node *linear, const struct bi_node *attention)
{
    struct bi_node n = *linear;
    n.in[4] = attention->in[4];
    n.in[5] = attention->in[3];
    BI_ATTR_SET(&n, linear)->n_rotated = 2 * width_of(attention);
    BI_ATTR_SET(&n, linear)->head_dim = BI_ATTR(attention, attention)->head_dim;
    return become(g, target, linear, &n);
}

/* Gives q and k, which attention reads, by ropes of their own; false where the target has none. */
static bool add_ropes(struct bi_graph *g, const struct bi_target *target,
                      const struct bi_node *attention, bi_value_id rotated[2])
{
    const size_t n_nodes = g->n_nodes;
    const struct bi_attention_attr *a = BI_ATTR(attention, attention);
    const bool half = g->values[attention->out[0]].dtype == BI_F16;
    g->phase = attention->phase;
    for (int k = 0; k < 2; k++)
        rotated[k] = bi_node_add_half(
            g, BI_OP_ROPE,
            (const bi_value_id[]){attention->in[k], attention->in[4], attention->in[3]}, 3,
            BI_ATTRS(rope, .n_heads = a->n_heads, .head_dim = a->head_dim), half);
    return bi_target_takes_new(target, g, n_nodes);
}

/* All attention over the pair that `a` reads takes the rotated one, and no table. */
static void read_rotated(struct bi_graph *g, size_t n_nodes, const struct bi_node *a,
                         const bi_value_id rotated[2])
{
    for (size_t j = 0; j < n_nodes; j++) {
        struct bi_node *n = &g->nodes[j];
        if ((n->op != BI_OP_ATTENTION && n->op != BI_OP_ATTENTION_CONTACTS) ||
            n->in[0] != a->in[0] || n->in[4] != a->in[4])
            continue;
        n->in[0] = rotated[0];
        n->in[1] = rotated[1];
        n->in[4] = BI_NONE;
    }
}

static void rotate_early(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    const size_t n_nodes = g->n_nodes;
    for (size_t i = 0; i < n_nodes && !g->status; i++) {
        const struct bi_node a = g->nodes[i];
        const int32_t d = a.op == BI_OP_ATTENTION ? BI_ATTR(&a, attention)->head_dim : 0;
        bi_value_id rotated[2] = {a.in[0], a.in[1]};
        struct bi_node *linear, *norm;
        if (a.op != BI_OP_ATTENTION || a.in[4] == BI_NONE ||
            g->values[a.in[0]].dtype != target->operands ||
            (d != 16 && d != 32 && d != 64 && d != 128) || !read_by_attention_only(g, &a))
            continue;
        if ((norm = norm_of(g, &a))) {
            if (!rotate_norm(g, target, norm, &a))
                continue;
        } else if (!(target->traits & BI_TARGET_ROTATES)) {
            continue;
        } else if (!(linear = linear_of(g, &a)) || !rotate_linear(g, target, linear, &a)) {
            if (!add_ropes(g, target, &a, rotated))
                continue;
        }
        if (g->status)
            return;
        read_rotated(g, n_nodes, &a, rotated);
        ++*fired;
    }
}

const struct bi_rule bi_rule_rotate_early = {
    .name = "rotate_early",
    .phase = BI_RULE_TARGET,
    .needs = BI_TARGET_MATRIX,
    .pass = rotate_early,
};

/* ---- multiquery_rope ---- */

static bool has_table(const struct bi_match *m)
{
    return bi_match_value(m, "table") != BI_NONE;
}

static bi_value_id to_rotated(struct bi_match *m)
{
    const struct bi_multiquery_attr a = *BI_ATTR(m->root, multiquery);
    const bi_value_id table = bi_match_value(m, "table");
    const bi_value_id q = bi_rope(m->g, bi_match_value(m, "q"), table, BI_NONE, a.n_heads);
    const bi_value_id k = bi_rope(m->g, bi_match_value(m, "k"), table, BI_NONE, 1);
    return NEW(m->g, BI_OP_MULTIQUERY, BI_ATTRS_AT(multiquery, &a), q, k, bi_match_value(m, "v"),
               BI_NONE, bi_match_value(m, "bias"));
}

const struct bi_rule bi_rule_multiquery_rope = {
    .name = "multiquery_rope",
    .phase = BI_RULE_FUSE,
    .needs = BI_TARGET_GPU,
    .pattern = NODE(MULTIQUERY, NULL, VALUE("q"), VALUE("k"), VALUE("v"), MAYBE("table"),
                    MAYBE("bias")),
    .guard = has_table,
    .rewrite = to_rotated,
};
