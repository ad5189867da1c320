/* graph.c - building, checking and rewriting the static graph.
 *
 * Sections: life, builders, uses and replacement, order, verifier. */
#include "graph.h"

#include <stdio.h>
#include <string.h>

#include "../ops/op.h"

/* ---- life ---- */

int bi_graph_new(struct bi_graph **out, const struct bi_env *env, struct bioinfer_error *err)
{
    struct bi_graph *g = bi_zalloc(env, sizeof *g);
    if (!g)
        return bi_fail(err, BIOINFER_NOMEM, "graph");
    g->arena.env = env;
    *out = g;
    return 0;
}

void bi_graph_free(struct bi_graph **graph)
{
    struct bi_graph *g = *graph;
    if (!g)
        return;
    const struct bi_env *env = g->arena.env;
    bi_free(env, g->values);
    bi_free(env, g->nodes);
    bi_free(env, g->outputs);
    bi_free(env, g->of_weight);
    bi_free(env, g->use_first);
    bi_free(env, g->use_next);
    bi_arena_reset(&g->arena);
    bi_free(env, g);
    *graph = NULL;
}

int bi_graph_status(const struct bi_graph *g, struct bioinfer_error *err)
{
    return g->status ? bi_fail(err, g->status, "%s", g->error.text) : 0;
}

bi_value_id bi_graph_fail(struct bi_graph *g, int status, const char *fmt, ...)
{
    if (!g->status) {
        va_list ap;
        g->status = status;
        g->error.status = status;
        va_start(ap, fmt);
        vsnprintf(g->error.text, sizeof g->error.text, fmt, ap);
        va_end(ap);
    }
    return BI_NONE;
}

/* ---- builders ---- */

static bi_value_id value_add(struct bi_graph *g, const struct bi_value *value)
{
    if (g->status)
        return BI_NONE;
    if (g->n_values >= INT32_MAX ||
        !bi_grow(g->arena.env, &g->values, &g->cap_values, g->n_values + 1, sizeof *g->values))
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: values");
    if (g->indexed) {
        if (!bi_grow(g->arena.env, &g->use_first, &g->cap_use_first, g->n_values + 1,
                     sizeof *g->use_first))
            return bi_graph_fail(g, BIOINFER_NOMEM, "graph: uses");
        g->use_first[g->n_values] = -1;
    }
    g->values[g->n_values] = *value;
    return (bi_value_id)g->n_values++;
}

/* Adds a weight value of one part, which bi_weight() and its like find again. */
static bi_value_id weight_add(struct bi_graph *g, struct bi_value *v)
{
    const size_t weight = (size_t)v->parts[0];
    if (!bi_grow(g->arena.env, &g->of_weight, &g->cap_of_weight, weight + 1, sizeof *g->of_weight))
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: weights");
    while (g->n_of_weight <= weight)
        g->of_weight[g->n_of_weight++] = BI_NONE;
    v->same_weight = g->of_weight[weight];
    const bi_value_id id = value_add(g, v);
    if (id != BI_NONE)
        g->of_weight[weight] = id;
    return id;
}

/* The first value of a weight, all of its rows, that has `columns` columns from `first` on (of
 * rank 1: any); BI_NONE = there is none. */
static bi_value_id weight_find(const struct bi_graph *g, int32_t weight, int rank, int64_t first,
                               int64_t columns)
{
    bi_value_id found = BI_NONE;
    if ((size_t)weight >= g->n_of_weight)
        return BI_NONE;
    for (bi_value_id i = g->of_weight[weight]; i != BI_NONE; i = g->values[i].same_weight) {
        const struct bi_value *v = &g->values[i];
        if (v->columns[0] == first && !v->rows && !v->transposed &&
            (rank < 2 || v->shape[1] == columns))
            found = i;
    }
    return found;
}

static const char *keep(struct bi_graph *g, const char *name)
{
    const char *copy = bi_arena_strndup(&g->arena, name, strlen(name));
    if (!copy)
        bi_graph_fail(g, BIOINFER_NOMEM, "graph: name");
    return copy;
}

bi_value_id bi_input(struct bi_graph *g, const char *name, enum bi_dtype dtype, enum bi_axis axis,
                     int64_t n)
{
    struct bi_value v = {.kind = BI_VALUE_INPUT,
                         .dtype = dtype,
                         .rank = 1,
                         .axis = axis,
                         .shape = {n, 1, 1, 1},
                         .node = BI_NONE};
    v.name = keep(g, name);
    return value_add(g, &v);
}

