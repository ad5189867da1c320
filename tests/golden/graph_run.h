/* graph_run.h - runs the graph of a model, as it was written or rewritten by rules, without an
 * engine: ops that only folding has, and a few more, by the kernels of this processor, all others
 * by their references. */
#ifndef BI_GRAPH_RUN_H
#define BI_GRAPH_RUN_H

#include "graph/plan.h"
#include "graph/rules.h"
#include "kernels/cpu/cpu.h"
#include "models/model.h"
#include "ops/op.h"
#include "tests/test.h"

/* An input by its name: rows one after another. */
struct run_input {
    const char *name;
    const void *data;
    size_t size; /* bytes */
};

/* A graph that ran. */
struct run {
    struct bi_graph *g;
    struct bi_memory_plan plan;
    unsigned char *output;
    struct bi_counts counts;
    const struct bi_target *target; /* rewritten for it; NULL = the graph runs as it was written */
};

/* Part `at` of a weight of the graph as it reads it: rows taken, columns taken, or transposed; n
 * columns of the graph. Gives the numbers written. */
static inline int64_t run_weight_part(const struct bi_model *model, const struct bi_value *v,
                                      int at, int64_t n, float *out)
{
    const struct bi_weight *w = &model->weights[v->parts[at]];
    const int64_t rows = w->shape[0], columns = w->rank == 2 ? w->shape[1] : 1;
    const int64_t taken = v->rows || v->transposed ? v->shape[0] : rows;
    float *all = malloc((size_t)(rows * columns) * sizeof *all);
    CHECK_EQ(bi_weight_read(model, w, 0, rows, all, NULL), 0);
    for (int64_t r = 0; r < taken; r++)
        for (int64_t c = 0; c < n; c++)
            out[r * n + c] = v->transposed
                                 ? all[c * columns + r]
                                 : all[(v->rows ? v->rows[r] : r) * columns + v->columns[at] + c];
    free(all);
    return taken * n;
}

/* A weight of the graph, a part or several stacked. */
static inline float *run_weight(const struct bi_model *model, const struct bi_value *v)
{
    float *out = malloc((size_t)bi_value_size(v));
    int64_t at = 0;
    for (int i = 0; i < v->n_parts; i++)
        at += run_weight_part(model, v, i, v->rank == 2 ? v->shape[1] : 1, out + at);
    CHECK_EQ(at, bi_value_elements(v));
    return out;
}

static inline void run_launch(const struct run *run, const struct bi_op *op,
                              const struct bi_launch *launch)
{
    static const char *const own[] = {
        "point_attention", "frame_update",     "dropout_norm", "layernorm", "rope",
        "row_softmax",     "triangle",         "outer_add",    "turn",      "pair_embedding",
        "row_pool",        "window_attention", "edm_start",    "edm_move",  "edm_step",
        "block_attention"};
    for (size_t i = 0; i < BI_COUNT(own); i++)
        if (!strcmp(launch->entry, own[i])) {
            const struct bi_cpu_entry *e = bi_cpu_find_entry(bi_cpu_kernels_usable(0), own[i],
                                                             NULL);
            const size_t size = e->scratch_size
                                    ? e->scratch_size(launch->params, run->counts.n_tokens,
                                                      run->counts.longest)
                                    : 0;
            void *scratch = aligned_alloc(64, (size / 64 + 1) * 64);
            const int64_t n = e->tasks(launch->params, 1);
            for (int64_t task = 0; task < n; task++)
                e->run(launch->params, task, n, scratch);
            free(scratch);
            return;
        }
    op->reference(launch->params);
}

/* Copies the inputs; each that the graph has must be given. */
static inline void run_fill(const struct run *run, unsigned char *input,
                            const struct run_input *inputs, int n_inputs)
{
    for (size_t i = 0; i < run->g->n_values; i++) {
        const struct bi_value *v = &run->g->values[i];
        int k = 0;
        if (v->kind != BI_VALUE_INPUT || run->plan.slots[i].place != BI_PLACE_INPUT)
            continue;
        while (k < n_inputs && strcmp(v->name, inputs[k].name) != 0)
            k++;
        if (CHECK(k < n_inputs) && CHECK_EQ((int64_t)inputs[k].size, bi_value_size(v)))
            memcpy(input + run->plan.slots[i].offset, inputs[k].data, inputs[k].size);
        else
            fprintf(stderr, "    input %s\n", v->name);
    }
}

