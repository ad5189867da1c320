/* follow.c - what stands between convolutions, done by the product in front of it: for devices whose
 * linear can (linear.h), as every value that is written and read again costs more there than what
 * is made of it.
 *
 *   norm_act(y), y = linear, read by others too        -> linear_norm: y and the norm
 *   pair_diff(y), y = linear with its residual         -> linear_diff: y and the differences
 *   norm_act(pair_pool(x, matmul(pair_diff(x))))       -> linear_pool */
#include "graph.h"

#include "../kernels/linear.h"
#include "../ops/op.h"

enum { LEAST_CHANNELS = 64 }; /* of a tap; what reads narrower ones has no such linear */

static const struct bi_node *producer(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = id == BI_NONE ? NULL : &g->values[id];
    return v && v->kind == BI_VALUE_NODE ? &g->nodes[v->node] : NULL;
}

/* A product of nothing but x, w and a bias, or a residual where that may be, of values of a type
 * and with rows that matrix units take whole. */
static const struct bi_node *product(const struct bi_graph *g, bi_value_id y, enum bi_dtype x_type,
                               enum bi_dtype y_type, bool residual)
{
    const struct bi_node *n = producer(g, y);
    const struct bi_node *before;
    const struct bi_value *x;
    if (!n || n->dead || (n->op != BI_OP_LINEAR && n->op != BI_OP_MATMUL) || n->attr.act ||
        n->attr.gated || n->attr.terms || g->values[n->in[1]].kind != BI_VALUE_WEIGHT)
        return NULL;
    for (int k = residual ? 4 : 3; k < BI_NODE_IN; k++)
        if (n->in[k] != BI_NONE)
            return NULL;
    x = &g->values[n->in[0]];
    before = producer(g, n->in[0]);
    if (x->dtype != x_type || g->values[y].dtype != y_type || x->axis != BI_AXIS_FIXED ||
        x->shape[1] % 8 || g->values[y].shape[1] % 8 || (before && before->op == BI_OP_COLUMNS))
        return NULL;
    if (before && before->op == BI_OP_WINDOWS) {
        const int64_t channels = g->values[before->in[0]].shape[1];
        if (channels % 8 || channels < LEAST_CHANNELS)
            return NULL;
    }
    return n;
}

/* A norm with an activation that the linear knows. */
static bool follows(const struct bi_graph *g, const struct bi_node *n, enum bi_dtype dtype)
{
    return n->op == BI_OP_NORM_ACT && !n->dead && n->in[1] != BI_NONE && n->in[2] != BI_NONE &&
           (n->attr.act == BI_NORM_ACT_QUICK_GELU || n->attr.act == BI_NORM_ACT_TANH_GELU) &&
           g->values[n->out[0]].dtype == dtype;
}

/* Node i is replaced by output `slot` of the newest node, `also` by its first. */
static void replace(struct bi_graph *g, size_t i, int slot, bi_value_id also)
{
    const struct bi_node *made = &g->nodes[g->n_nodes - 1];
    const bi_value_id out[2] = {made->out[0], made->out[1]};
    if (also != BI_NONE) {
        g->nodes[g->values[also].node].dead = true;
        bi_graph_replace(g, also, out[0]);
    }
    g->nodes[i].dead = true;
    bi_graph_replace(g, g->nodes[i].out[0], out[slot]);
    bi_graph_count_uses(g);
}

static bool follow_norm(struct bi_graph *g, size_t i, enum bi_dtype dtype)
{
    const struct bi_node n = g->nodes[i];
    const struct bi_attr a = {.act = n.attr.act, .half = dtype == BI_F16 ? 3 : 0};
    const struct bi_node *y;
    if (!follows(g, &n, dtype) || n.attr.pad || g->values[n.in[0]].n_uses < 2 ||
        !(y = product(g, n.in[0], dtype, dtype, false)))
        return false;
    if (bi_node_add(g, BI_OP_LINEAR_NORM, (const bi_value_id[]){y->in[0], y->in[1], y->in[2],
                                                                n.in[1], n.in[2]}, 5, &a) != BI_NONE)
        replace(g, i, 1, n.in[0]);
    return true;
}

static bool follow_diff(struct bi_graph *g, size_t i, enum bi_dtype dtype)
{
    const struct bi_node n = g->nodes[i];
    const struct bi_attr a = {.half = dtype == BI_F16 ? 3 : 0};
    const struct bi_node *y;
    if (n.op != BI_OP_PAIR_DIFF || n.dead || g->values[n.out[0]].dtype != dtype ||
        !(y = product(g, n.in[0], dtype, dtype, true)))
        return false;
    if (bi_node_add(g, BI_OP_LINEAR_DIFF, (const bi_value_id[]){y->in[0], y->in[1], y->in[2],
                                                                y->in[3]}, 4, &a) != BI_NONE)
        replace(g, i, 1, n.in[0]);
    return true;
}

static bool follow_pool(struct bi_graph *g, size_t i, enum bi_dtype dtype)
{
    const struct bi_node n = g->nodes[i], *pool = producer(g, n.in[0]), *logits;
    const struct bi_attr a = {.act = n.attr.act, .pad = n.attr.pad, .half = dtype == BI_F16};
    const bi_value_id y = n.in[0];
    if (!follows(g, &n, dtype) || !pool || pool->op != BI_OP_PAIR_POOL || pool->dead ||
        g->values[y].n_uses != 1 || g->values[y].dtype != dtype ||
        g->values[pool->in[0]].dtype != dtype || n.attr.pad > g->values[y].shape[0] ||
        pool->in[1] == BI_NONE || g->values[pool->in[1]].n_uses != 1 ||
        g->values[pool->in[1]].shape[0] != g->values[y].shape[0] ||
        !(logits = product(g, pool->in[1], dtype, BI_F32, false)) || logits->in[2] != BI_NONE)
        return false;
    if (bi_node_add(g, BI_OP_LINEAR_POOL, (const bi_value_id[]){logits->in[0], logits->in[1],
                                                                pool->in[0], n.in[1], n.in[2]},
                    5, &a) != BI_NONE)
        replace(g, i, 0, BI_NONE);
    return true;
}

int bi_graph_follow(struct bi_graph *g, enum bi_dtype dtype, struct bioinfer_error *err)
{
    const size_t n_nodes = g->n_nodes;
    int st;
    bi_graph_count_uses(g);
    for (size_t i = 0; i < n_nodes && !g->status; i++)
        if (!follow_pool(g, i, dtype) && !follow_norm(g, i, dtype))
            follow_diff(g, i, dtype);
    if ((st = bi_graph_status(g, err)))
        return st;
    bi_graph_dce(g);
    if ((st = bi_graph_sort(g, err)))
        return st;
    return bi_graph_verify(g, err);
}
