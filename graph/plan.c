/* plan.c - the memory plan: liveness, then best fit by offset, largest values first. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "../ops/op.h"

/* Is this value another one changed in place? */
static bool is_changed(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = &g->values[id];
    return v->kind == BI_VALUE_NODE && !v->slot && bi_ops[g->nodes[v->node].op]->in_place;
}

/* Views and values changed in place share the memory of their input: the value at the end of the
 * chain. */
static bi_value_id base_of(const struct bi_graph *g, bi_value_id id)
{
    while (g->values[id].kind == BI_VALUE_NODE) {
        const struct bi_node *n = &g->nodes[g->values[id].node];
        if (!bi_ops[n->op]->view && !is_changed(g, id))
            break;
        id = n->in[0];
    }
    return id;
}

/* The output of a node that runs: it is written, used or not, but for those that can be spared. */
static bool is_written(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = &g->values[id];
    return v->kind == BI_VALUE_NODE && (size_t)v->node < g->n_nodes &&
           g->nodes[v->node].out[v->slot] == id && !bi_op_is_spared(g, &g->nodes[v->node], v->slot);
}

static int64_t row_length(const struct bi_value *v)
{
    return v->rank >= 2 ? bi_value_elements(v) / (v->shape[0] ? v->shape[0] : 1) : 1;
}

/* Gives inputs their places: behind the counts, and kept ones behind those that are uploaded. */
static void place_inputs(struct bi_memory_plan *plan, const struct bi_graph *g)
{
    uint64_t at = BI_ALIGN; /* struct bi_counts opens the input block */
    _Static_assert(sizeof(struct bi_counts) <= BI_ALIGN, "counts fit the first line");
    for (int kept = 0; kept < 2; kept++) {
        for (size_t i = 0; i < g->n_values; i++) {
            struct bi_slot *s = &plan->slots[i];
            if (s->place != BI_PLACE_INPUT || s->base != (bi_value_id)i ||
                g->values[i].kept != (kept != 0))
                continue;
            s->offset = at;
            at += s->size;
        }
        *(kept ? &plan->input_size : &plan->upload_size) = at;
    }
}

/* Gives one output its place, at `*at`. */
static int place_output(struct bi_memory_plan *plan, const struct bi_graph *g,
                        const struct bi_output *o, uint64_t *at, struct bioinfer_error *err)
{
    struct bi_slot *s = &plan->slots[o->value];
    bool own = s->base == o->value;
    if (is_changed(g, o->value)) { /* the changed value lies where the first did */
        s = &plan->slots[s->base];
        own = true;
    }
    if (!own || s->place == BI_PLACE_WEIGHT || s->place == BI_PLACE_INPUT)
        return bi_fail(err, BIOINFER_INTERNAL, "plan: output %s is not a value of its own",
                       o->name);
    if (s->place == BI_PLACE_OUTPUT)
        return 0;
    s->place = BI_PLACE_OUTPUT;
    s->offset = *at;
    *at += s->size;
    return 0;
}

/* Kept outputs lie behind those that are downloaded. */
static int place_outputs(struct bi_memory_plan *plan, const struct bi_graph *g,
                         struct bioinfer_error *err)
{
    uint64_t at = 0;
    int st = 0;
    for (int kept = 0; kept < 2; kept++) {
        for (size_t i = 0; !st && i < g->n_outputs; i++)
            if (g->outputs[i].kept == (kept != 0))
                st = place_output(plan, g, &g->outputs[i], &at, err);
        *(kept ? &plan->output_size : &plan->download_size) = at;
    }
    return st;
}

/* A value that all trips give has room for every one of them, without gaps. */
static int place_trips(struct bi_memory_plan *plan, const struct bi_graph *g,
                       struct bioinfer_error *err)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *n = &g->nodes[i];
        struct bi_slot *s = &plan->slots[n->in[0] == BI_NONE ? 0 : n->in[0]];
        if (bi_ops[n->op]->view != BI_VIEW_TRIPS)
            continue;
        if (s->base != n->in[0] || is_changed(g, n->in[0]))
            return bi_fail(err, BIOINFER_INTERNAL, "plan: a value of all trips is not its own");
        s->step = (uint64_t)bi_value_size(&g->values[n->in[0]]);
        if (!bi_round_size((uint64_t)bi_value_size(&g->values[n->out[0]]), BI_ALIGN, &s->size))
            return bi_fail(err, BIOINFER_LIMIT, "plan: value of shape %s",
                           bi_shape_text(&g->values[n->out[0]]).text);
    }
    return 0;
}