bi_value_id bi_input_rows(struct bi_graph *g, const char *name, enum bi_axis axis, int64_t n,
                          int64_t width)
{
    struct bi_value v = {.kind = BI_VALUE_INPUT,
                         .dtype = BI_F32,
                         .rank = 2,
                         .axis = axis,
                         .shape = {n, width, 1, 1},
                         .node = BI_NONE};
    v.name = keep(g, name);
    return value_add(g, &v);
}

bi_value_id bi_input_matrix(struct bi_graph *g, const char *name, enum bi_dtype dtype,
                            enum bi_axis axis, int64_t n, int64_t width)
{
    bi_value_id id = bi_input(g, name, dtype, axis, n);
    if (id != BI_NONE) {
        g->values[id].rank = 2;
        g->values[id].shape[1] = width;
    }
    return id;
}

bi_value_id bi_input_kept(struct bi_graph *g, const char *name, enum bi_axis axis, int64_t n,
                          int64_t width)
{
    const bi_value_id id = bi_input_rows(g, name, axis, n, width);
    if (id != BI_NONE)
        g->values[id].kept = true;
    return id;
}

void bi_loop_begin(struct bi_graph *g, enum bi_counter trips)
{
    if (bi_graph_repeats(g, g->phase))
        bi_graph_fail(g, BIOINFER_INTERNAL, "graph: a loop within a loop");
    if (g->n_stages == BI_GRAPH_STAGES)
        bi_graph_fail(g, BIOINFER_LIMIT, "graph: more than %d loops and stages", g->n_stages);
    g->phase++;
    if (!g->status)
        g->stages[g->n_stages++] = (struct bi_stage){.phase = g->phase, .counter = trips};
}

void bi_loop_end(struct bi_graph *g)
{
    if (!(g->phase & 1))
        bi_graph_fail(g, BIOINFER_INTERNAL, "graph: the end of no loop");
    g->phase++;
}

void bi_phase_next(struct bi_graph *g)
{
    if (bi_graph_repeats(g, g->phase))
        bi_graph_fail(g, BIOINFER_INTERNAL, "graph: a phase within a loop");
    g->phase += 2;
}

int32_t bi_graph_trips(const struct bi_graph *g, int32_t phase)
{
    for (int i = 0; i < g->n_stages; i++)
        if (g->stages[i].phase == phase && g->stages[i].trips)
            return g->stages[i].trips;
    return 1;
}

enum bi_counter bi_graph_counter(const struct bi_graph *g, int32_t phase)
{
    int i = 0;
    while (i < g->n_stages && g->stages[i].phase != phase)
        i++;
    return i < g->n_stages ? g->stages[i].counter : BI_COUNTER_n_steps;
}

bool bi_graph_repeats(const struct bi_graph *g, int32_t phase)
{
    return phase & 1 || bi_graph_trips(g, phase) > 1;
}

void bi_trips_begin(struct bi_graph *g, int64_t n)
{
    if (bi_graph_repeats(g, g->phase))
        bi_graph_fail(g, BIOINFER_INTERNAL, "graph: a stage within a loop");
    if (n < 1 || n > BI_TRIPS_MAX || (n > 1 && g->n_stages == BI_GRAPH_STAGES))
        bi_graph_fail(g, BIOINFER_LIMIT, "graph: stage %d of %lld trips", g->n_stages + 1,
                      (long long)n);
    if (g->status || n == 1)
        return;
    g->phase += 2;
    g->stages[g->n_stages++] = (struct bi_stage){.phase = g->phase, .trips = (int32_t)n};
}

void bi_trips_end(struct bi_graph *g)
{
    if (g->phase & 1)
        bi_graph_fail(g, BIOINFER_INTERNAL, "graph: a stage ends in a loop");
    if (bi_graph_trips(g, g->phase) > 1)
        g->phase += 2;
}

bi_value_id bi_input_trips(struct bi_graph *g, const char *name, enum bi_dtype dtype,
                           enum bi_axis axis, int64_t n)
{
    const bi_value_id id = bi_input(g, name, dtype, axis, n);
    if (id != BI_NONE)
        g->values[id].trips = bi_graph_trips(g, g->phase);
    return id;
}

