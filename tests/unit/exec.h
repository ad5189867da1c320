/* exec.h - run a graph by the ops' references, with weights made from their index.
 *
 * Memory is laid out by the plan under test and filled with NaN bytes, so a value that the
 * plan forgot, put on top of a live one or that a launch reads before it is written shows in
 * the outputs. A weight's elements depend on its index and their place alone: a graph and its
 * fused form see the same numbers, stacked weights included. */
#ifndef BI_TEST_EXEC_H
#define BI_TEST_EXEC_H

#include "../../graph/plan.h"
#include "../../ops/op.h"
#include "../test.h"

enum { EXEC_WEIGHTS = 256, EXEC_SEQS = 8, EXEC_TOKENS = 64 };

/* One batch and the rows of every weight; the same for all forms of a graph. */
struct exec {
    struct bi_counts counts;
    int32_t start[EXEC_SEQS + 1], ids[EXEC_TOKENS], rows[EXEC_TOKENS];
    int32_t grid_start[EXEC_SEQS + 1], row_start[EXEC_TOKENS + 1]; /* kernels/grids.h */
    float scale[EXEC_TOKENS];
    int64_t weight_rows[EXEC_WEIGHTS], weight_cols[EXEC_WEIGHTS];
    float weight_offset[EXEC_WEIGHTS]; /* added to every element: 1 for norms */
};

static inline uint64_t exec_next(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* In [-1, 1). */
static inline float exec_number(uint64_t seed)
{
    return (float)((double)(exec_next(&seed) >> 11) * 0x1p-52 - 1);
}

/* A weight that exec_run knows how to fill. */
static inline bi_value_id exec_weight(struct bi_graph *g, struct exec *x, int32_t index, int rank,
                                      int64_t rows, int64_t cols, float offset)
{
    char name[16];
    snprintf(name, sizeof name, "w%d", index);
    x->weight_rows[index] = rows;
    x->weight_cols[index] = rank == 2 ? cols : 1;
    x->weight_offset[index] = offset;
    return bi_weight(g, index, name, rank, (int64_t[]){rows, cols});
}

static inline float *exec_weight_values(const struct exec *x, const struct bi_value *v)
{
    float *data = malloc((size_t)bi_value_size(v));
    int64_t at = 0;
    for (int i = 0; i < v->n_parts; i++) {
        int32_t index = v->parts[i];
        int64_t cols = x->weight_cols[index], taps = v->transposed,
                width = taps ? cols / taps : cols;
        int64_t rows = !v->rows ? x->weight_rows[index] : taps ? v->shape[1] / taps : v->shape[0];
        for (int64_t k = 0; k < rows * cols; k++, at++) {
            int64_t of = (v->rows ? v->rows[k / cols] : k / cols) * cols + k % cols;
            data[taps ? (k % width * taps + taps - 1 - k % cols / width) * rows + k / cols : at] =
                x->weight_offset[index] +
                exec_number((uint64_t)index << 32 | (uint64_t)of) / sqrtf((float)cols);
        }
    }
    CHECK_EQ(at, bi_value_elements(v));
    return data;
}

/* Finds what base_of() of the plan must find, written once more. */
static inline bi_value_id exec_base(const struct bi_graph *g, bi_value_id id)
{
    for (;;) {
        const struct bi_value *v = &g->values[id];
        if (v->kind != BI_VALUE_NODE || !bi_ops[g->nodes[v->node].op]->view)
            return id;
        id = g->nodes[v->node].in[0];
    }
}

/* Checks the plan without its own liveness: when node i runs, what it writes overlaps no
 * value that i or a later node reads, and lies inside the block. True when all is well. */
static inline bool exec_plan_sound(const struct bi_graph *g, const struct bi_memory_plan *plan)
{
    bool ok = true;
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *w = &g->nodes[i];
        for (int k = 0; k < bi_op_n_out(w->op) && !bi_ops[w->op]->view; k++) {
            const struct bi_slot *a = &plan->slots[w->out[k]];
            uint64_t size = (uint64_t)bi_value_size(&g->values[w->out[k]]);
            uint64_t block = a->place == BI_PLACE_OUTPUT ? plan->output_size
                                                         : plan->activation_size;
            if (bi_op_is_spared(g, w, k)) {
                ok &= a->place == BI_PLACE_NONE;
                continue;
            }
            ok &= (a->place == BI_PLACE_ACTIVATION || a->place == BI_PLACE_OUTPUT) &&
                  a->offset % BI_ALIGN == 0 && a->offset + size <= block;
            for (int j = 0; j < k; j++) {
                const struct bi_slot *b = &plan->slots[w->out[j]];
                ok &= a->place != b->place || a->offset + size <= b->offset ||
                      b->offset + (uint64_t)bi_value_size(&g->values[w->out[j]]) <= a->offset;
            }
            for (size_t r = i; r < g->n_nodes; r++)
                for (int j = 0; j < BI_NODE_IN; j++) {
                    bi_value_id id = g->nodes[r].in[j], base;
                    const struct bi_slot *b;
                    if (id == BI_NONE)
                        continue;
                    base = exec_base(g, id);
                    b = &plan->slots[base];
                    if (base == w->out[k] || b->place != a->place ||
                        g->values[base].kind != BI_VALUE_NODE || (size_t)g->values[base].node > i)
                        continue;
                    ok &= a->offset + size <= b->offset ||
                          b->offset + (uint64_t)bi_value_size(&g->values[base]) <= a->offset;
                }
        }
    }
    return ok;
}

