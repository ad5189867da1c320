/* rules.c - fusion as a table.
 *
 * Sections: patterns, guards, rewrites, the table, the matcher, application.
 *
 * A pattern is constant data: an op with patterns for its inputs, or a variable that binds a
 * value. The matcher alone knows that an inner value needs a single use (else it would have
 * to be computed twice), that ADD commutes, and that one variable binds one value. Rules know
 * no device. A rewrite builds the new node and names what it stands for. */
#include "rules.h"

#include <string.h>

#include "../kernels/linear.h"
#include "../ops/op.h"

/* ---- patterns ---- */

enum { MAX_VARS = 16, MAX_NODES = 8 };

enum { ANYTHING = -2 }; /* op of a pattern: whatever is there, or nothing */

enum { SHARED = 1 }; /* the value may have other uses: it is cheap, or replaced everywhere */

struct pattern {
    int op;  /* enum bi_op_kind, or -1: a variable, or ANYTHING */
    int var; /* variable: which one.  op: under which number its node is remembered */
    int flags;
    bool optional; /* variable: may be absent */
    const struct pattern *in[BI_NODE_IN];
};

struct match {
    bi_value_id var[MAX_VARS];
    bool bound[MAX_VARS];
    const struct bi_node *node[MAX_NODES]; /* by the pattern's var; [0] is the root */
};

enum var { X, W, B, R, START, TABLE, V, W2, B2, W3, B3, BEFORE, BIAS, GAIN, GAIN2 };

/* clang-format off */
#define ANY &(const struct pattern){.op = ANYTHING}
#define VAR(v) &(const struct pattern){.op = -1, .var = v}
#define OPT(v) &(const struct pattern){.op = -1, .var = v, .optional = true}
#define OP_(name, at, flag, ...)                                                         \
    &(const struct pattern){.op = BI_OP_##name, .var = at, .flags = flag, .in = {__VA_ARGS__}}
/* clang-format on */

/* ---- guards: true when the shapes and attributes allow the rewrite ---- */

static bool bias_is_row(const struct bi_graph *g, const struct match *m)
{
    const struct bi_value *b = &g->values[m->var[B]];
    return b->rank == 1 && b->kind == BI_VALUE_WEIGHT &&
           b->shape[0] == g->values[m->node[0]->out[0]].shape[1];
}

/* Does node n, which reads y, belong to a rule over LINEAR? A product to which a row of weights
 * is added waits for that. */
static bool wants_linear(const struct bi_graph *g, const struct bi_node *n, bi_value_id y)
{
    switch (n->op) {
    case BI_OP_ADD:
        return g->values[n->in[0] == y ? n->in[1] : n->in[0]].rank == 2;
    case BI_OP_NORM_ACT:
        return n->in[1] == BI_NONE && n->in[2] == BI_NONE;
    case BI_OP_GELU:
    case BI_OP_SILU:
    case BI_OP_MUL:
    case BI_OP_LAYERNORM:
    case BI_OP_ATTENTION:
        return true;
    default:
        return false;
    }
}

static bool has_no_bias(const struct bi_graph *g, const struct match *m)
{
    bi_value_id y = m->node[0]->out[0];
    bool wanted = false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *n = &g->nodes[i];
        for (int k = 0; k < BI_NODE_IN && !n->dead; k++) {
            if (n->in[k] != y)
                continue;
            if (!wants_linear(g, n, y))
                return false;
            wanted = true;
        }
    }
    return wanted && g->values[m->var[W]].kind == BI_VALUE_WEIGHT;
}

/* A weight of the model, not several nor some of its rows. */
static bool is_one(const struct bi_value *w)
{
    return w->kind == BI_VALUE_WEIGHT && w->n_parts == 1 && !w->rows;
}

static bool linear_has_bias_only(const struct bi_graph *g, const struct match *m)
{
    (void)g;
    return m->node[1]->attr.act == BI_ACT_NONE && !m->node[1]->attr.gated &&
           m->node[1]->in[3] == BI_NONE;
}

/* Two products without bias, one of them with an activation; blocks of 16 rows of each must
 * come out even (gpu kernels). */
static bool gates_fit(const struct bi_graph *g, const struct match *m)
{
    const struct bi_value *w = &g->values[m->var[W]], *w2 = &g->values[m->var[W2]];
    const struct bi_node *gate = m->node[1], *value = m->node[2]; /* or the other way round */
    return (gate->attr.act != BI_ACT_NONE) != (value->attr.act != BI_ACT_NONE) &&
           !gate->attr.gated && !value->attr.gated && is_one(w) && is_one(w2) &&
           w->shape[0] == w2->shape[0] && w->shape[0] % 16 == 0;
}