bi_value_id bi_weight(struct bi_graph *g, int32_t index, const char *name, int rank,
                      const int64_t *shape)
{
    struct bi_value v = {.kind = BI_VALUE_WEIGHT,
                         .dtype = BI_F32,
                         .rank = rank,
                         .shape = {1, 1, 1, 1},
                         .node = BI_NONE,
                         .n_parts = 1,
                         .parts = {index}};
    const bi_value_id there = weight_find(g, index, rank, 0, rank < 2 ? 1 : shape[1]);
    if (there != BI_NONE)
        return there;
    for (int i = 0; i < rank; i++)
        v.shape[i] = shape[i];
    v.name = keep(g, name);
    return weight_add(g, &v);
}

bi_value_id bi_weight_columns(struct bi_graph *g, bi_value_id w, int64_t first, int64_t n)
{
    struct bi_value v;
    bi_value_id there;
    if (g->status)
        return BI_NONE;
    if ((there = weight_find(g, g->values[w].parts[0], 2, first, n)) != BI_NONE)
        return there;
    v = g->values[w];
    v.shape[1] = n;
    v.columns[0] = (int32_t)first;
    v.name = bi_arena_printf(&g->arena, "%s[:, %d:%d]", g->values[w].name, (int)first,
                             (int)(first + n));
    if (!v.name)
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: columns of a weight");
    return weight_add(g, &v);
}

bi_value_id bi_weight_stack(struct bi_graph *g, const bi_value_id *part, int n)
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
    if (!v.name)
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: stacked weight");
    return value_add(g, &v);
}

bi_value_id bi_weight_part(struct bi_graph *g, bi_value_id w, int i)
{
    struct bi_value v;
    if (g->status)
        return BI_NONE;
    v = g->values[w];
    v.shape[0] /= v.n_parts; /* parts of one height, as gates are */
    v.parts[0] = v.parts[i];
    v.columns[0] = v.columns[i];
    memset(v.parts + 1, 0, sizeof v.parts - sizeof v.parts[0]);
    memset(v.columns + 1, 0, sizeof v.columns - sizeof v.columns[0]);
    v.n_parts = 1;
    v.name = bi_arena_printf(&g->arena, "part %d of %s", i + 1, g->values[w].name);
    if (!v.name)
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: part of a weight");
    return weight_add(g, &v);
}

bi_value_id bi_weight_rows(struct bi_graph *g, bi_value_id w, const int32_t *rows, int64_t n)
{
    struct bi_value v;
    int32_t *copy;
    if (g->status)
        return BI_NONE;
    v = g->values[w];
    for (int64_t i = 0; i < n; i++)
        if (rows[i] < 0 || rows[i] >= v.shape[0])
            return bi_graph_fail(g, BIOINFER_INTERNAL, "graph: row %d of %s", (int)rows[i], v.name);
    copy = bi_arena_calloc(&g->arena, (size_t)n, sizeof *copy);
    v.name = bi_arena_printf(&g->arena, "%s[%d rows]", g->values[w].name, (int)n);
    if (!copy || !v.name)
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: rows of a weight");
    memcpy(copy, rows, (size_t)n * sizeof *copy);
    v.rows = copy;
    v.shape[0] = n;
    return value_add(g, &v);
}

bi_value_id bi_weight_transposed(struct bi_graph *g, bi_value_id w)
{
    struct bi_value v;
    if (g->status)
        return BI_NONE;
    v = g->values[w];
    if (v.kind != BI_VALUE_WEIGHT || v.rank != 2 || v.n_parts != 1 || v.columns[0] || v.transposed)
        return bi_graph_fail(g, BIOINFER_INTERNAL, "graph: %s cannot be transposed",
                             v.name ? v.name : "a value");
    for (bi_value_id i = g->of_weight[v.parts[0]]; i != BI_NONE; i = g->values[i].same_weight)
        if (g->values[i].transposed == 1 && g->values[i].rows == v.rows)
            return i;
    v.shape[0] = g->values[w].shape[1];
    v.shape[1] = g->values[w].shape[0];
    v.transposed = 1;
    v.name = bi_arena_printf(&g->arena, "%s transposed", g->values[w].name);
    if (!v.name)
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: a transposed weight");
    return weight_add(g, &v);
}

