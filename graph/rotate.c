/* rotate.c - queries and keys rotated before attention: by the norm that makes them, in float32 before
 * they are rounded. For devices whose attention copies tiles straight into the matrix units and
 * has no place to rotate them also by the linear that makes them, or else by a rope of their own. */
#include "graph.h"

#include "../kernels/linear.h"
#include "../ops/op.h"

/* Only attention over the same pair with the same table reads q and k. */
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
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value == attention->in[0] || g->outputs[i].value == attention->in[1])
            return false;
    return true;
}

static struct bi_node *producer(const struct bi_graph *g, bi_value_id id, enum bi_op_kind op)
{
    const struct bi_value *v = &g->values[id];
    struct bi_node *n = v->kind == BI_VALUE_NODE ? &g->nodes[v->node] : NULL;
    return n && n->op == op ? n : NULL;
}

/* The linear whose first columns are q, then k, and that has nothing else to do. */
static struct bi_node *linear_of(const struct bi_graph *g, const struct bi_node *attention)
{
    const struct bi_node *q = producer(g, attention->in[0], BI_OP_COLUMNS);
    const struct bi_node *k = producer(g, attention->in[1], BI_OP_COLUMNS);
    struct bi_node *n = q && k && q->in[0] == k->in[0] ? producer(g, q->in[0], BI_OP_LINEAR) : NULL;
    int32_t width = attention->attr.n_heads * attention->attr.head_dim;
    if (!n || q->attr.first || k->attr.first != width || n->attr.act || n->attr.gated ||
        n->in[3] != BI_NONE || n->in[4] != BI_NONE || attention->attr.head_dim > 64 ||
        g->values[n->in[0]].shape[1] % 8 || producer(g, n->in[0], BI_OP_COLUMNS) ||
        producer(g, n->in[0], BI_OP_WINDOWS))
        return NULL;
    return n;
}

/* The norm whose halves are q and k, read by nothing else: their heads are at hand there. */
static struct bi_node *norm_of(const struct bi_graph *g, const struct bi_node *attention)
{
    const struct bi_node *q = producer(g, attention->in[0], BI_OP_COLUMNS);
    const struct bi_node *k = producer(g, attention->in[1], BI_OP_COLUMNS);
    struct bi_node *n = q && k && q->in[0] == k->in[0] ? producer(g, q->in[0], BI_OP_LAYERNORM)
                                                       : NULL;
    int32_t width = attention->attr.n_heads * attention->attr.head_dim;
    if (!n || n->attr.groups != 2 || n->in[3] != BI_NONE || q->attr.first ||
        k->attr.first != width || g->values[n->in[0]].dtype != g->values[attention->in[0]].dtype)
        return NULL;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int j = 0; j < BI_NODE_IN; j++)
            if (g->nodes[i].in[j] == n->out[0] && &g->nodes[i] != q && &g->nodes[i] != k)
                return NULL;
    return n;
}

int bi_graph_rotate_early(struct bi_graph *g, enum bi_dtype dtype, bool all,
                          struct bioinfer_error *err)
{
    size_t n_nodes = g->n_nodes;
    for (size_t i = 0; i < n_nodes; i++) {
        struct bi_node a = g->nodes[i];
        bi_value_id rotated[2] = {a.in[0], a.in[1]};
        struct bi_node *linear, *norm;
        int32_t d = a.attr.head_dim;
        if (a.op != BI_OP_ATTENTION || a.in[4] == BI_NONE || g->values[a.in[0]].dtype != dtype ||
            (d != 16 && d != 32 && d != 64 && d != 128) || !read_by_attention_only(g, &a))
            continue;
        if ((norm = norm_of(g, &a))) {
            norm->in[3] = a.in[4];
            norm->in[4] = a.in[3];
            norm->attr.head_dim = d;
        } else if (!all) {
            continue;
        } else if ((linear = linear_of(g, &a))) {
            linear->in[4] = a.in[4];
            linear->in[5] = a.in[3];
            linear->attr.n = 2 * a.attr.n_heads * d;
            linear->attr.head_dim = d;
        } else {
            struct bi_attr rope = {.n_heads = a.attr.n_heads, .head_dim = d, .half = a.attr.half};
            g->phase = a.phase;
            for (int k = 0; k < 2; k++) {
                rotated[k] = bi_node_add(
                    g, BI_OP_ROPE, (const bi_value_id[]){a.in[k], a.in[4], a.in[3]}, 3, &rope);
                if (rotated[k] == BI_NONE)
                    return bi_graph_status(g, err);
            }
        }
        for (size_t j = 0; j < n_nodes; j++) {
            struct bi_node *n = &g->nodes[j];
            if ((n->op != BI_OP_ATTENTION && n->op != BI_OP_ATTENTION_CONTACTS) ||
                n->in[0] != a.in[0] || n->in[4] != a.in[4])
                continue;
            n->in[0] = rotated[0];
            n->in[1] = rotated[1];
            n->in[4] = BI_NONE;
        }
    }
    return bi_graph_sort(g, err);
}