static inline void *exec_block(uint64_t size)
{
    void *p = NULL;
    if (posix_memalign(&p, BI_ALIGN, (size_t)size + 1))
        exit(2);
    memset(p, 0xFF, (size_t)size + 1);
    return p;
}

static inline const void *exec_input(const struct exec *x, const char *name, size_t *size)
{
    const size_t tokens = (size_t)x->counts.n_tokens, seqs = (size_t)x->counts.n_seqs;
    if (!strcmp(name, "ids"))
        return *size = tokens * sizeof *x->ids, x->ids;
    static const int32_t bases[9] = {0, 3, 1, 2, 2, 0, 1, 3, 3};
    if (!strcmp(name, "bases"))
        return *size = sizeof bases, bases;
    if (!strcmp(name, "scale"))
        return *size = tokens * sizeof *x->scale, x->scale;
    if (!strcmp(name, "start"))
        return *size = (seqs + 1) * sizeof *x->start, x->start;
    if (!strcmp(name, "grid_start"))
        return *size = (seqs + 1) * sizeof *x->grid_start, x->grid_start;
    if (!strcmp(name, "row_start"))
        return *size = (tokens + 1) * sizeof *x->row_start, x->row_start;
    return *size = (size_t)x->counts.n_rows * sizeof *x->rows, x->rows;
}

/* Runs g and returns its output block (to be freed), with the plan that says where outputs
 * are; NULL after a failed check. The graph has its uses counted. */