/* An activation alone, in place of which the linear can do it. */
static bool plain_relu(const struct bi_graph *g, const struct match *m)
{
    return linear_has_bias_only(g, m) && m->node[0]->attr.act == BI_NORM_ACT_RELU &&
           !m->node[0]->attr.pad;
}

static bool plain_gelu_tanh(const struct bi_graph *g, const struct match *m)
{
    return linear_has_bias_only(g, m) && m->node[0]->attr.act == BI_NORM_ACT_TANH_GELU &&
           !m->node[0]->attr.pad;
}

static bool residual_fits(const struct bi_graph *g, const struct match *m)
{
    const struct bi_value *r = &g->values[m->var[R]];
    return linear_has_bias_only(g, m) && r->rank == 2 &&
           r->shape[1] == g->values[m->node[0]->out[0]].shape[1];
}

/* Values as wide as queries and keys. */
static bool same_width(const struct bi_graph *g, const struct match *m)
{
    return g->values[m->var[V]].shape[1] == g->values[m->var[X]].shape[1];
}

static bool same_shape(const struct bi_graph *g, const struct match *m)
{
    return g->values[m->var[R]].rank == 2;
}

static bool is_output(const struct bi_graph *g, bi_value_id id)
{
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value == id)
            return true;
    return false;
}

/* Three linears over one x, all of the queries' width, none with more than a bias; a view
 * cannot be an output. */
static bool stackable(const struct bi_graph *g, const struct match *m)
{
    static const int w[] = {W, W2, W3}, b[] = {B, B2, B3};
    for (int i = 0; i < 3; i++) {
        const struct bi_value *v = &g->values[m->var[w[i]]];
        const struct bi_node *n = m->node[1 + i];
        if (!is_one(v) || n->attr.act != BI_ACT_NONE || n->attr.gated || n->in[3] != BI_NONE ||
            (m->var[b[i]] == BI_NONE) != (m->var[B] == BI_NONE) || is_output(g, n->out[0]))
            return false;
        if (m->var[b[i]] != BI_NONE && g->values[m->var[b[i]]].kind != BI_VALUE_WEIGHT)
            return false;
    }
    return true;
}

/* Three matmuls by weights of their own; a view cannot be an output. */
static bool rel_stackable(const struct bi_graph *g, const struct match *m)
{
    static const int w[] = {W, W2, W3};
    for (int i = 0; i < 3; i++) {
        const struct bi_value *v = &g->values[m->var[w[i]]];
        if (!is_one(v) || is_output(g, m->node[1 + i]->out[0]))
            return false;
    }
    return true;
}

/* Also: the norms of queries and keys are alike. */
static bool norms_stackable(const struct bi_graph *g, const struct match *m)
{
    const struct bi_node *q = m->node[4], *k = m->node[5];
    const struct bi_value *w = &g->values[m->var[GAIN]], *w2 = &g->values[m->var[GAIN2]];
    return stackable(g, m) && q->attr.eps == k->attr.eps && q->attr.groups <= 1 &&
           k->attr.groups <= 1 && is_one(w) && is_one(w2) && w->shape[0] == w2->shape[0];
}

static bool one_group(const struct bi_graph *g, const struct match *m)
{
    (void)g;
    return m->node[1]->attr.groups <= 1;
}

/* Rows of a table, float32 whatever reads them: their rotation is what rounds them. */
static bool is_selected(const struct bi_graph *g, bi_value_id x)
{
    const struct bi_value *v = &g->values[x];
    return v->kind == BI_VALUE_NODE && g->nodes[v->node].op == BI_OP_SELECT_ROWS;
}

static bool not_rotated(const struct bi_graph *g, const struct match *m)
{
    return !is_selected(g, m->node[1]->in[0]) &&
           (m->node[0]->op == BI_OP_ATTENTION ? m->node[0]->in[4] == BI_NONE : true);
}

/* Any linear without residual whose weight is whole: columns of it can be taken. */
/* Windows of ids with nothing but zeros around them. */
static bool windows_of_ids(const struct bi_graph *g, const struct match *m)
{
    const struct bi_attr *w = &m->node[0]->attr, *a = &m->node[1]->attr;
    const struct bi_value *ids = &g->values[m->var[X]];
    return w->taps > 1 && !w->first && w->n == ids->shape[0] + 2 * a->pad - w->taps + 1 &&
           a->act == BI_NORM_ACT_NONE && ids->axis == BI_AXIS_FIXED;
}

