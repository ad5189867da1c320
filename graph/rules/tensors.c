/* tensors.c - tensor_mix: products of the three parts of matrices, by weights of their own, in one
 * launch; tensor_sums: a derivative takes what others gave to the same sum; tensor_pair: two
 * functions of an atom's matrices, of which one reads what the other gives, in one launch.
 *
 * A node's depth is the longest way to it from what it follows from. Nodes of one depth do not
 * follow from each other, so three of them may become one: no circle comes of it. */
#include <string.h>

#include "../../ops/op.h"
#include "rule.h"

static const enum bi_axis axes[3] = {BI_AXIS_TOKENS, BI_AXIS_VECTORS, BI_AXIS_TENSORS};

/* Depths of the nodes, which are in order; NULL = memory ran out, which the graph knows. */
static int32_t *depths_of(struct bi_graph *g)
{
    int32_t *depth = bi_calloc(g->arena.env, g->n_nodes + 1, sizeof *depth);
    if (!depth)
        bi_graph_fail(g, BIOINFER_NOMEM, "rule tensor_mix");
    for (size_t i = 0; depth && i < g->n_nodes; i++)
        for (int k = 0; k < BI_NODE_IN; k++) {
            const struct bi_node *from = bi_rule_producer(g, g->nodes[i].in[k]);
            const int32_t d = from ? depth[from - g->nodes] + 1 : 0;
            if (d > depth[i])
                depth[i] = d;
        }
    return depth;
}

/* Is it a bare product, or one with a residual, of part `part` of matrices? */
static bool is_part(const struct bi_graph *g, const struct bi_node *n, int part)
{
    const struct bi_value *x;
    if (n->dead || (n->op != BI_OP_MATMUL && n->op != BI_OP_LINEAR))
        return false;
    if (n->op == BI_OP_MATMUL && BI_ATTR(n, matmul)->terms)
        return false;
    if (n->op == BI_OP_LINEAR &&
        (BI_ATTR(n, linear)->act || BI_ATTR(n, linear)->gated || BI_ATTR(n, linear)->terms ||
         n->in[2] != BI_NONE || n->in[4] != BI_NONE))
        return false;
    x = &g->values[n->in[0]];
    return x->axis == axes[part] && x->dtype == BI_F32 &&
           g->values[n->in[1]].kind == BI_VALUE_WEIGHT;
}

static bi_value_id residual_of(const struct bi_node *n)
{
    return n->op == BI_OP_LINEAR ? n->in[3] : BI_NONE;
}

/* Do these products, of one depth, have the sizes of the parts of one matrix? */
static bool belong(const struct bi_graph *g, const struct bi_node *vectors,
                   const struct bi_node *other, int part)
{
    const struct bi_value *x = &g->values[vectors->in[0]], *w = &g->values[vectors->in[1]];
    const struct bi_value *y = &g->values[other->in[0]], *v = &g->values[other->in[1]];
    return x->shape[0] == 3 * (y->shape[0] / (2 * part + 1)) && y->shape[0] % (2 * part + 1) == 0 &&
           w->shape[0] == v->shape[0] && w->shape[1] == v->shape[1] &&
           vectors->phase == other->phase &&
           (residual_of(vectors) == BI_NONE) == (residual_of(other) == BI_NONE);
}

/* The other product of `part` that goes with that of vectors at node i: one whose operand is made
 * beside, or any; n_nodes = there is none. */
static size_t partner(const struct bi_graph *g, const int32_t *depth, size_t n_nodes, size_t i,
                      int part)
{
    const struct bi_node *from = bi_rule_producer(g, g->nodes[i].in[0]);
    size_t any = n_nodes;
    for (size_t j = 0; j < n_nodes; j++) {
        const struct bi_node *n = &g->nodes[j];
        if (depth[j] != depth[i] || !is_part(g, n, part) || !belong(g, &g->nodes[i], n, part))
            continue;
        if (bi_rule_producer(g, n->in[0]) == from)
            return j;
        any = j;
    }
    return any;
}