static int place(struct bi_memory_plan *plan, const struct bi_graph *g, struct bioinfer_error *err)
{
    uint64_t size;
    int st;
    for (size_t i = 0; i < g->n_values; i++) {
        const struct bi_value *v = &g->values[i];
        struct bi_slot *s = &plan->slots[i];
        s->base = (bi_value_id)i;
        s->born = s->dies = -1;
        s->ld = row_length(v);
        if (!bi_round_size((uint64_t)bi_value_size(v), BI_ALIGN, &size))
            return bi_fail(err, BIOINFER_LIMIT, "plan: value of shape %s", bi_shape_text(v).text);
        s->size = size;
        if (v->trips > 1) {
            s->step = size;
            s->size = (uint64_t)v->trips * size;
        }
        if (v->kind == BI_VALUE_NODE ? !is_written(g, (bi_value_id)i) : !v->n_uses)
            continue;
        s->base = base_of(g, (bi_value_id)i);
        if (v->kind == BI_VALUE_WEIGHT) {
            s->place = BI_PLACE_WEIGHT;
        } else if (v->kind == BI_VALUE_INPUT) {
            s->place = BI_PLACE_INPUT;
        } else {
            s->place = BI_PLACE_ACTIVATION;
        }
    }
    if ((st = place_trips(plan, g, err)) || (st = place_outputs(plan, g, err)))
        return st;
    for (size_t i = 0; i < g->n_values; i++) {
        enum bi_place at = plan->slots[plan->slots[i].base].place;
        if (plan->slots[i].place != BI_PLACE_NONE && is_changed(g, (bi_value_id)i) &&
            (at == BI_PLACE_INPUT || at == BI_PLACE_WEIGHT))
            return bi_fail(err, BIOINFER_INTERNAL, "plan: value %zu changes an input or a weight",
                           i);
    }
    place_inputs(plan, g);
    return 0;
}

/* Bytes from the part of x that a view of it sees to the one that it sees in the next trip. */
static uint64_t step_of(const struct bi_graph *g, const struct bi_node *view,
                        const struct bi_slot *x)
{
    const struct bi_value *v = &g->values[view->in[0]];
    if (bi_ops[view->op]->view == BI_VIEW_STEPS)
        return (uint64_t)(bi_ops[view->op]->first(view) * x->ld) * bi_dtype_bits(v->dtype) / 8;
    /* each trip has its own x: a value of this stage, or an input */
    return v->kind != BI_VALUE_NODE || g->nodes[v->node].phase == view->phase ? x->step : 0;
}

static void liveness(struct bi_memory_plan *plan, const struct bi_graph *g)
{
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *n = &g->nodes[i];
        for (int k = 0; k < bi_op_n_out(n->op); k++) {
            struct bi_slot *s = &plan->slots[n->out[k]];
            if (s->base == n->out[k])
                s->born = s->dies = (int32_t)i;
        }
        for (int k = 0; k < BI_NODE_IN; k++)
            if (n->in[k] != BI_NONE)
                plan->slots[plan->slots[n->in[k]].base].dies = (int32_t)i;
    }
    /* a loop reads its outside values on every trip: they live until its end, and what its trips
     * make rows of lives from its beginning */
    for (size_t first = 0, end; first < g->n_nodes; first = end) {
        for (end = first + 1; end < g->n_nodes && g->nodes[end].phase == g->nodes[first].phase;)
            end++;
        if (!bi_graph_repeats(g, g->nodes[first].phase))
            continue;
        for (size_t i = 0; i < g->n_values; i++) {
            struct bi_slot *s = &plan->slots[i];
            if (s->step && s->born >= (int32_t)first && s->born < (int32_t)end)
                s->born = (int32_t)first;
            if (s->born < (int32_t)first && s->dies >= (int32_t)first && s->dies < (int32_t)end)
                s->dies = (int32_t)end - 1;
        }
    }
    /* a view extends the life of its base by its own uses: base is resolved above */
    for (size_t i = 0; i < g->n_nodes; i++) { /* views: offset and row length, in order */
        const struct bi_node *n = &g->nodes[i];
        struct bi_slot *s = &plan->slots[n->out[0]];
        const struct bi_slot *x;
        if (!bi_ops[n->op]->view && !bi_ops[n->op]->in_place)
            continue;
        x = &plan->slots[n->in[0]];
        s->ld = x->ld;
        s->step = step_of(g, n, x);
        /* relative to the base; made absolute after assignment */
        s->offset = (uint64_t)(bi_ops[n->op]->view ? bi_view_first(n, x->ld) : 0) *
                        bi_dtype_bits(g->values[n->out[0]].dtype) / 8 +
                    (x->base == n->in[0] ? 0 : x->offset);
        s->size = 0;
        s->place = plan->slots[s->base].place;
    }
}

static bool overlap(const struct bi_slot *a, const struct bi_slot *b)
{
    return a->born <= b->dies && b->born <= a->dies;
}

/* Values that have a place, by the nodes at which they live: a value is in a list for each node of
 * its life, so that only values that may be in the way are looked at. */
struct alive {
    int32_t value, next;
};

struct places {
    struct bi_memory_plan *plan;
    int32_t *first; /* by node: of `alive`; -1 ends a list */
    struct alive *alive;
    size_t n_alive, cap_alive;
    bi_value_id *near; /* values that live when the one at hand does, by offset */
    size_t *seen;      /* by value: at which turn it was put there */
};

static int by_size(const void *a, const void *b)
{
    const struct bi_slot *x = *(const struct bi_slot *const *)a;
    const struct bi_slot *y = *(const struct bi_slot *const *)b;
    return x->size != y->size ? (x->size < y->size ? 1 : -1) : (x > y) - (x < y);
}