static bool concat_is_split(const struct bi_graph *g, const struct match *m)
{
    const struct bi_value *w = &g->values[m->var[W]];
    return is_one(w) && !w->columns[0] && m->node[0]->in[3] == BI_NONE;
}

static bool plain_linear(const struct bi_graph *g, const struct match *m)
{
    (void)g;
    return m->node[1]->in[2] != BI_NONE && m->node[1]->in[3] == BI_NONE &&
           m->node[1]->attr.act == BI_ACT_NONE;
}

/* Square, biased, both activations there, and one way of going through the neighbours. */
static bool message_fits(const struct bi_graph *g, const struct match *m)
{
    const struct bi_node *sum = m->node[0], *linear = m->node[1], *edges = m->node[2];
    const struct bi_value *w = &g->values[linear->in[1]];
    return linear->in[2] != BI_NONE && linear->in[3] == BI_NONE &&
           linear->attr.act == BI_ACT_GELU && edges->attr.act == BI_ACT_GELU &&
           w->kind == BI_VALUE_WEIGHT && w->shape[0] == w->shape[1] && w->shape[0] <= 128 &&
           sum->in[2] == edges->in[7] && sum->in[3] == edges->in[9] && sum->attr.k == edges->attr.k;
}

static bool no_act(const struct bi_graph *g, const struct match *m)
{
    (void)g;
    return m->node[1]->attr.act == BI_ACT_NONE;
}

/* ---- rewrites: build what replaces the root's first output ---- */

#define NEW(g, op, attr, ...)                                                                      \
    bi_node_add(g, op, (const bi_value_id[]){__VA_ARGS__},                                         \
                (int)(sizeof((const bi_value_id[]){__VA_ARGS__}) / sizeof(bi_value_id)), attr)

static bi_value_id to_embedding_scale(struct bi_graph *g, const struct match *m)
{
    return NEW(g, BI_OP_EMBEDDING, NULL, m->var[W], m->var[X], m->var[R]);
}

static bi_value_id to_linear(struct bi_graph *g, const struct match *m)
{
    return NEW(g, BI_OP_LINEAR, NULL, m->var[X], m->var[W], m->var[B]);
}

static bi_value_id to_linear_unbiased(struct bi_graph *g, const struct match *m)
{
    return NEW(g, BI_OP_LINEAR, NULL, m->var[X], m->var[W]);
}

/* The activation is the root's. */
static bi_value_id to_linear_act(struct bi_graph *g, const struct match *m)
{
    const struct bi_node *root = m->node[0];
    struct bi_attr a = {.act = root->op == BI_OP_GELU                    ? BI_ACT_GELU
                               : root->op == BI_OP_SILU                  ? BI_ACT_SILU
                               : root->attr.act == BI_NORM_ACT_TANH_GELU ? BI_ACT_GELU_TANH
                                                                         : BI_ACT_RELU};
    return NEW(g, BI_OP_LINEAR, &a, m->var[X], m->var[W], m->var[B]);
}

static bi_value_id stack(struct bi_graph *g, const bi_value_id *part, int n);

static bi_value_id to_linear_gated(struct bi_graph *g, const struct match *m)
{
    bool first = m->node[1]->attr.act != BI_ACT_NONE;
    struct bi_attr a = {.act = m->node[first ? 1 : 2]->attr.act, .gated = 1};
    bi_value_id gate = m->var[first ? W : W2], value = m->var[first ? W2 : W];
    bi_value_id w = stack(g, (const bi_value_id[]){gate, value}, 2);
    return NEW(g, BI_OP_LINEAR, &a, m->var[X], w);
}

static bi_value_id to_embedding_windows(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = {.taps = m->node[0]->attr.taps, .pad = m->node[1]->attr.pad};
    return NEW(g, BI_OP_EMBEDDING_WINDOWS, &a, m->var[W], m->var[X]);
}

/* Logits of a pair matter by their difference only: half the rows of the matmul. */
static bi_value_id to_half_pool(struct bi_graph *g, const struct match *m)
{
    bi_value_id d = NEW(g, BI_OP_PAIR_DIFF, NULL, m->var[X]);
    return NEW(g, BI_OP_PAIR_POOL, NULL, m->var[X], NEW(g, BI_OP_MATMUL, NULL, d, m->var[W]));
}

static bi_value_id to_linear_residual(struct bi_graph *g, const struct match *m)
{
    return NEW(g, BI_OP_LINEAR, NULL, m->var[X], m->var[W], m->var[B], m->var[R]);
}

