/* compile.c - from a model and a shape to a program: build, fuse, plan, describe, bind. */
#include <string.h>

#include "engine.h"

static const char *const input_names[BI_IN_COUNT] = {
    [BI_IN_IDS] = "ids", [BI_IN_SCALE] = "scale", [BI_IN_START] = "start", [BI_IN_ROWS] = "rows"};

int64_t bi_bucket(int64_t n)
{
    int64_t step = 4; /* a quarter of the power of two at or below n */
    if (n <= 16)
        return 16;
    while (step * 8 <= n)
        step *= 2;
    return (n + step - 1) / step * step;
}

int bi_plan_graph(struct bi_graph **out, const struct bi_compile *c, bool fuse,
                  struct bioinfer_error *err)
{
    struct bi_graph *g = NULL;
    int st = bi_graph_new(&g, c->model->base.env, err);
    if (st)
        return st;
    g->n_tokens = c->shape.n_tokens;
    g->n_seqs = c->shape.n_seqs;
    g->n_rows = c->shape.n_rows;
    g->longest = c->shape.longest;
    c->model->base.def->build(&c->model->base, g, &c->shape, &c->wants);
    if ((st = bi_graph_verify(g, err)))
        goto out;
    bi_graph_dce(g);
    st = fuse ? bi_rules_apply(g, c->no_rules, c->trace, err) : bi_graph_verify(g, err);
    if (!st && fuse && c->model->half)
        st = bi_graph_lower(g, err);
out:
    if (st)
        bi_graph_free(&g);
    *out = g;
    return st;
}

int bi_plan_new(struct bi_plan **out, const struct bi_compile *c, struct bioinfer_error *err)
{
    const struct bi_env *env = c->model->base.env;
    struct bi_plan *p = bi_zalloc(env, sizeof *p);
    size_t n;
    int st;
    if (!p)
        return bi_fail(err, BIOINFER_NOMEM, "plan");
    p->shape = c->shape;
    p->wants = c->wants;
    if ((st = bi_plan_graph(&p->graph, c, true, err)) ||
        (st = bi_memory_plan(&p->memory, p->graph, err)))
        goto out;
    n = p->graph->n_nodes + 1;
    p->program.launches = bi_calloc(env, n, sizeof *p->program.launches);
    p->program.seconds = NULL;
    p->op_of = bi_calloc(env, n, sizeof *p->op_of);
    if (!p->program.launches || !p->op_of) {
        st = bi_fail(err, BIOINFER_NOMEM, "plan: launches");
        goto out;
    }
    p->program.max_rows = c->shape.n_tokens;
    p->program.max_seqs = c->shape.n_seqs;
    p->program.longest = c->shape.longest;
    for (int i = 0; i < BI_IN_COUNT; i++)
        p->input_at[i] = -1;
    for (size_t i = 0; i < p->graph->n_values; i++) {
        const struct bi_value *v = &p->graph->values[i];
        int kind = 0;
        if (v->kind != BI_VALUE_INPUT || !v->n_uses)
            continue;
        while (kind < BI_IN_COUNT && strcmp(v->name, input_names[kind]))
            kind++;
        if (kind == BI_IN_COUNT) {
            st = bi_fail(err, BIOINFER_INTERNAL, "%s: the engine has no input called %s",
                         c->model->base.def->name, v->name);
            goto out;
        }
        p->input_at[kind] = (int64_t)p->memory.slots[i].offset;
    }
out:
    if (st)
        bi_plan_free(&p, env);
    *out = p;
    return st;
}

int bi_plan_bind(struct bi_plan *plan, struct bioinfer_model *model, void *input,
                 void *activation, void *output, struct bioinfer_error *err)
{
    const struct bi_graph *g = plan->graph;
    int n = 0, st;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *node = &g->nodes[i];
        const struct bi_op *op = bi_ops[node->op];
        struct bi_launch *l = &plan->program.launches[n];
        struct bi_bind b = {.counts = input};
        if (op->view)
            continue;
        for (int k = 0; k < BI_NODE_IN + BI_NODE_OUT; k++) {
            bool is_in = k < BI_NODE_IN;
            bi_value_id id = is_in ? node->in[k] : node->out[k - BI_NODE_IN];
            const struct bi_slot *s;
            char *base = NULL;
            void *ptr = NULL;
            if (id == BI_NONE)
                continue;
            s = &plan->memory.slots[id];
            if (is_in && op->layout[k] != BI_LAYOUT_PLAIN && s->place != BI_PLACE_WEIGHT)
                return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d must be a weight", op->name, k);
            if (s->place == BI_PLACE_WEIGHT) {
                enum bi_layout layout = op->layout[k];
                if (layout == BI_LAYOUT_LINEAR && g->values[node->in[0]].dtype == BI_F16)
                    layout = BI_LAYOUT_LINEAR_F16;
                if ((st = bi_store_get(model, &g->values[id], layout, &ptr, err)))
                    return st;
            } else {
                base = s->place == BI_PLACE_INPUT    ? input
                       : s->place == BI_PLACE_OUTPUT ? output
                                                     : activation;
                ptr = base + s->offset;
            }
            if (is_in) {
                b.in[k] = ptr;
                b.in_ld[k] = s->ld;
            } else {
                b.out[k - BI_NODE_IN] = ptr;
                b.out_ld[k - BI_NODE_IN] = s->ld;
            }
        }
        *l = (struct bi_launch){.op = op};
        for (int k = 0; k < BI_NODE_IN; k++)
            l->in_dtype[k] = node->in[k] == BI_NONE ? BI_F32 : g->values[node->in[k]].dtype;
        for (int k = 0; k < BI_NODE_OUT; k++)
            l->out_dtype[k] = node->out[k] == BI_NONE ? BI_F32 : g->values[node->out[k]].dtype;
        op->cost(g, node, &l->flops, &l->bytes);
        op->launch(g, node, &b, l);
        plan->op_of[n++] = node->op;
    }
    plan->program.n_launches = n;
    return model->ops->module(model->device, plan->program.launches, n, err);
}

void bi_plan_free(struct bi_plan **plan, const struct bi_env *env)
{
    struct bi_plan *p = *plan;
    if (!p)
        return;
    bi_memory_plan_free(&p->memory);
    bi_graph_free(&p->graph);
    bi_free(env, p->program.launches);
    bi_free(env, p->program.seconds);
    bi_free(env, p->op_of);
    bi_free(env, p);
    *plan = NULL;
}
