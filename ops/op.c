/* op.c - the table of ops and what their files share. */
#include "shared.h"

#include <stdio.h>

const struct bi_op *const bi_ops[BI_OP_COUNT] = {
#define OP(NAME, stem, n_in, n_out, kernel) [BI_OP_##NAME] = &bi_op_##stem,
#include "ops.inc"
};

static const struct {
    int n_in, n_out;
} arity[BI_OP_COUNT] = {
#define OP(NAME, stem, n_in, n_out, kernel) [BI_OP_##NAME] = {n_in, n_out},
#include "ops.inc"
};

#define INT(name, shown) {#name, shown, BI_FIELD_INT, NULL},
#define ALWAYS(name, shown) {#name, shown, BI_FIELD_ALWAYS, NULL},
#define NAMED(name, shown, names) {#name, shown, BI_FIELD_INT, names},
#define REAL(name, shown) {#name, shown, BI_FIELD_REAL, NULL},
#define SCALE(name, shown) {#name, shown, BI_FIELD_SCALE, NULL},
#define SMALL(name, shown) {#name, shown, BI_FIELD_SMALL, NULL},
#define ATTRS(stem, ...)                                                                           \
    static const struct bi_field stem##_fields[] = {__VA_ARGS__};                                  \
    _Static_assert(sizeof(struct bi_##stem##_attr) == BI_FIELD_SIZE * BI_COUNT(stem##_fields),     \
                   "fields of one size, without padding");                                         \
    _Static_assert(sizeof(struct bi_##stem##_attr) <= BI_ATTR_SIZE, "enlarge BI_ATTR_SIZE");
#include "ops.inc"

static const struct bi_fields fields[BI_OP_COUNT] = {
#define ATTRS(stem, ...) [BI_STEM_##stem] = {BI_COUNT(stem##_fields), stem##_fields},
#include "ops.inc"
};

struct bi_fields bi_op_fields(enum bi_op_kind op)
{
    return fields[op];
}

int bi_op_n_in(enum bi_op_kind op)
{
    return arity[op].n_in;
}

int bi_op_n_out(enum bi_op_kind op)
{
    return arity[op].n_out;
}

struct bi_call bi_launch_call(const struct bi_launch *launch, int32_t units)
{
    struct bi_call call = {.params = launch->params, .units = units};
    for (int i = 0; i < BI_NODE_IN; i++)
        call.half_in |= (uint32_t)(launch->in_dtype[i] == BI_F16) << i;
    for (int i = 0; i < BI_NODE_OUT; i++)
        call.half_out |= (uint32_t)(launch->out_dtype[i] == BI_F16) << i;
    return call;
}

void bi_out_shape(struct bi_graph *g, const struct bi_node *node, int slot, enum bi_axis axis,
                  int rank, const int64_t *shape)
{
    struct bi_value *v = bi_out(g, node, slot);
    v->dtype = v->dtype == BI_F16 ? BI_F16 : BI_F32;
    v->axis = axis;
    v->rank = rank;
    for (int i = 0; i < BI_GRAPH_RANK; i++)
        v->shape[i] = i < rank ? shape[i] : 1;
}

void bi_out_like(struct bi_graph *g, const struct bi_node *node, int slot, int i)
{
    const struct bi_value *v = bi_in(g, node, i);
    bi_out_shape(g, node, slot, v->axis, v->rank, v->shape);
}

struct bi_shape_text bi_shape_text(const struct bi_value *v)
{
    struct bi_shape_text t;
    size_t n = 0;
    for (int i = 0; i < v->rank; i++)
        n += (size_t)snprintf(t.text + n, sizeof t.text - n, "%s%lld", i ? ", " : "[",
                              (long long)v->shape[i]);
    snprintf(t.text + n, sizeof t.text - n, v->rank ? "]" : "[]");
    return t;
}

int bi_expect(const struct bi_graph *g, const struct bi_node *node, int i, int rank, int64_t last,
              struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    const char *op = bi_ops[node->op]->name;
    if (!v)
        return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d is missing", op, i);
    if (v->rank != rank || (last >= 0 && v->shape[rank - 1] != last))
        return bi_fail(err, BIOINFER_INTERNAL,
                       "%s: input %d: shape %s, expected rank %d, last dimension %lld", op, i,
                       bi_shape_text(v).text, rank, (long long)last);
    return 0;
}

/* Checks a table of the starts of n sequences, which that axis counts. */
static int expect_starts(const struct bi_graph *g, const struct bi_node *node, int i,
                         enum bi_axis axis, int64_t n, struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    if (!v || v->rank != 1 || v->dtype != BI_I32 || v->axis != axis || v->shape[0] != n + 1)
        return bi_fail(err, BIOINFER_INTERNAL,
                       "%s: input %d: expected the starts of %lld sequences on axis %s",
                       bi_ops[node->op]->name, i, (long long)n, bi_axis_name(axis));
    return 0;
}

int bi_expect_start(const struct bi_graph *g, const struct bi_node *node, int i,
                    struct bioinfer_error *err)
{
    return expect_starts(g, node, i, BI_AXIS_SEQS, g->n_seqs, err);
}

int bi_expect_starts_of(const struct bi_graph *g, const struct bi_node *node, int i, int x,
                        struct bioinfer_error *err)
{
    return bi_in(g, node, x)->axis == BI_AXIS_GRID
               ? expect_starts(g, node, i, BI_AXIS_TOKENS, g->n_tokens, err)
               : expect_starts(g, node, i, BI_AXIS_SEQS, g->n_seqs, err);
}

int64_t bi_view_first(const struct bi_node *node, int64_t ld)
{
    const struct bi_op *op = bi_ops[node->op];
    if (op->view == BI_VIEW_STEPS)
        return 0;
    return op->first(node) * (op->view == BI_VIEW_ROWS ? ld : 1);
}

struct bi_weight_form bi_weight_form(const struct bi_graph *g, const struct bi_node *node, int k)
{
    const struct bi_op *op = bi_ops[node->op];
    struct bi_weight_form form = {.layout = op->layout[k]};
    if (form.layout == BI_LAYOUT_LINEAR && bi_in(g, node, 0)->dtype == BI_F16)
        form.layout = BI_LAYOUT_LINEAR_F16;
    if (op->weight_form)
        op->weight_form(node, k, &form);
    return form;
}

bool bi_op_is_spared(const struct bi_graph *g, const struct bi_node *node, int slot)
{
    return bi_ops[node->op]->spare & 1u << slot && !g->values[node->out[slot]].n_uses;
}

double bi_bytes(const struct bi_graph *g, const struct bi_node *node)
{
    double sum = 0;
    for (int i = 0; i < bi_op_n_in(node->op); i++)
        if (node->in[i] != BI_NONE)
            sum += (double)bi_value_size(&g->values[node->in[i]]);
    for (int i = 0; i < bi_op_n_out(node->op); i++)
        if (!bi_op_is_spared(g, node, i))
            sum += (double)bi_value_size(&g->values[node->out[i]]);
    return sum;
}
