/* compile.c - from a model and a shape to a program: build, fuse, plan, describe, bind. */
#include <string.h>

#include "engine.h"

int64_t bi_bucket(int64_t n)
{
    int64_t step = 4; /* a quarter of the power of two at or below n */
    if (n <= 16)
        return 16;
    while (step * 8 <= n)
        step *= 2;
    return (n + step - 1) / step * step;
}

static bool takes(const void *device, const struct bi_launch *launch)
{
    const struct bioinfer_model *model = device;
    return model->ops->takes(model->device, launch);
}

int bi_plan_graph(struct bi_graph **out, const struct bioinfer_model *model,
                  const struct bi_recipe *recipe, bool fuse, struct bioinfer_error *err)
{
    const bool half = model->half && !recipe->wide;
    const struct bi_target target = {.traits = model->caps.traits | (half ? BI_TARGET_MATRIX : 0),
                                     .operands = half ? BI_F16 : BI_F32,
                                     .gate_block = model->caps.gate_block,
                                     .takes = model->ops->takes ? takes : NULL,
                                     .device = model};
    struct bi_graph *g = NULL;
    int st = bi_graph_new(&g, model->base.env, err);
    *out = NULL;
    if (st)
        return st;
    if ((st = recipe->build(recipe->user, g, err)) || (st = bi_graph_verify(g, err)))
        goto out;
    bi_graph_dce(g);
    st = fuse ? bi_rules_apply(g, &target, recipe->no_rules, recipe->trace, err)
              : bi_graph_verify(g, err);
out:
    if (st)
        bi_graph_free(&g);
    *out = g;
    return st;
}

int bi_plan_dump(const struct bioinfer_model *model, struct bi_recipe *recipe, bool fused,
                 bool trace, int (*write)(void *user, const char *text, size_t len), void *user,
                 struct bioinfer_error *err)
{
    struct bi_buf text = {.env = model->base.env};
    struct bi_rule_trace firings = {{0}, trace ? &text : NULL};
    struct bi_graph *g = NULL;
    int st;
    recipe->trace = &firings;
    if ((st = bi_plan_graph(&g, model, recipe, fused || trace, err)))
        goto out;
    if (!trace)
        bi_graph_dump(g, &text);
    for (int i = 0; trace && bi_rule_name(i); i++)
        bi_buf_printf(&text, "%-20s %d\n", bi_rule_name(i), firings.fired[i]);
    if (text.failed)
        st = bi_fail(err, BIOINFER_NOMEM, "dump");
    else if (write(user, text.data, text.size))
        st = bi_fail(err, BIOINFER_IO, "dump: the caller's write failed");
out:
    bi_graph_free(&g);
    bi_buf_free(&text);
    return st;
}

int bi_plan_new(struct bi_plan **out, const struct bioinfer_model *model,
                const struct bi_recipe *recipe, struct bioinfer_error *err)
{
    const struct bi_env *env = model->base.env;
    struct bi_plan *p = bi_zalloc(env, sizeof *p);
    int st;
    if (!p)
        return bi_fail(err, BIOINFER_NOMEM, "plan");
    p->key = recipe->key;
    if ((st = bi_plan_graph(&p->graph, model, recipe, true, err)) ||
        (st = bi_memory_plan(&p->memory, p->graph, err)))
        goto out;
    if (!(p->op_of = bi_calloc(env, p->graph->n_nodes + 1, sizeof *p->op_of))) {
        st = bi_fail(err, BIOINFER_NOMEM, "plan: launches");
        goto out;
    }
    for (size_t i = 0; i < p->graph->n_values; i++) {
        const struct bi_value *v = &p->graph->values[i];
        if (v->kind != BI_VALUE_INPUT || !v->n_uses)
            continue;
        if (v->kept ? p->n_kept == BI_EXEC_KEPT : p->n_inputs == BI_EXEC_INPUTS) {
            st = bi_fail(err, BIOINFER_INTERNAL, "%s: a graph has more than %d inputs",
                         model->base.name, v->kept ? BI_EXEC_KEPT : BI_EXEC_INPUTS);
            goto out;
        }
        *(v->kept ? &p->kept[p->n_kept++] : &p->inputs[p->n_inputs++]) = (struct bi_plan_input){
            v->name, p->memory.slots[i].offset};
    }
out:
    if (st)
        bi_plan_free(&p, env);
    *out = p;
    return st;
}

/* The weights that launches take, in the order of nodes and their inputs. */
struct weights {
    struct bi_weight_need *needs;
    void **ptrs;
    size_t n;
};

