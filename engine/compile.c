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
    if ((st = recipe->build(recipe->user, recipe->shape, g, err)) || (st = bi_graph_verify(g, err)))
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

struct bi_plan_key bi_plan_key_of(const struct bi_recipe *recipe)
{
    struct bi_plan_key key = {
        .build = recipe->build, .n_sizes = (uint32_t)recipe->n_sizes, .wide = recipe->wide};
    assert(recipe->shape_size <= sizeof key.shape);
    if (recipe->shape_size)
        memcpy(key.shape, recipe->shape, recipe->shape_size);
    return key;
}

int bi_plan_new(struct bi_plan **out, const struct bioinfer_model *model,
                const struct bi_recipe *recipe, struct bioinfer_error *err)
{
    const struct bi_env *env = model->base.env;
    struct bi_plan *p = bi_zalloc(env, sizeof *p);
    int st;
    if (!p)
        return bi_fail(err, BIOINFER_NOMEM, "plan");
    p->key = bi_plan_key_of(recipe);
    if ((st = bi_plan_graph(&p->graph, model, recipe, true, err)) ||
        (st = bi_memory_plan(&p->memory, p->graph, err)))
        goto out;
    for (size_t i = 0; i < p->graph->n_nodes; i++)
        p->n_launches += (size_t)bi_graph_trips(p->graph, p->graph->nodes[i].phase);
    if (!(p->op_of = bi_calloc(env, p->n_launches + 1, sizeof *p->op_of))) {
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
            v->name, p->memory.slots[i].offset, p->memory.slots[i].step};
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

/* A program while its launches get their addresses. */
struct binding {
    struct bi_plan *plan;
    struct bi_program *program;
    const struct bioinfer_model *model;
    char *input, *activation, *output;
    struct weights weights;
    size_t next; /* number of the next weight */
    int n;       /* launches so far */
};

/* Finds where a value lies that a node reads or writes in a trip of its stage; NULL = nowhere. */
static void *address_of(const struct binding *b, const struct bi_node *node, bi_value_id id,
                        int32_t trip)
{
    const struct bi_graph *g = b->plan->graph;
    const struct bi_slot *s = &b->plan->memory.slots[id];
    const struct bi_value *v = &g->values[id];
    /* a value of this stage, or an input that is another one in each trip */
    const bool own = v->kind == BI_VALUE_INPUT ||
                     (v->kind == BI_VALUE_NODE && g->nodes[v->node].phase == node->phase);
    const uint64_t step = own ? s->step : 0;
    if (s->place == BI_PLACE_NONE)
        return NULL;
    return (s->place == BI_PLACE_INPUT    ? b->input
            : s->place == BI_PLACE_OUTPUT ? b->output
                                          : b->activation) +
           s->offset + (uint64_t)trip * step;
}

/* Appends the launch of a node in a trip of its stage; a view has none. */
static int bind_node(struct binding *b, const struct bi_node *node, int32_t trip,
                     struct bioinfer_error *err)
{
    const struct bi_graph *g = b->plan->graph;
    const struct bi_op *op = bi_ops[node->op];
    struct bi_launch *l = &b->program->launches[b->n];
    struct bi_bind at = {.counts = (const struct bi_counts *)(void *)b->input,
                         .gate_block = b->model->caps.gate_block};
    if (op->view)
        return 0;
    *l = (struct bi_launch){
        .op = op, .phase = node->phase, .trips = bi_graph_counter(g, node->phase)};
    for (int k = 0; k < BI_NODE_IN; k++) {
        const bi_value_id id = node->in[k];
        l->in_dtype[k] = id == BI_NONE ? BI_F32 : g->values[id].dtype;
        if (id == BI_NONE)
            continue;
        if (!is_weight(b->plan, node, k) && op->layout[k] != BI_LAYOUT_PLAIN)
            return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d must be a weight", op->name, k);
        at.in[k] = is_weight(b->plan, node, k) ? b->weights.ptrs[b->next++]
                                               : address_of(b, node, id, trip);
        at.in_ld[k] = b->plan->memory.slots[id].ld;
    }
    for (int k = 0; k < BI_NODE_OUT; k++) {
        const bi_value_id id = node->out[k];
        l->out_dtype[k] = id == BI_NONE ? BI_F32 : g->values[id].dtype;
        if (id == BI_NONE)
            continue;
        at.out[k] = address_of(b, node, id, trip);
        at.out_ld[k] = b->plan->memory.slots[id].ld;
    }
    op->cost(g, node, &l->flops, &l->bytes);
    op->launch(g, node, &at, l);
    b->program->loops |= node->phase & 1;
    b->plan->op_of[b->n++] = node->op;
    return 0;
}

int bi_plan_bind(struct bi_plan *plan, int slot, struct bioinfer_model *model, void *input,
                 void *activation, void *output, struct bioinfer_error *err)
{
    const struct bi_graph *g = plan->graph;
    struct bi_program *program = &plan->programs[slot];
    struct binding b = {.plan = plan,
                        .program = program,
                        .model = model,
                        .input = input,
                        .activation = activation,
                        .output = output};
    int st;
    if (!program->launches && !(program->launches = bi_calloc(model->base.env, plan->n_launches + 1,
                                                              sizeof *program->launches)))
        return bi_fail(err, BIOINFER_NOMEM, "plan: launches");
    program->bucket = bi_graph_bucket(g);
    program->loops = false;
    if ((st = load_weights(plan, model, &b.weights, err)))
        goto out;
    for (size_t first = 0, end; !st && first < g->n_nodes; first = end) {
        const int32_t trips = bi_graph_trips(g, g->nodes[first].phase);
        const size_t next = b.next;
        for (end = first + 1; end < g->n_nodes && g->nodes[end].phase == g->nodes[first].phase;)
            end++;
        for (int32_t trip = 0; !st && trip < trips; trip++) {
            b.next = next;
            for (size_t i = first; !st && i < end; i++)
                st = bind_node(&b, &g->nodes[i], trip, err);
        }
    }
    if (st)
        goto out;
    program->n_launches = b.n;
    st = model->ops->module(model->device, program->launches, b.n, err);
out:
    bi_free(model->base.env, b.weights.needs);
    bi_free(model->base.env, b.weights.ptrs);
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