static void tensor_mix(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    const size_t n_nodes = g->n_nodes;
    int32_t *depth = depths_of(g);
    for (size_t i = 0; depth && i < n_nodes && !g->status; i++) {
        bi_value_id in[9];
        size_t of[3];
        if (!is_part(g, &g->nodes[i], 1))
            continue;
        of[0] = partner(g, depth, n_nodes, i, 0);
        of[1] = i;
        of[2] = partner(g, depth, n_nodes, i, 2);
        if (of[0] == n_nodes || of[2] == n_nodes)
            continue;
        for (int k = 0; k < 3; k++) {
            in[k] = g->nodes[of[k]].in[0];
            in[3 + k] = g->nodes[of[k]].in[1];
            in[6 + k] = residual_of(&g->nodes[of[k]]);
        }
        g->phase = g->nodes[i].phase;
        if (bi_node_add(g, BI_OP_TENSOR_MIX, in, 9, NULL) == BI_NONE ||
            !bi_target_takes_new(target, g, g->n_nodes - 1))
            continue;
        for (int k = 0; k < 3; k++) {
            const bi_value_id y = g->nodes[g->n_nodes - 1].out[k];
            bi_graph_replace(g, g->nodes[of[k]].out[0], y);
            g->nodes[of[k]].dead = true;
        }
        ++*fired;
    }
    bi_free(g->arena.env, depth);
}

const struct bi_rule bi_rule_tensor_mix = {
    .name = "tensor_mix",
    .needs = BI_TARGET_GPU,
    .pass = tensor_mix,
};

/* The live node that alone reads a value, and adds another one to it: *more; NULL = there is none.
 * It must be made at a lesser depth than node `at`, so that it does not follow from that. */
static struct bi_node *adder_of(struct bi_graph *g, const int32_t *depth, size_t at, bi_value_id id,
                                bi_value_id *more)
{
    struct bi_node *found = NULL;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < BI_NODE_IN && !g->nodes[i].dead; k++) {
            if (g->nodes[i].in[k] != id)
                continue;
            if (found || g->nodes[i].op != BI_OP_ADD)
                return NULL;
            found = &g->nodes[i];
            *more = found->in[1 - k];
        }
    if (!found || bi_rule_is_output(g, id) || *more == id ||
        g->values[*more].kind != BI_VALUE_NODE || g->values[*more].rank != g->values[id].rank ||
        memcmp(g->values[*more].shape, g->values[id].shape, sizeof g->values[id].shape) ||
        depth[g->values[*more].node] >= depth[at])
        return NULL;
    return found;
}

/* Moves the sums behind outputs `first` ... of node `at` into its inputs from `in` on, where all of
 * them have one. */
static void take_sums(struct bi_graph *g, const int32_t *depth, size_t at, int first, int n, int in,
                      int *fired)
{
    struct bi_node *adder[3];
    bi_value_id more[3];
    for (int k = 0; k < n; k++)
        if (g->nodes[at].in[in + k] != BI_NONE ||
            !(adder[k] = adder_of(g, depth, at, g->nodes[at].out[first + k], &more[k])))
            return;
    for (int k = 0; k < n; k++) {
        const bi_value_id sum = adder[k]->out[0];
        g->nodes[at].in[in + k] = more[k];
        adder[k]->dead = true;
        bi_graph_replace(g, sum, g->nodes[at].out[first + k]);
    }
    ++*fired;
}

static void tensor_sums(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    const size_t n_nodes = g->n_nodes;
    int32_t *depth = depths_of(g);
    (void)target;
    for (size_t i = 0; depth && i < n_nodes && !g->status; i++) {
        if (g->nodes[i].dead)
            continue;
        if (g->nodes[i].op == BI_OP_TENSOR_MESSAGE_GRAD) {
            take_sums(g, depth, i, 0, 3, 12, fired);
            take_sums(g, depth, i, 3, 1, 15, fired);
        } else if (g->nodes[i].op == BI_OP_TENSOR_EMBED_GRAD) {
            take_sums(g, depth, i, 0, 1, 12, fired);
        }
    }
    bi_free(g->arena.env, depth);
}

const struct bi_rule bi_rule_tensor_sums = {
    .name = "tensor_sums",
    .pass = tensor_sums,
};