static bi_value_id to_attention(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[2]->attr; /* of the scores */
    return NEW(g, BI_OP_ATTENTION, &a, m->var[X], m->var[R], m->var[V], m->var[START]);
}

static bi_value_id to_attention_bias(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[3]->attr; /* of the scores */
    return NEW(g, BI_OP_ATTENTION, &a, m->var[X], m->var[R], m->var[V], m->var[START], BI_NONE,
               m->var[BIAS]);
}

static bi_value_id to_attention_rope(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    return NEW(g, BI_OP_ATTENTION, &a, m->var[X], m->var[R], m->var[V], m->var[START],
               m->var[TABLE], m->var[BIAS]);
}

static bi_value_id to_attention_scale(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    a.scale *= m->node[1]->attr.factor; /* a rotation commutes with a factor */
    return NEW(g, BI_OP_ATTENTION, &a, m->var[X], m->var[R], m->var[V], m->var[START],
               m->var[TABLE], m->var[BIAS]);
}

static bi_value_id to_attention_contacts(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    a.head_dim = m->node[2]->attr.head_dim;
    a.scale = m->node[2]->attr.scale;
    return NEW(g, BI_OP_ATTENTION_CONTACTS, &a, m->var[X], m->var[R], m->var[W], m->var[START],
               BI_NONE, m->var[BEFORE]);
}

static bi_value_id to_contacts_rope(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    return NEW(g, BI_OP_ATTENTION_CONTACTS, &a, m->var[X], m->var[R], m->var[W], m->var[START],
               m->var[TABLE], m->var[BEFORE]);
}

static bi_value_id to_contacts_scale(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    a.scale *= m->node[1]->attr.factor;
    return NEW(g, BI_OP_ATTENTION_CONTACTS, &a, m->var[X], m->var[R], m->var[W], m->var[START],
               m->var[TABLE], m->var[BEFORE]);
}

/* A weight value that stacks two or three along dimension 0. */
static bi_value_id stack(struct bi_graph *g, const bi_value_id *part, int n)
{
    struct bi_value v;
    if (g->status)
        return BI_NONE;
    v = g->values[part[0]];
    v.shape[0] = 0;
    v.n_parts = n;
    for (int i = 0; i < n; i++) {
        v.parts[i] = g->values[part[i]].parts[0];
        v.shape[0] += g->values[part[i]].shape[0];
    }
    v.name = bi_arena_printf(&g->arena, "%s + %s%s%s", g->values[part[0]].name,
                             g->values[part[1]].name, n > 2 ? " + " : "",
                             n > 2 ? g->values[part[2]].name : "");
    if (!v.name ||
        !bi_grow(g->arena.env, &g->values, &g->cap_values, g->n_values + 1, sizeof *g->values))
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: stacked weight");
    g->values[g->n_values] = v;
    return (bi_value_id)g->n_values++;
}

static bi_value_id columns(struct bi_graph *g, bi_value_id x, int64_t first, int64_t n)
{
    struct bi_attr a = {.first = (int32_t)first, .n = (int32_t)n};
    return NEW(g, BI_OP_COLUMNS, &a, x);
}

/* The linears 1, 2 and 3 of a match as one. */
static bi_value_id stack_linears(struct bi_graph *g, const struct match *m)
{
    bi_value_id w = stack(g, (const bi_value_id[]){m->var[W], m->var[W2], m->var[W3]}, 3);
    bi_value_id b = m->var[B] == BI_NONE
                        ? BI_NONE
                        : stack(g, (const bi_value_id[]){m->var[B], m->var[B2], m->var[B3]}, 3);
    return NEW(g, BI_OP_LINEAR, NULL, m->var[X], w, b);
}

/* Queries, keys and values as columns of one matmul; every use of the three moves over. */
static bi_value_id to_stacked(struct bi_graph *g, const struct match *m)
{
    struct bi_node root = *m->node[0];
    bi_value_id part[3] = {m->node[1]->out[0], m->node[2]->out[0], m->node[3]->out[0]}, cut[3];
    int64_t width[3], first = 0;
    bi_value_id all;
    for (int i = 0; i < 3; i++)
        width[i] = g->values[part[i]].shape[1];
    all = stack_linears(g, m);
    for (int i = 0; i < 3; i++) {
        cut[i] = columns(g, all, first, width[i]);
        first += width[i];
    }
    if (g->status)
        return BI_NONE;
    for (int i = 0; i < 3; i++)
        bi_graph_replace(g, part[i], cut[i]);
    return bi_node_add(
        g, root.op,
        (const bi_value_id[]){cut[0], cut[1], cut[2], root.in[3], root.in[4], root.in[5]}, 6,
        &root.attr);
}