/* Fills near[] with what lives with s, sorted by offset; gives how many there are. */
static size_t neighbours(struct places *p, const struct bi_slot *s, size_t turn)
{
    const struct bi_slot *slots = p->plan->slots;
    size_t n = 0;
    for (int32_t node = s->born; node <= s->dies; node++)
        for (int32_t a = p->first[node]; a >= 0; a = p->alive[a].next) {
            const int32_t value = p->alive[a].value;
            size_t at = n;
            if (p->seen[value] == turn)
                continue;
            p->seen[value] = turn;
            for (n++; at && slots[p->near[at - 1]].offset > slots[value].offset; at--)
                p->near[at] = p->near[at - 1];
            p->near[at] = value;
        }
    return n;
}

/* Gives slot s the lowest offset that is free for its whole life. */
static int put(struct places *p, struct bi_slot *s, size_t turn)
{
    const struct bi_slot *slots = p->plan->slots;
    const size_t n = neighbours(p, s, turn);
    const size_t life = (size_t)(s->dies - s->born + 1);
    s->offset = 0;
    for (size_t k = 0; k < n; k++) {
        const struct bi_slot *o = &slots[p->near[k]];
        if (s->offset + s->size <= o->offset)
            break;
        if (s->offset < o->offset + o->size)
            s->offset = o->offset + o->size;
    }
    if (!bi_grow(p->plan->env, &p->alive, &p->cap_alive, p->n_alive + life, sizeof *p->alive))
        return BIOINFER_NOMEM;
    for (int32_t node = s->born; node <= s->dies; node++) {
        p->alive[p->n_alive] = (struct alive){(int32_t)(s - slots), p->first[node]};
        p->first[node] = (int32_t)p->n_alive++;
    }
    return 0;
}

static int assign(struct bi_memory_plan *plan, const struct bi_graph *g, struct bioinfer_error *err)
{
    struct bi_slot **order = bi_calloc(plan->env, g->n_values + 1, sizeof *order);
    struct places p = {.plan = plan,
                       .first = bi_calloc(plan->env, g->n_nodes + 1, sizeof *p.first),
                       .near = bi_calloc(plan->env, g->n_values + 1, sizeof *p.near),
                       .seen = bi_calloc(plan->env, g->n_values + 1, sizeof *p.seen)};
    size_t n = 0;
    int st = !order || !p.first || !p.near || !p.seen ? BIOINFER_NOMEM : 0;
    for (size_t i = 0; !st && i < g->n_nodes; i++)
        p.first[i] = -1;
    for (size_t i = 0; !st && i < g->n_values; i++) {
        struct bi_slot *s = &plan->slots[i];
        if (s->place != BI_PLACE_ACTIVATION || s->base != (bi_value_id)i)
            continue;
        order[n++] = s;
        plan->unshared_size += s->size;
    }
    if (n)
        qsort(order, n, sizeof *order, by_size);
    for (size_t i = 0; !st && i < n; i++) {
        st = put(&p, order[i], i + 1);
        if (order[i]->offset + order[i]->size > plan->activation_size)
            plan->activation_size = order[i]->offset + order[i]->size;
    }
    for (size_t i = 0; !st && i < g->n_values; i++)
        if (plan->slots[i].base != (bi_value_id)i && plan->slots[i].place != BI_PLACE_NONE)
            plan->slots[i].offset += plan->slots[plan->slots[i].base].offset;
    bi_free(plan->env, order);
    bi_free(plan->env, p.first);
    bi_free(plan->env, p.alive);
    bi_free(plan->env, p.near);
    bi_free(plan->env, p.seen);
    return st ? bi_fail(err, st, "plan: places of values") : 0;
}

int bi_memory_plan(struct bi_memory_plan *plan, const struct bi_graph *g,
                   struct bioinfer_error *err)
{
    int st;
    *plan = (struct bi_memory_plan){.env = g->arena.env};
    plan->slots = bi_calloc(plan->env, g->n_values + 1, sizeof *plan->slots);
    if (!plan->slots)
        return bi_fail(err, BIOINFER_NOMEM, "plan: slots");
    if ((st = place(plan, g, err)))
        goto out;
    liveness(plan, g);
    st = assign(plan, g, err);
out:
    if (st)
        bi_memory_plan_free(plan);
    return st;
}

void bi_memory_plan_free(struct bi_memory_plan *plan)
{
    if (plan->env)
        bi_free(plan->env, plan->slots);
    *plan = (struct bi_memory_plan){0};
}

bool bi_memory_plan_check(const struct bi_memory_plan *plan, const struct bi_graph *g)
{
    for (size_t i = 0; i < g->n_values; i++)
        for (size_t k = 0; k < i; k++) {
            const struct bi_slot *a = &plan->slots[i], *b = &plan->slots[k];
            if (a->place == BI_PLACE_ACTIVATION && b->place == BI_PLACE_ACTIVATION &&
                a->base == (bi_value_id)i && b->base == (bi_value_id)k && overlap(a, b) &&
                a->offset < b->offset + b->size && b->offset < a->offset + a->size)
                return false;
        }
    return true;
}