bi_value_id bi_weight_flipped(struct bi_graph *g, bi_value_id w, int32_t taps)
{
    struct bi_value v;
    if (g->status)
        return BI_NONE;
    v = g->values[w];
    if (v.kind != BI_VALUE_WEIGHT || v.transposed != 1 || taps < 1 || v.shape[0] % taps)
        return bi_graph_fail(g, BIOINFER_INTERNAL, "graph: %s is no convolution of %d taps",
                             v.name ? v.name : "a value", (int)taps);
    v.shape[0] /= taps;
    v.shape[1] *= taps;
    v.transposed = taps;
    v.name = bi_arena_printf(&g->arena, "%s in %d taps", g->values[w].name, (int)taps);
    if (!v.name)
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: a convolution turned round");
    return weight_add(g, &v);
}

void bi_output(struct bi_graph *g, bi_value_id value, int kind, int layer, const char *name)
{
    if (g->status)
        return;
    if (!bi_grow(g->arena.env, &g->outputs, &g->cap_outputs, g->n_outputs + 1,
                 sizeof *g->outputs)) {
        bi_graph_fail(g, BIOINFER_NOMEM, "graph: outputs");
        return;
    }
    g->outputs[g->n_outputs++] = (struct bi_output){
        .value = value, .kind = kind, .layer = layer, .name = keep(g, name)};
}

void bi_output_kept(struct bi_graph *g, bi_value_id value, const char *name)
{
    bi_output(g, value, 0, -1, name);
    if (!g->status)
        g->outputs[g->n_outputs - 1].kept = true;
}

/* Enters a node's inputs into the lists of uses; false = no memory. */
static bool index_node(struct bi_graph *g, size_t at)
{
    if (!bi_grow(g->arena.env, &g->use_next, &g->cap_use_next, (at + 1) * BI_NODE_IN,
                 sizeof *g->use_next))
        return false;
    for (int k = 0; k < BI_NODE_IN && !g->nodes[at].dead; k++) {
        const bi_value_id id = g->nodes[at].in[k];
        const size_t place = at * BI_NODE_IN + (size_t)k;
        if (id == BI_NONE)
            continue;
        g->use_next[place] = g->use_first[id];
        g->use_first[id] = (int32_t)place;
        g->values[id].n_uses++;
    }
    return true;
}

bi_value_id bi_node_add(struct bi_graph *g, enum bi_op_kind op, const bi_value_id *in, int n_in,
                        const struct bi_attrs *attrs)
{
    return bi_node_add_half(g, op, in, n_in, attrs, false);
}

bi_value_id bi_node_add_half(struct bi_graph *g, enum bi_op_kind op, const bi_value_id *in,
                             int n_in, const struct bi_attrs *attrs, bool half)
{
    struct bi_node node = {.op = op, .phase = g->phase};
    struct bioinfer_error err = {0};
    int st;
    for (int i = 0; i < BI_NODE_IN; i++)
        node.in[i] = i < n_in ? in[i] : BI_NONE;
    for (int i = 0; i < BI_NODE_OUT; i++)
        node.out[i] = BI_NONE;
    if (g->status)
        return BI_NONE;
    if (attrs && attrs->op != (int)op)
        return bi_graph_fail(g, BIOINFER_INTERNAL, "%s: attributes of %s", bi_ops[op]->name,
                             bi_ops[attrs->op]->name);
    if (attrs)
        memcpy(node.attr, attrs->data, bi_op_fields(op).n * BI_FIELD_SIZE);
    for (int i = 0; i < bi_op_n_in(op); i++)
        if (node.in[i] == BI_NONE && bi_ops[op]->required >> i & 1)
            return bi_graph_fail(g, BIOINFER_INTERNAL, "%s: input %d is missing", bi_ops[op]->name,
                                 i);
    if (!bi_grow(g->arena.env, &g->nodes, &g->cap_nodes, g->n_nodes + 1, sizeof *g->nodes))
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: nodes");
    for (int i = 0; i < bi_op_n_out(op); i++) {
        struct bi_value v = {.kind = BI_VALUE_NODE,
                             .dtype = half ? BI_F16 : BI_F32,
                             .node = (int32_t)g->n_nodes,
                             .slot = i};
        if ((node.out[i] = value_add(g, &v)) == BI_NONE)
            return BI_NONE;
    }
    if ((st = bi_ops[op]->infer(g, &node, &err)))
        return bi_graph_fail(g, st, "%s", err.text);
    g->nodes[g->n_nodes++] = node;
    if (g->indexed && !index_node(g, g->n_nodes - 1))
        return bi_graph_fail(g, BIOINFER_NOMEM, "graph: uses");
    return node.out[0];
}