/* The same, and queries and keys side by side through one norm. */
static bi_value_id to_norms_stacked(struct bi_graph *g, const struct match *m)
{
    struct bi_node root = *m->node[0];
    struct bi_attr a = {.eps = m->node[4]->attr.eps, .groups = 2};
    int64_t d = g->values[m->node[1]->out[0]].shape[1];
    int64_t dv = g->values[m->node[3]->out[0]].shape[1];
    bi_value_id all = stack_linears(g, m), value = columns(g, all, 2 * d, dv);
    bi_value_id gain = stack(g, (const bi_value_id[]){m->var[GAIN], m->var[GAIN2]}, 2);
    bi_value_id norm = NEW(g, BI_OP_LAYERNORM, &a, columns(g, all, 0, 2 * d), gain);
    bi_value_id q = columns(g, norm, 0, d), k = columns(g, norm, d, d);
    return bi_node_add(g, root.op,
                       (const bi_value_id[]){q, k, value, root.in[3], root.in[4], root.in[5]}, 6,
                       &root.attr);
}

/* The same for attention with relative positions, whose values may be wider. */
static bi_value_id to_rel_stacked(struct bi_graph *g, const struct match *m)
{
    struct bi_node root = *m->node[0];
    bi_value_id w = stack(g, (const bi_value_id[]){m->var[W], m->var[W2], m->var[W3]}, 3);
    bi_value_id all = NEW(g, BI_OP_MATMUL, NULL, m->var[X], w), in[BI_NODE_IN];
    int64_t first = 0;
    memcpy(in, root.in, sizeof in);
    for (int i = 0; i < 3; i++) {
        int64_t width = g->values[root.in[i]].shape[1];
        in[i] = columns(g, all, first, width);
        first += width;
    }
    return bi_node_add(g, root.op, in, 6, &root.attr);
}

/* The sum stays a value of its own: the residual stream goes on from it. */
static bi_value_id to_add_layernorm(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    bi_value_id sum = m->node[1]->out[0];
    bi_value_id fused = NEW(g, BI_OP_ADD_LAYERNORM, &a, m->var[X], m->var[R], m->var[W], m->var[B]);
    if (fused == BI_NONE)
        return BI_NONE;
    bi_graph_replace(g, sum, fused);
    return g->nodes[g->n_nodes - 1].out[1];
}

static bi_value_id to_norm_pool(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    a.eps = m->node[1]->attr.eps;
    a.rms = m->node[1]->op == BI_OP_RMSNORM;
    return NEW(g, BI_OP_NORM_POOL, &a, m->var[X], m->var[W], m->var[B], m->var[START]);
}

/* w [h_i | e | h_j] = w_1 h_i + w_2 e + w_3 h_j: the first and the last once per residue, and
 * nothing is gathered but their results. */
static bi_value_id to_edge_linear(struct bi_graph *g, const struct match *m)
{
    int64_t d = g->values[m->var[X]].shape[1], c = g->values[m->var[R]].shape[1];
    bi_value_id w = m->var[W], edge, self, other;
    struct bi_attr a = {.k = (int32_t)g->values[m->var[V]].shape[1], .act = m->node[0]->attr.act};
    edge = NEW(g, BI_OP_LINEAR, NULL, m->var[R], bi_weight_columns(g, w, d, c), m->var[B]);
    self = NEW(g, BI_OP_LINEAR, NULL, m->var[X], bi_weight_columns(g, w, 0, d));
    other = NEW(g, BI_OP_LINEAR, NULL, m->var[X], bi_weight_columns(g, w, d + c, d));
    return NEW(g, BI_OP_EDGE_SUM, &a, edge, self, other, BI_NONE, BI_NONE, BI_NONE, BI_NONE,
               m->var[V]);
}

static bi_value_id to_edge_sum_gelu(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[1]->attr;
    a.act = BI_ACT_GELU;
    return bi_node_add(g, BI_OP_EDGE_SUM, m->node[1]->in, bi_op_n_in(BI_OP_EDGE_SUM), &a);
}

/* A linear after a sum instead of before it: once per residue. Its bias counts once for every
 * term. */
static bi_value_id to_neighbor_sum_linear(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    const struct bi_node *sum = m->node[0], *linear = m->node[1];
    bi_value_id s = NEW(g, BI_OP_NEIGHBOR_SUM, &a, linear->in[0], sum->in[1], sum->in[2],
                        sum->in[3]),
                weight;
    if (s == BI_NONE)
        return BI_NONE;
    weight = g->nodes[g->n_nodes - 1].out[1];
    bi_graph_replace(g, sum->out[1], weight);
    s = NEW(g, BI_OP_LINEAR, NULL, s, linear->in[1]);
    return NEW(g, BI_OP_ROW_BIAS, NULL, s, linear->in[2], weight);
}