static inline unsigned char *exec_run(const struct exec *x, const struct bi_graph *g,
                                      struct bi_memory_plan *plan)
{
    struct bioinfer_error err = {0};
    unsigned char *input, *activation, *output;
    float **weights;
    if (!CHECK_EQ(bi_memory_plan(plan, g, &err), 0)) {
        fprintf(stderr, "    %s\n", err.text);
        return NULL;
    }
    CHECK(bi_memory_plan_check(plan, g));
    CHECK(exec_plan_sound(g, plan));
    input = exec_block(plan->input_size);
    activation = exec_block(plan->activation_size);
    output = exec_block(plan->output_size);
    weights = calloc(g->n_values + 1, sizeof *weights);
    memcpy(input, &x->counts, sizeof x->counts);
    for (size_t i = 0; i < g->n_values; i++) {
        size_t size;
        if (g->values[i].kind == BI_VALUE_INPUT && plan->slots[i].place == BI_PLACE_INPUT) {
            const void *data = exec_input(x, g->values[i].name, &size);
            memcpy(input + plan->slots[i].offset, data, size);
        }
        if (g->values[i].kind == BI_VALUE_WEIGHT && plan->slots[i].place == BI_PLACE_WEIGHT)
            weights[i] = exec_weight_values(x, &g->values[i]);
    }
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *node = &g->nodes[i];
        const struct bi_op *op = bi_ops[node->op];
        struct bi_launch launch = {.op = op};
        struct bi_bind b = {.counts = (const struct bi_counts *)(void *)input};
        double flops = -1, bytes = -1;
        for (int k = 0; k < BI_NODE_IN + BI_NODE_OUT; k++) {
            bi_value_id id = k < BI_NODE_IN ? node->in[k] : node->out[k - BI_NODE_IN];
            const struct bi_slot *s = id == BI_NONE ? NULL : &plan->slots[id];
            void *ptr = NULL;
            if (!s)
                continue;
            ptr = s->place == BI_PLACE_WEIGHT       ? (void *)weights[id]
                  : s->place == BI_PLACE_INPUT      ? (void *)(input + s->offset)
                  : s->place == BI_PLACE_OUTPUT     ? (void *)(output + s->offset)
                  : s->place == BI_PLACE_ACTIVATION ? (void *)(activation + s->offset)
                                                    : NULL; /* spared */
            if (k < BI_NODE_IN) {
                b.in[k] = ptr;
                b.in_ld[k] = s->ld;
            } else {
                b.out[k - BI_NODE_IN] = ptr;
                b.out_ld[k - BI_NODE_IN] = s->ld;
            }
        }
        op->cost(g, node, &flops, &bytes);
        CHECK(flops >= 0 && bytes >= 0 && isfinite(flops) && isfinite(bytes));
        if (op->view)
            continue;
        op->launch(g, node, &b, &launch);
        CHECK(launch.entry != NULL);
        op->reference(launch.params);
    }
    for (size_t i = 0; i < g->n_values; i++)
        free(weights[i]);
    free(weights);
    free(input);
    free(activation);
    return output;
}

/* The largest difference of two forms' output number k over their live part, divided by the
 * largest value there; 1e9 when a value is not finite or the shapes differ. */
static inline double exec_difference(const struct exec *x, const struct bi_graph *ga,
                                     const struct bi_memory_plan *pa, const unsigned char *a,
                                     const struct bi_graph *gb, const struct bi_memory_plan *pb,
                                     const unsigned char *b, size_t k)
{
    bi_value_id ia = ga->outputs[k].value, ib = gb->outputs[k].value;
    const struct bi_value *va = &ga->values[ia], *vb = &gb->values[ib];
    const float *fa = (const float *)(const void *)(a + pa->slots[ia].offset);
    const float *fb = (const float *)(const void *)(b + pb->slots[ib].offset);
    int64_t rows = bi_live_rows(&x->counts, (int)va->axis, va->shape[0]);
    int64_t width = va->shape[0] ? bi_value_elements(va) / va->shape[0] : 0, seq = 0;
    double worst = 0, scale = 1e-3;
    if (va->rank != vb->rank || memcmp(va->shape, vb->shape, sizeof va->shape) ||
        va->axis != vb->axis)
        return 1e9;
    for (int64_t r = 0; r < rows; r++) {
        while (va->axis == BI_AXIS_TOKENS && seq < x->counts.n_seqs && r >= x->start[seq + 1])
            seq++;
        for (int64_t c = 0; c < width; c++) {
            double p = (double)fa[r * width + c], q = (double)fb[r * width + c];
            /* maps: behind the own sequence nothing is promised */
            if (va->rank == 3 && c % va->shape[2] >= x->start[seq + 1] - x->start[seq])
                continue;
            if (!isfinite(p) || !isfinite(q))
                return 1e9;
            worst = fmax(worst, fabs(p - q));
            scale = fmax(scale, fabs(p));
        }
    }
    return worst / scale;
}

#endif