/* ---- uses and replacement ---- */

int64_t bi_value_elements(const struct bi_value *v)
{
    int64_t n = 1;
    for (int i = 0; i < v->rank; i++)
        n *= v->shape[i];
    return n;
}

int64_t bi_value_size(const struct bi_value *v)
{
    return bi_value_elements(v) * (int64_t)(bi_dtype_bits(v->dtype) / 8);
}

void bi_graph_count_uses(struct bi_graph *g)
{
    for (size_t i = 0; i < g->n_values; i++)
        g->values[i].n_uses = 0;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (int k = 0; k < BI_NODE_IN && !g->nodes[i].dead; k++)
            if (g->nodes[i].in[k] != BI_NONE)
                g->values[g->nodes[i].in[k]].n_uses++;
    for (size_t i = 0; i < g->n_outputs; i++)
        g->values[g->outputs[i].value].n_uses++;
}

void bi_graph_index(struct bi_graph *g)
{
    g->indexed = false;
    if (g->status)
        return;
    if (g->n_nodes > INT32_MAX / BI_NODE_IN - 1 ||
        !bi_grow(g->arena.env, &g->use_first, &g->cap_use_first, g->n_values + 1,
                 sizeof *g->use_first)) {
        bi_graph_fail(g, BIOINFER_NOMEM, "graph: uses");
        return;
    }
    for (size_t i = 0; i < g->n_values; i++) {
        g->values[i].n_uses = 0;
        g->use_first[i] = -1;
    }
    for (size_t i = 0; i < g->n_nodes; i++)
        if (!index_node(g, i)) {
            bi_graph_fail(g, BIOINFER_NOMEM, "graph: uses");
            return;
        }
    for (size_t i = 0; i < g->n_outputs; i++)
        g->values[g->outputs[i].value].n_uses++;
    g->indexed = true;
}

void bi_graph_kill(struct bi_graph *g, size_t node)
{
    struct bi_node *n = &g->nodes[node];
    for (int k = 0; k < BI_NODE_IN && !n->dead; k++)
        if (n->in[k] != BI_NONE)
            g->values[n->in[k]].n_uses--;
    n->dead = true;
}

/* Moves the list of uses of `from` in front of that of `to`. */
static void move_uses(struct bi_graph *g, bi_value_id from, bi_value_id to)
{
    int32_t last = -1;
    for (int32_t u = g->use_first[from]; u >= 0; u = g->use_next[u]) {
        g->nodes[u / BI_NODE_IN].in[u % BI_NODE_IN] = to;
        last = u;
    }
    if (last >= 0) {
        g->use_next[last] = g->use_first[to];
        g->use_first[to] = g->use_first[from];
        g->use_first[from] = -1;
    }
    g->values[to].n_uses += g->values[from].n_uses;
    g->values[from].n_uses = 0;
}

void bi_graph_replace(struct bi_graph *g, bi_value_id from, bi_value_id to)
{
    if (from == to)
        return;
    if (g->indexed)
        move_uses(g, from, to);
    for (size_t i = 0; !g->indexed && i < g->n_nodes; i++)
        for (int k = 0; k < BI_NODE_IN; k++)
            if (g->nodes[i].in[k] == from)
                g->nodes[i].in[k] = to;
    for (size_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i].value == from)
            g->outputs[i].value = to;
    g->values[to].wide |= g->values[from].wide;
    g->values[to].exact |= g->values[from].exact;
}

void bi_graph_keep_wide(struct bi_graph *g, bi_value_id x)
{
    if (!g->status)
        g->values[x].wide = true;
}

void bi_graph_exact(struct bi_graph *g, bi_value_id x)
{
    if (!g->status)
        g->values[x].exact = true;
}