static bi_value_id to_edge_message(struct bi_graph *g, const struct match *m)
{
    struct bi_attr a = m->node[0]->attr;
    bi_value_id in[13], fused;
    memcpy(in, m->node[2]->in, 10 * sizeof in[0]);
    in[10] = m->node[1]->in[1];
    in[11] = m->node[1]->in[2];
    in[12] = m->node[0]->in[1];
    fused = bi_node_add(g, BI_OP_EDGE_MESSAGE, in, 13, &a);
    if (fused != BI_NONE)
        bi_graph_replace(g, m->node[0]->out[1], g->nodes[g->n_nodes - 1].out[1]);
    return fused;
}

/* ---- the table: first match wins, root first ---- */

struct rule {
    const char *name;
    const struct pattern *pattern;
    bool (*guard)(const struct bi_graph *g, const struct match *m); /* NULL = always */
    bi_value_id (*rewrite)(struct bi_graph *g, const struct match *m);
};

#define SCORES_XR OP_(SCORES, 2, SHARED, VAR(X), VAR(R), VAR(START))
#define ROPED(at, v) OP_(ROPE, at, SHARED, VAR(v), VAR(TABLE), VAR(START))

static const struct rule rules[] = {
    {"embedding_scale", OP_(SCALE_ROWS, 0, 0, OP_(EMBEDDING, 1, 0, VAR(W), VAR(X)), VAR(R)), NULL,
     to_embedding_scale},
    {"linear", OP_(ADD, 0, 0, OP_(MATMUL, 1, 0, VAR(X), VAR(W)), VAR(B)), bias_is_row, to_linear},
    {"linear_unbiased", OP_(MATMUL, 0, 0, VAR(X), VAR(W)), has_no_bias, to_linear_unbiased},
    {"linear_gelu", OP_(GELU, 0, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W), OPT(B))),
     linear_has_bias_only, to_linear_act},
    {"linear_silu", OP_(SILU, 0, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W), OPT(B))),
     linear_has_bias_only, to_linear_act},
    {"linear_relu", OP_(NORM_ACT, 0, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W), OPT(B))), plain_relu,
     to_linear_act},
    {"linear_gelu_tanh", OP_(NORM_ACT, 0, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W), OPT(B))),
     plain_gelu_tanh, to_linear_act},
    {"linear_gated",
     OP_(MUL, 0, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W)), OP_(LINEAR, 2, 0, VAR(X), VAR(W2))),
     gates_fit, to_linear_gated},
    {"embedding_windows",
     OP_(WINDOWS, 0, 0, OP_(NORM_ACT, 1, 0, OP_(EMBEDDING, 2, 0, VAR(W), VAR(X)))), windows_of_ids,
     to_embedding_windows},
    {"half_pool", OP_(PAIR_POOL, 0, 0, VAR(X), OP_(MATMUL, 1, 0, VAR(X), VAR(W))), NULL,
     to_half_pool},
    {"linear_residual", OP_(ADD, 0, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W), OPT(B)), VAR(R)),
     residual_fits, to_linear_residual},
    {"attention",
     OP_(MIX, 0, 0, OP_(SOFTMAX, 1, 0, OP_(SCORES, 2, 0, VAR(X), VAR(R), VAR(START)), VAR(START)),
         VAR(V), VAR(START)),
     same_width, to_attention},
    {"attention_bias",
     OP_(MIX, 0, 0,
         OP_(SOFTMAX, 1, 0,
             OP_(RELATIVE_BIAS, 2, 0, OP_(SCORES, 3, 0, VAR(X), VAR(R), VAR(START)), VAR(BIAS),
                 VAR(START)),
             VAR(START)),
         VAR(V), VAR(START)),
     same_width, to_attention_bias},
    {"attention_contacts",
     OP_(CONTACTS, 0, 0, OP_(SOFTMAX, 1, SHARED, SCORES_XR, VAR(START)), VAR(W), VAR(START),
         OPT(BEFORE)),
     NULL, to_attention_contacts},
    {"attention_rope",
     OP_(ATTENTION, 0, 0, ROPED(1, X), ROPED(2, R), VAR(V), VAR(START), NULL, OPT(BIAS)),
     not_rotated, to_attention_rope},
    {"attention_scale",
     OP_(ATTENTION, 0, 0, OP_(SCALE, 1, SHARED, VAR(X)), VAR(R), VAR(V), VAR(START), OPT(TABLE),
         OPT(BIAS)),
     NULL, to_attention_scale},
    {"contacts_rope",
     OP_(ATTENTION_CONTACTS, 0, 0, ROPED(1, X), ROPED(2, R), VAR(W), VAR(START), NULL, OPT(BEFORE)),
     NULL, to_contacts_rope},
    {"contacts_scale",
     OP_(ATTENTION_CONTACTS, 0, 0, OP_(SCALE, 1, SHARED, VAR(X)), VAR(R), VAR(W), VAR(START),
         OPT(TABLE), OPT(BEFORE)),
     NULL, to_contacts_scale},
    {"qkv_stack",
     OP_(ATTENTION, 0, 0, OP_(LINEAR, 1, SHARED, VAR(X), VAR(W), OPT(B)),
         OP_(LINEAR, 2, SHARED, VAR(X), VAR(W2), OPT(B2)),
         OP_(LINEAR, 3, SHARED, VAR(X), VAR(W3), OPT(B3)), VAR(START), OPT(TABLE), OPT(BIAS)),
     stackable, to_stacked},
    {"rel_qkv_stack",
     OP_(REL_ATTENTION, 0, 0, OP_(MATMUL, 1, 0, VAR(X), VAR(W)), OP_(MATMUL, 2, 0, VAR(X), VAR(W2)),
         OP_(MATMUL, 3, 0, VAR(X), VAR(W3)), VAR(R), VAR(B), VAR(V)),
     rel_stackable, to_rel_stacked},
    {"qk_norm_stack",
     OP_(ATTENTION, 0, 0,
         OP_(LAYERNORM, 4, 0, OP_(LINEAR, 1, 0, VAR(X), VAR(W), OPT(B)), VAR(GAIN)),
         OP_(LAYERNORM, 5, 0, OP_(LINEAR, 2, 0, VAR(X), VAR(W2), OPT(B2)), VAR(GAIN2)),
         OP_(LINEAR, 3, 0, VAR(X), VAR(W3), OPT(B3)), VAR(START), OPT(TABLE), OPT(BIAS)),
     norms_stackable, to_norms_stacked},
    {"norm_pool", OP_(MEAN_POOL, 0, 0, OP_(LAYERNORM, 1, 0, VAR(X), VAR(W), OPT(B)), VAR(START)),
     one_group, to_norm_pool},
    {"rmsnorm_pool", OP_(MEAN_POOL, 0, 0, OP_(RMSNORM, 1, 0, VAR(X), VAR(W)), VAR(START)), NULL,
     to_norm_pool},
    {"edge_linear",
     OP_(LINEAR, 0, 0, OP_(EDGE_CONCAT, 1, SHARED, VAR(X), VAR(R), VAR(V)), VAR(W), OPT(B)),
     concat_is_split, to_edge_linear},
    {"edge_sum_gelu",
     OP_(GELU, 0, 0, OP_(EDGE_SUM, 1, 0, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY)), no_act,
     to_edge_sum_gelu},
    {"neighbor_sum_linear",
     OP_(NEIGHBOR_SUM, 0, 0, OP_(LINEAR, 1, 0, ANY, ANY, ANY), ANY, ANY, ANY), plain_linear,
     to_neighbor_sum_linear},
    {"edge_message",
     OP_(NEIGHBOR_SUM, 0, 0,
         OP_(LINEAR, 1, 0, OP_(EDGE_SUM, 2, 0, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY, ANY),
             ANY, ANY),
         ANY, ANY, ANY),
     message_fits, to_edge_message},
    {"add_layernorm", OP_(LAYERNORM, 0, 0, OP_(ADD, 1, SHARED, VAR(X), VAR(R)), VAR(W), VAR(B)),
     same_shape, to_add_layernorm},
};