/* Where the values of a run lie; addresses of weights by value. */
struct run_memory {
    unsigned char *input, *activation;
    float **weights;
};

/* Runs a node of run->g. */
static inline void run_node(const struct run *run, const struct run_memory *memory, size_t i)
{
    const struct bi_node *node = &run->g->nodes[i];
    struct bi_launch launch = {.op = bi_ops[node->op]};
    struct bi_bind b = {.counts = &run->counts};
    for (int k = 0; k < BI_NODE_IN + BI_NODE_OUT; k++) {
        const bi_value_id id = k < BI_NODE_IN ? node->in[k] : node->out[k - BI_NODE_IN];
        const struct bi_slot *s = id == BI_NONE ? NULL : &run->plan.slots[id];
        void *at;
        if (!s)
            continue;
        at = s->place == BI_PLACE_WEIGHT   ? (void *)memory->weights[id]
             : s->place == BI_PLACE_INPUT  ? (void *)(memory->input + s->offset)
             : s->place == BI_PLACE_OUTPUT ? (void *)(run->output + s->offset)
                                           : (void *)(memory->activation + s->offset);
        if (k < BI_NODE_IN) {
            b.in[k] = at;
            b.in_ld[k] = s->ld;
        } else {
            b.out[k - BI_NODE_IN] = at;
            b.out_ld[k - BI_NODE_IN] = s->ld;
        }
    }
    if (launch.op->view)
        return;
    launch.op->launch(run->g, node, &b, &launch);
    run_launch(run, launch.op, &launch);
}

/* Runs all nodes. Nodes of a loop run as often as the count of the batch says. */
static inline void run_nodes(const struct run *run, const struct run_memory *memory)
{
    const struct bi_graph *g = run->g;
    for (size_t first = 0, end; first < g->n_nodes; first = end) {
        const int32_t phase = g->nodes[first].phase;
        const int32_t trips = bi_graph_repeats(g, phase)
                                  ? bi_counter_value(&run->counts, bi_graph_counter(g, phase))
                                  : 1;
        for (end = first; end < g->n_nodes && g->nodes[end].phase == phase;)
            end++;
        for (int32_t trip = 0; trip < trips; trip++)
            for (size_t i = first; i < end; i++)
                run_node(run, memory, i);
    }
}

/* Runs run->g, whose sizes are run->counts; outputs are read by run_output(). */
static inline bool run_graph(struct run *run, const struct bi_model *model,
                             const struct run_input *inputs, int n_inputs)
{
    struct bi_graph *g = run->g;
    struct bioinfer_error err = {0};
    unsigned char *input, *activation;
    float **weights;
    if (!CHECK_EQ(bi_graph_verify(g, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return false;
    }
    bi_graph_dce(g);
    if (run->target && !CHECK_EQ(bi_rules_apply(g, run->target, NULL, NULL, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return false;
    }
    if (!CHECK_EQ(bi_memory_plan(&run->plan, g, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return false;
    }
    input = calloc(1, (size_t)run->plan.input_size + 1);
    activation = aligned_alloc(64, (size_t)(run->plan.activation_size / 64 + 1) * 64);
    run->output = aligned_alloc(64, (size_t)(run->plan.output_size / 64 + 1) * 64);
    weights = calloc(g->n_values + 1, sizeof *weights);
    run_fill(run, input, inputs, n_inputs);
    for (size_t i = 0; i < g->n_values; i++)
        if (g->values[i].kind == BI_VALUE_WEIGHT && run->plan.slots[i].place == BI_PLACE_WEIGHT)
            weights[i] = run_weight(model, &g->values[i]);
    run_nodes(run, &(struct run_memory){input, activation, weights});
    for (size_t i = 0; i < g->n_values; i++)
        free(weights[i]);
    free(weights);
    free(activation);
    free(input);
    return true;
}

/* Row `row` of the output of a name. */
static inline const float *run_output(const struct run *run, const char *name, int64_t row)
{
    for (size_t k = 0; k < run->g->n_outputs; k++)
        if (!strcmp(run->g->outputs[k].name, name)) {
            const struct bi_slot *s = &run->plan.slots[run->g->outputs[k].value];
            return (const float *)(const void *)(run->output + s->offset) + row * s->ld;
        }
    CHECK(!"an output");
    exit(1);
}

static inline void run_free(struct run *run)
{
    free(run->output);
    bi_memory_plan_free(&run->plan);
    bi_graph_free(&run->g);
}

#endif