/* Nodes lose their dead ones; values keep their ids and learn the new numbers. */
static void compact(struct bi_graph *g)
{
    size_t n = 0;
    g->indexed = false;
    for (size_t i = 0; i < g->n_nodes; i++) {
        if (g->nodes[i].dead)
            continue;
        for (int k = 0; k < bi_op_n_out(g->nodes[i].op); k++)
            g->values[g->nodes[i].out[k]].node = (int32_t)n;
        g->nodes[n++] = g->nodes[i];
    }
    g->n_nodes = n;
}

int bi_graph_dce(struct bi_graph *g)
{
    int n_dead = 0;
    bool again = true;
    while (again) {
        again = false;
        bi_graph_count_uses(g);
        for (size_t i = g->n_nodes; i-- > 0;) {
            struct bi_node *node = &g->nodes[i];
            int uses = 0;
            if (node->dead)
                continue;
            for (int k = 0; k < bi_op_n_out(node->op); k++)
                uses += g->values[node->out[k]].n_uses;
            /* the next trip reads what this one changes */
            uses += bi_ops[node->op]->in_place && bi_graph_repeats(g, node->phase);
            if (uses)
                continue;
            node->dead = true;
            n_dead++;
            for (int k = 0; k < BI_NODE_IN; k++) /* the inputs lose a use: seen in this sweep */
                if (node->in[k] != BI_NONE)
                    g->values[node->in[k]].n_uses--;
            again = true;
        }
    }
    compact(g);
    bi_graph_count_uses(g);
    return n_dead;
}

/* ---- order ---- */

/* Nodes are taken by phase, and within one by the place they had, as soon as their inputs are made
 * and all others that read what they overwrite have been taken. */
struct order {
    struct bi_graph *g;
    int32_t *n_missing; /* by node: inputs not made yet; -1 = it is in the heap, or taken */
    int32_t *n_readers; /* by value: reads by nodes that are not taken */
    uint8_t *changed;   /* by value: a node overwrites it */
    uint64_t *heap;     /* phase << 32 | node; the least is first */
    size_t n_heap;
};

static void heap_push(struct order *o, uint64_t key)
{
    size_t at = o->n_heap++;
    while (at && o->heap[(at - 1) / 2] > key) {
        o->heap[at] = o->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    o->heap[at] = key;
}

static uint64_t heap_pop(struct order *o)
{
    const uint64_t least = o->heap[0], key = o->heap[--o->n_heap];
    size_t at = 0, child;
    while ((child = 2 * at + 1) < o->n_heap) {
        child += child + 1 < o->n_heap && o->heap[child + 1] < o->heap[child];
        if (o->heap[child] >= key)
            break;
        o->heap[at] = o->heap[child];
        at = child;
    }
    o->heap[at] = key;
    return least;
}

/* Puts a node into the heap when nothing holds it back. */
static void consider(struct order *o, size_t at)
{
    const struct bi_node *n = &o->g->nodes[at];
    int32_t own = 0;
    if (o->n_missing[at])
        return;
    if (bi_ops[n->op]->in_place) {
        for (int k = 0; k < BI_NODE_IN; k++)
            own += n->in[k] == n->in[0];
        if (o->n_readers[n->in[0]] != own)
            return;
    }
    o->n_missing[at] = -1;
    heap_push(o, (uint64_t)(uint32_t)n->phase << 32 | at);
}

/* Node `at` is taken: others may follow it now. */
static void take(struct order *o, size_t at)
{
    const struct bi_graph *g = o->g;
    const struct bi_node *n = &g->nodes[at];
    int32_t u;
    for (int k = 0; k < bi_op_n_out(n->op); k++)
        for (u = g->use_first[n->out[k]]; u >= 0; u = g->use_next[u]) {
            o->n_missing[u / BI_NODE_IN]--;
            consider(o, (size_t)(u / BI_NODE_IN));
        }
    for (int k = 0; k < BI_NODE_IN; k++) {
        if (n->in[k] == BI_NONE)
            continue;
        o->n_readers[n->in[k]]--;
        if (!o->changed[n->in[k]])
            continue;
        for (u = g->use_first[n->in[k]]; u >= 0; u = g->use_next[u])
            if (u % BI_NODE_IN == 0)
                consider(o, (size_t)(u / BI_NODE_IN));
    }
}

static void order_begin(struct order *o)
{
    const struct bi_graph *g = o->g;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *n = &g->nodes[i];
        for (int k = 0; k < BI_NODE_IN; k++)
            if (n->in[k] != BI_NONE) {
                o->n_missing[i] += g->values[n->in[k]].kind == BI_VALUE_NODE;
                o->n_readers[n->in[k]]++;
            }
        if (bi_ops[n->op]->in_place)
            o->changed[n->in[0]] = 1;
    }
    for (size_t i = 0; i < g->n_nodes; i++)
        consider(o, i);
}