_Static_assert(BI_COUNT(rules) <= BI_RULE_MAX, "enlarge BI_RULE_MAX");

/* ---- the matcher ---- */

static bool match_value(const struct bi_graph *g, const struct pattern *p, bi_value_id id,
                        struct match *m, bool root);

/* Inputs 0 and 1 in the order `swap` says. Depth is that of the constant pattern. */
static bool match_inputs(const struct bi_graph *g, const struct pattern *p,
                         const struct bi_node *node, struct match *m, bool swap)
{
    for (int i = 0; i < bi_op_n_in((enum bi_op_kind)p->op); i++) {
        int at = swap && i < 2 ? 1 - i : i;
        if (!p->in[i]) {
            if (node->in[at] != BI_NONE)
                return false;
        } else if (!match_value(g, p->in[i], node->in[at], m, false)) {
            return false;
        }
    }
    return true;
}

static bool match_value(const struct bi_graph *g, const struct pattern *p, bi_value_id id,
                        struct match *m, bool root)
{
    const struct bi_node *node;
    struct match saved;
    if (p->op == ANYTHING)
        return true;
    if (p->op < 0) {
        if (m->bound[p->var])
            return m->var[p->var] == id;
        if (id == BI_NONE && !p->optional)
            return false;
        m->bound[p->var] = true;
        m->var[p->var] = id;
        return true;
    }
    if (id == BI_NONE || g->values[id].kind != BI_VALUE_NODE || g->values[id].slot)
        return false;
    node = &g->nodes[g->values[id].node];
    if ((int)node->op != p->op || node->dead)
        return false;
    if (!root && g->values[id].n_uses != 1 && !(p->flags & SHARED))
        return false;
    m->node[p->var] = node;
    saved = *m;
    if (match_inputs(g, p, node, m, false))
        return true;
    *m = saved;
    return p->op == BI_OP_ADD && match_inputs(g, p, node, m, true);
}

