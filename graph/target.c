/* target.c - whether a target has kernels for nodes: launches as they will be, at addresses that
 * are made up. */
#include "rules.h"

#include "../ops/op.h"

/* Addresses begin there; they are multiples of BI_ALIGN, as those of a plan. */
static const uintptr_t made_up = (uintptr_t)1 << 30;

/* Elements between rows of a value, and *offset bytes from where the memory it is in begins. */
static int64_t rows_apart(const struct bi_graph *g, bi_value_id id, uintptr_t *offset)
{
    const struct bi_value *v = &g->values[id];
    const struct bi_node *n = v->kind == BI_VALUE_NODE ? &g->nodes[v->node] : NULL;
    int64_t ld;
    if (!n || !bi_ops[n->op]->view)
        return v->rank >= 2 ? bi_value_elements(v) / (v->shape[0] ? v->shape[0] : 1) : 1;
    ld = rows_apart(g, n->in[0], offset);
    *offset += (uintptr_t)bi_view_first(n, ld) * (uintptr_t)bi_dtype_bits(v->dtype) / 8;
    return ld;
}

/* Makes up where a value is; BI_NONE is nowhere. */
static void place(const struct bi_graph *g, bi_value_id id, void **at, int64_t *ld,
                  enum bi_dtype *dtype)
{
    uintptr_t offset = made_up;
    *dtype = BI_F32;
    if (id == BI_NONE)
        return;
    *dtype = g->values[id].dtype;
    *ld = rows_apart(g, id, &offset);
    *at = (void *)offset; /* only how it is aligned counts */
}

bool bi_target_takes(const struct bi_target *target, const struct bi_graph *g,
                     const struct bi_node *node)
{
    const struct bi_op *op = bi_ops[node->op];
    struct bi_bind b = {.counts = NULL};
    struct bi_launch l = {.op = op};
    if (!target || !target->takes || op->view)
        return true;
    b.gate_block = target->gate_block;
    for (int k = 0; k < BI_NODE_IN; k++)
        place(g, node->in[k], &b.in[k], &b.in_ld[k], &l.in_dtype[k]);
    for (int k = 0; k < BI_NODE_OUT; k++)
        place(g, node->out[k], &b.out[k], &b.out_ld[k], &l.out_dtype[k]);
    op->launch(g, node, &b, &l);
    return target->takes(target->device, &l);
}

bool bi_target_takes_new(const struct bi_target *target, struct bi_graph *g, size_t first)
{
    size_t i = first;
    while (i < g->n_nodes && (g->nodes[i].dead || bi_target_takes(target, g, &g->nodes[i])))
        i++;
    if (i == g->n_nodes)
        return true;
    for (i = first; i < g->n_nodes; i++)
        bi_graph_kill(g, i);
    return false;
}