int bi_graph_sort(struct bi_graph *g, struct bioinfer_error *err)
{
    const struct bi_env *env = g->arena.env;
    const size_t n = g->n_nodes;
    struct bi_node *sorted = bi_calloc(env, n + 1, sizeof *sorted);
    struct order o = {.g = g,
                      .n_missing = bi_calloc(env, n + 1, sizeof *o.n_missing),
                      .n_readers = bi_calloc(env, g->n_values + 1, sizeof *o.n_readers),
                      .changed = bi_calloc(env, g->n_values + 1, 1),
                      .heap = bi_calloc(env, n + 1, sizeof *o.heap)};
    size_t done = 0;
    int st = 0;
    if (!sorted || !o.n_missing || !o.n_readers || !o.changed || !o.heap) {
        st = bi_fail(err, BIOINFER_NOMEM, "graph: sort");
        goto out;
    }
    bi_graph_index(g);
    if ((st = bi_graph_status(g, err)))
        goto out;
    order_begin(&o);
    while (o.n_heap) {
        const size_t at = (size_t)(heap_pop(&o) & UINT32_MAX);
        take(&o, at);
        if (done && g->nodes[at].phase < sorted[done - 1].phase)
            break; /* it waited for a later phase */
        sorted[done++] = g->nodes[at];
    }
    if (done < n) {
        st = bi_fail(err, BIOINFER_INTERNAL, "graph: a node waits for itself");
        goto out;
    }
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < bi_op_n_out(sorted[i].op); k++)
            g->values[sorted[i].out[k]].node = (int32_t)i;
    memcpy(g->nodes, sorted, n * sizeof *sorted);
    g->indexed = false;
out:
    bi_free(env, sorted);
    bi_free(env, o.n_missing);
    bi_free(env, o.n_readers);
    bi_free(env, o.changed);
    bi_free(env, o.heap);
    return st;
}

/* ---- verifier ---- */

/* Not a node's value, or one whose node is there. */
static bool is_made(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = &g->values[id];
    return v->kind != BI_VALUE_NODE ||
           (v->node >= 0 && (size_t)v->node < g->n_nodes && v->slot >= 0 && v->slot < BI_NODE_OUT &&
            !g->nodes[v->node].dead && g->nodes[v->node].out[v->slot] == id);
}

/* Trips of the stage that makes a value, or that an input is for. */
static int32_t trips_of(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = &g->values[id];
    if (v->kind == BI_VALUE_INPUT)
        return v->trips > 1 ? v->trips : 1;
    return v->kind == BI_VALUE_NODE ? bi_graph_trips(g, g->nodes[v->node].phase) : 1;
}

/* A value that each trip has its own of is read in these trips, or by the op that joins them. */
static int verify_trips(const struct bi_graph *g, size_t at, struct bioinfer_error *err)
{
    const struct bi_node *node = &g->nodes[at];
    const int32_t mine = bi_graph_trips(g, node->phase);
    for (int k = 0; k < BI_NODE_IN; k++) {
        const bi_value_id id = node->in[k];
        const struct bi_value *v = id == BI_NONE ? NULL : &g->values[id];
        const int32_t trips = v ? trips_of(g, id) : 1;
        const bool within = v && (v->kind == BI_VALUE_INPUT
                                      ? trips == mine
                                      : v->node >= 0 && g->nodes[v->node].phase == node->phase);
        if (trips > 1 && !within && bi_ops[node->op]->view != BI_VIEW_TRIPS &&
            !(v->kind == BI_VALUE_NODE && bi_ops[g->nodes[v->node].op]->in_place))
            return bi_fail(err, BIOINFER_INTERNAL,
                           "graph: node %zu: %s: input %d is of one trip of %d", at,
                           bi_ops[node->op]->name, k, trips);
    }
    return 0;
}