static void match_clear(struct match *m)
{
    *m = (struct match){0};
    for (int i = 0; i < MAX_VARS; i++)
        m->var[i] = BI_NONE;
}

/* ---- application ---- */

const char *bi_rule_name(int index)
{
    return index >= 0 && index < (int)BI_COUNT(rules) ? rules[index].name : NULL;
}

/* skip -> one flag per rule */
static int parse_skip(const char *skip, bool *off, struct bioinfer_error *err)
{
    while (skip && *skip) {
        size_t n = strcspn(skip, ",");
        bool known = n == 0;
        for (size_t i = 0; i < BI_COUNT(rules); i++)
            if ((n == 3 && !memcmp(skip, "all", 3)) ||
                (strlen(rules[i].name) == n && !memcmp(skip, rules[i].name, n)))
                known = off[i] = true;
        if (!known)
            return bi_fail(err, BIOINFER_INVALID, "no fusion rule is called '%.*s'", (int)n, skip);
        skip += n + (skip[n] == ',');
    }
    return 0;
}

/* Tries every rule on every node of the pass; returns firings. */
static int run_pass(struct bi_graph *g, const bool *off, struct bi_rule_trace *trace,
                    struct bioinfer_error *err, int *st)
{
    int fired = 0;
    size_t n_nodes = g->n_nodes; /* new nodes wait for the next pass */
    for (size_t i = 0; i < n_nodes && !*st; i++) {
        for (size_t r = 0; r < BI_COUNT(rules); r++) {
            bi_value_id from = g->nodes[i].out[0], to;
            struct match m;
            match_clear(&m);
            if (off[r] || g->nodes[i].dead || !g->values[from].n_uses ||
                !match_value(g, rules[r].pattern, from, &m, true) ||
                (rules[r].guard && !rules[r].guard(g, &m)))
                continue;
            /* rewrites add nodes, which may move the array the match points into */
            struct bi_node kept[MAX_NODES];
            for (int k = 0; k < MAX_NODES; k++)
                if (m.node[k]) {
                    kept[k] = *m.node[k];
                    m.node[k] = &kept[k];
                }
            g->phase = kept[0].phase;
            to = rules[r].rewrite(g, &m);
            if ((*st = bi_graph_status(g, err)))
                break;
            bi_graph_replace(g, from, to);
            g->nodes[i].dead = true;
            bi_graph_count_uses(g);
            fired++;
            if (trace) {
                trace->fired[r]++;
                if (trace->text)
                    bi_buf_printf(trace->text, "%s: %s at node %zu\n", rules[r].name,
                                  bi_ops[kept[0].op]->name, i);
            }
            break;
        }
    }
    return fired;
}

int bi_rules_apply(struct bi_graph *g, const char *skip, struct bi_rule_trace *trace,
                   struct bioinfer_error *err)
{
    bool off[BI_COUNT(rules)] = {false};
    int fired = 1, st = parse_skip(skip, off, err);
    if (!st)
        st = bi_graph_verify(g, err);
    if (st)
        return st;
    bi_graph_count_uses(g);
    while (!st && fired) {
        fired = run_pass(g, off, trace, err, &st);
        if (!st) {
            bi_graph_dce(g);
            st = bi_graph_sort(g, err);
        }
        if (!st)
            st = bi_graph_verify(g, err);
        bi_graph_count_uses(g);
    }
    return st;
}