static bool is_weight(const struct bi_plan *plan, const struct bi_node *node, int k)
{
    return node->in[k] != BI_NONE && plan->memory.slots[node->in[k]].place == BI_PLACE_WEIGHT;
}

static int load_weights(const struct bi_plan *plan, struct bioinfer_model *model, struct weights *w,
                        struct bioinfer_error *err)
{
    const struct bi_env *env = model->base.env;
    const struct bi_graph *g = plan->graph;
    w->needs = bi_calloc(env, g->n_nodes * BI_NODE_IN + 1, sizeof *w->needs);
    w->ptrs = bi_calloc(env, g->n_nodes * BI_NODE_IN + 1, sizeof *w->ptrs);
    if (!w->needs || !w->ptrs)
        return bi_fail(err, BIOINFER_NOMEM, "plan: weights");
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *node = &g->nodes[i];
        const struct bi_op *op = bi_ops[node->op];
        for (int k = 0; !op->view && k < BI_NODE_IN; k++) {
            if (!is_weight(plan, node, k))
                continue;
            const struct bi_weight_form form = bi_weight_form(g, node, k);
            w->needs[w->n++] = (struct bi_weight_need){&g->values[node->in[k]], form.layout,
                                                       form.gated ? model->caps.gate_block : 0};
        }
    }
    return bi_store_load(model, w->needs, w->n, w->ptrs, err);
}

int bi_plan_load(const struct bi_plan *plan, struct bioinfer_model *model,
                 struct bioinfer_error *err)
{
    struct weights weights = {0};
    int st = load_weights(plan, model, &weights, err);
    bi_free(model->base.env, weights.needs);
    bi_free(model->base.env, weights.ptrs);
    return st;
}

int bi_plan_bind(struct bi_plan *plan, int slot, struct bioinfer_model *model, void *input,
                 void *activation, void *output, struct bioinfer_error *err)
{
    const struct bi_graph *g = plan->graph;
    struct bi_program *program = &plan->programs[slot];
    struct weights weights = {0};
    size_t next = 0; /* of the weights */
    int n = 0, st;
    if (!program->launches && !(program->launches = bi_calloc(model->base.env, g->n_nodes + 1,
                                                              sizeof *program->launches)))
        return bi_fail(err, BIOINFER_NOMEM, "plan: launches");
    program->max_rows = g->n_tokens;
    program->max_seqs = g->n_seqs;
    program->longest = g->longest;
    program->loops = false;
    if ((st = load_weights(plan, model, &weights, err)))
        goto out;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *node = &g->nodes[i];
        const struct bi_op *op = bi_ops[node->op];
        struct bi_launch *l = &program->launches[n];
        struct bi_bind b = {.counts = input, .gate_block = model->caps.gate_block};
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
            if (is_in && is_weight(plan, node, k)) {
                ptr = weights.ptrs[next++];
            } else if (is_in && op->layout[k] != BI_LAYOUT_PLAIN) {
                st = bi_fail(err, BIOINFER_INTERNAL, "%s: input %d must be a weight", op->name, k);
                goto out;
            } else if (s->place != BI_PLACE_NONE) {
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
        *l = (struct bi_launch){.op = op, .phase = node->phase};
        for (int k = 0; k < BI_NODE_IN; k++)
            l->in_dtype[k] = node->in[k] == BI_NONE ? BI_F32 : g->values[node->in[k]].dtype;
        for (int k = 0; k < BI_NODE_OUT; k++)
            l->out_dtype[k] = node->out[k] == BI_NONE ? BI_F32 : g->values[node->out[k]].dtype;
        op->cost(g, node, &l->flops, &l->bytes);
        op->launch(g, node, &b, l);
        program->loops |= node->phase & 1;
        plan->op_of[n++] = node->op;
    }
    program->n_launches = n;
    st = model->ops->module(model->device, program->launches, n, err);
out:
    bi_free(model->base.env, weights.needs);
    bi_free(model->base.env, weights.ptrs);
    return st;
}

void bi_plan_free(struct bi_plan **plan, const struct bi_env *env)
{
    struct bi_plan *p = *plan;
    if (!p)
        return;
    bi_memory_plan_free(&p->memory);
    bi_graph_free(&p->graph);
    for (int i = 0; i < BI_SLOTS; i++) {
        bi_free(env, p->programs[i].launches);
        bi_free(env, p->programs[i].seconds);
    }
    bi_free(env, p->op_of);
    bi_free(env, p);
    *plan = NULL;
}