static int verify_node(struct bi_graph *g, size_t at, struct bioinfer_error *err)
{
    struct bi_node *node = &g->nodes[at];
    struct bi_value before[BI_NODE_OUT];
    const char *name;
    int st;
    if ((unsigned)node->op >= BI_OP_COUNT)
        return bi_fail(err, BIOINFER_INTERNAL, "graph: node %zu: op %d", at, (int)node->op);
    name = bi_ops[node->op]->name;
    for (int k = 0; k < BI_NODE_IN; k++) {
        bi_value_id id = node->in[k];
        if (id == BI_NONE) {
            if (k < bi_op_n_in(node->op) && bi_ops[node->op]->required >> k & 1)
                return bi_fail(err, BIOINFER_INTERNAL, "graph: node %zu: %s: input %d is missing",
                               at, name, k);
            continue;
        }
        if (k >= bi_op_n_in(node->op) || id < 0 || (size_t)id >= g->n_values)
            return bi_fail(err, BIOINFER_INTERNAL, "graph: node %zu: %s: input %d is value %d", at,
                           name, k, id);
        if (g->values[id].kind == BI_VALUE_NODE && g->values[id].node >= (int32_t)at)
            return bi_fail(err, BIOINFER_INTERNAL,
                           "graph: node %zu: %s: input %d comes from node %d, which runs later", at,
                           name, k, g->values[id].node);
        if (!is_made(g, id))
            return bi_fail(err, BIOINFER_INTERNAL,
                           "graph: node %zu: %s: input %d is value %d, which no node makes", at,
                           name, k, id);
    }
    for (int k = 0; k < bi_op_n_out(node->op); k++) {
        bi_value_id id = node->out[k];
        if (id < 0 || (size_t)id >= g->n_values || g->values[id].kind != BI_VALUE_NODE ||
            g->values[id].node != (int32_t)at || g->values[id].slot != k)
            return bi_fail(err, BIOINFER_INTERNAL, "graph: node %zu: %s: output %d is not its own",
                           at, name, k);
        before[k] = g->values[id];
    }
    if (at && node->phase < g->nodes[at - 1].phase)
        return bi_fail(err, BIOINFER_INTERNAL, "graph: node %zu: %s of phase %d behind phase %d",
                       at, name, node->phase, g->nodes[at - 1].phase);
    for (size_t i = at + 1; bi_ops[node->op]->in_place && i < g->n_nodes; i++)
        for (int k = 0; k < BI_NODE_IN; k++)
            if (g->nodes[i].in[k] == node->in[0])
                return bi_fail(err, BIOINFER_INTERNAL,
                               "graph: node %zu: %s overwrites what node "
                               "%zu reads",
                               at, name, i);
    if ((st = verify_trips(g, at, err)) || (st = bi_ops[node->op]->infer(g, node, err)))
        return st;
    for (int k = 0; k < bi_op_n_out(node->op); k++) {
        const struct bi_value *a = &before[k], *b = &g->values[node->out[k]];
        if (a->rank != b->rank || a->axis != b->axis || a->dtype != b->dtype ||
            memcmp(a->shape, b->shape, sizeof a->shape)) {
            st = bi_fail(err, BIOINFER_INTERNAL,
                         "graph: node %zu: %s: output %d has shape %s, expected %s", at, name, k,
                         bi_shape_text(a).text, bi_shape_text(b).text);
            g->values[node->out[k]] = before[k]; /* a wrong graph stays wrong */
            return st;
        }
    }
    return 0;
}

int bi_graph_verify(struct bi_graph *g, struct bioinfer_error *err)
{
    int st = bi_graph_status(g, err);
    for (size_t i = 0; !st && i < g->n_nodes; i++)
        st = verify_node(g, i, err);
    for (size_t i = 0; !st && i < g->n_outputs; i++)
        if (g->outputs[i].value < 0 || (size_t)g->outputs[i].value >= g->n_values ||
            !is_made(g, g->outputs[i].value))
            st = bi_fail(err, BIOINFER_INTERNAL, "graph: output %zu (%s) is value %d", i,
                         g->outputs[i].name, g->outputs[i].value);
    for (size_t i = 0; !st && i < g->n_values; i++)
        for (int k = 0; !st && k < g->values[i].rank; k++)
            if (g->values[i].shape[k] < 0)
                st = bi_fail(err, BIOINFER_INTERNAL, "graph: value %zu has shape %s", i,
                             bi_shape_text(&g->values[i]).text);
    return st;
}