/* Is it a function of tensor_map.h that a pair may have? */
static bool is_function(const struct bi_node *n)
{
    return !n->dead && n->op >= BI_OP_TENSOR_NORM && n->op <= BI_OP_TENSOR_SCALE_GRAD &&
           n->op != BI_OP_TENSOR_PRODUCT && n->op != BI_OP_TENSOR_PRODUCT_GRAD;
}

static int32_t parts_of(const struct bi_node *n)
{
    return n->op == BI_OP_TENSOR_NORM        ? BI_ATTR(n, tensor_norm)->parts
           : n->op == BI_OP_TENSOR_NORM_GRAD ? BI_ATTR(n, tensor_norm_grad)->parts
                                             : 1;
}

/* The node before node i in a pair, *at: where i has the matrix that it gives; NULL = there is none
 * that nothing else leads to i from. */
static const struct bi_node *first_of(const struct bi_graph *g, const int32_t *depth,
                                      size_t n_nodes, const struct bi_node *n, int *at)
{
    for (*at = 0; *at + 3 <= bi_op_n_in(n->op); ++*at) {
        const struct bi_node *first = bi_rule_producer(g, n->in[*at]);
        bool fits = first && (size_t)(first - g->nodes) < n_nodes && is_function(first) &&
                    first->phase == n->phase && bi_op_n_out(first->op) >= 3;
        for (int k = 0; fits && k < bi_op_n_in(n->op); k++) {
            const struct bi_node *from = bi_rule_producer(g, n->in[k]);
            fits = k >= *at && k < *at + 3
                       ? n->in[k] == first->out[k - *at]
                       : !from ||
                             ((size_t)(from - g->nodes) < n_nodes &&
                              depth[from - g->nodes] <= depth[first - g->nodes] && from != first);
        }
        if (fits)
            return first;
    }
    return NULL;
}

/* Makes one node of two. False: it would have too many inputs or outputs, or no kernel. */
static bool make_pair(struct bi_graph *g, const struct bi_target *target, size_t first,
                      size_t second, int at)
{
    const struct bi_node a = g->nodes[first], b = g->nodes[second];
    const int a_in = bi_op_n_in(a.op), a_out = bi_op_n_out(a.op);
    const int b_in = bi_op_n_in(b.op), b_out = bi_op_n_out(b.op);
    bi_value_id in[BI_NODE_IN];
    int n = 0;
    if (a_in + b_in - 3 > BI_NODE_IN || a_out + b_out > BI_NODE_OUT)
        return false;
    for (int k = 0; k < a_in; k++)
        in[n++] = a.in[k];
    for (int k = 0; k < b_in; k++)
        if (k < at || k >= at + 3)
            in[n++] = b.in[k];
    g->phase = b.phase;
    if (bi_node_add(g, BI_OP_TENSOR_PAIR, in, n,
                    BI_ATTRS(tensor_pair, .first = (int32_t)(a.op - BI_OP_TENSOR_NORM),
                             .second = (int32_t)(b.op - BI_OP_TENSOR_NORM), .at = at,
                             .first_parts = parts_of(&a), .second_parts = parts_of(&b))) ==
            BI_NONE ||
        !bi_target_takes_new(target, g, g->n_nodes - 1))
        return false;
    for (int k = 0; k < a_out + b_out; k++)
        bi_graph_replace(g, k < a_out ? a.out[k] : b.out[k - a_out],
                         g->nodes[g->n_nodes - 1].out[k]);
    g->nodes[first].dead = g->nodes[second].dead = true;
    return true;
}

static void tensor_pair(struct bi_graph *g, const struct bi_target *target, int *fired)
{
    const size_t n_nodes = g->n_nodes;
    int32_t *depth = depths_of(g);
    for (size_t i = 0; depth && i < n_nodes && !g->status; i++) {
        const struct bi_node *first;
        int at;
        if (is_function(&g->nodes[i]) && (first = first_of(g, depth, n_nodes, &g->nodes[i], &at)))
            *fired += make_pair(g, target, (size_t)(first - g->nodes), i, at);
    }
    bi_free(g->arena.env, depth);
}

const struct bi_rule bi_rule_tensor_pair = {
    .name = "tensor_pair",
    .needs = BI_TARGET_GPU,
    .pass = tensor_pair,
};
