/* canonical.c - the text form of a graph that a fingerprint of its model is made of.
 *
 *     input ids int32 [16] TOKENS
 *     weight 0 embed_tokens.weight
 *     0 = embedding(weight 0, ids)
 *     1 = layernorm(0, weight 3, weight 4) eps=9.99999975e-06
 *     output 1 mean 1 layer 6
 *
 * It outlives builds: journals of unfinished jobs hold hashes of it. So it has the names of ops and
 * of the members of their attributes, and nothing that is the default. */
#include "graph.h"

#include <string.h>

#include "../ops/op.h"

static const char *const counters[BI_COUNTERS] = {
#define BI_COUNT_ROW(field, joins) #field,
#include "../kernels/axes.inc"
};

/* A node's value is its number, with the place of the output where that is not the first. */
static void reference(const struct bi_graph *g, const int32_t *numbers, bi_value_id id,
                      struct bi_buf *out)
{
    const struct bi_value *v = &g->values[id];
    if (v->kind == BI_VALUE_INPUT)
        bi_buf_puts(out, v->name);
    else if (v->kind == BI_VALUE_WEIGHT)
        bi_buf_printf(out, "weight %d", numbers[id] - 1);
    else if (v->slot)
        bi_buf_printf(out, "%d.%d", numbers[id] - 1, v->slot);
    else
        bi_buf_printf(out, "%d", numbers[id] - 1);
}

/* Parts of a weight by their places in the model's table, and what is taken of them. */
static void introduce_weight(const struct bi_value *v, int32_t number, struct bi_buf *out)
{
    const int64_t n_rows = v->transposed ? v->shape[1] / v->transposed : v->shape[0];
    bi_buf_printf(out, "weight %d %s", number, v->name);
    for (int i = 0; i < v->n_parts; i++) {
        bi_buf_printf(out, " %d", v->parts[i]);
        if (v->columns[i])
            bi_buf_printf(out, "+%d", v->columns[i]);
    }
    for (int i = 0; i < v->rank; i++)
        bi_buf_printf(out, "%s%lld", i ? " x " : " is ", (long long)v->shape[i]);
    if (v->transposed)
        bi_buf_printf(out, " transposed %d", v->transposed);
    for (int64_t i = 0; v->rows && i < n_rows; i++)
        bi_buf_printf(out, "%s%d", i ? "," : " rows ", v->rows[i]);
    bi_buf_putc(out, '\n');
}

/* Gives an input or a weight its line, where it appears first. */
static void introduce(const struct bi_graph *g, int32_t *numbers, int32_t *n_weights,
                      bi_value_id id, struct bi_buf *out)
{
    const struct bi_value *v = &g->values[id];
    if (numbers[id] || v->kind == BI_VALUE_NODE)
        return;
    if (v->kind == BI_VALUE_WEIGHT) {
        numbers[id] = ++*n_weights;
        introduce_weight(v, *n_weights - 1, out);
        return;
    }
    numbers[id] = 1;
    bi_buf_printf(out, "input %s %s %s %s%s", v->name, bi_dtype_name(v->dtype),
                  bi_shape_text(v).text, bi_axis_name(v->axis), v->kept ? " kept" : "");
    if (v->trips > 1)
        bi_buf_printf(out, " trips %d", v->trips);
    bi_buf_putc(out, '\n');
}

static void attribute(const struct bi_field *f, const unsigned char *at, struct bi_buf *out)
{
    int32_t n;
    float x;
    memcpy(&n, at, sizeof n);
    memcpy(&x, at, sizeof x);
    if (f->kind == BI_FIELD_INT || f->kind == BI_FIELD_ALWAYS) {
        if (n && f->names)
            bi_buf_printf(out, " %s=%s", f->name, f->names[n]);
        else if (n)
            bi_buf_printf(out, " %s=%d", f->name, n);
    } else if (x != 0 && !(x == 1 && f->kind == BI_FIELD_SCALE)) {
        bi_buf_printf(out, " %s=%.9g", f->name, (double)x);
    }
}

static void attributes(const struct bi_graph *g, const struct bi_node *n, struct bi_buf *out)
{
    const struct bi_fields fields = bi_op_fields(n->op);
    for (size_t i = 0; i < fields.n; i++)
        attribute(&fields.of[i], n->attr + i * BI_FIELD_SIZE, out);
    if (n->phase & 1)
        bi_buf_printf(out, " each of %s", counters[bi_graph_counter(g, n->phase)]);
    else if (bi_graph_trips(g, n->phase) > 1)
        bi_buf_printf(out, " trips %d", bi_graph_trips(g, n->phase));
    for (int k = 0; k < bi_op_n_out(n->op); k++) {
        const struct bi_value *v = &g->values[n->out[k]];
        if (v->dtype == BI_F16)
            bi_buf_printf(out, " half %d", k);
        if (v->wide)
            bi_buf_printf(out, " wide %d", k);
        if (v->exact)
            bi_buf_printf(out, " exact %d", k);
    }
    bi_buf_putc(out, '\n');
}

static void node(const struct bi_graph *g, const struct bi_node *n, int32_t number,
                 int32_t *numbers, int32_t *n_weights, struct bi_buf *out)
{
    int n_in = bi_op_n_in(n->op);
    while (n_in && n->in[n_in - 1] == BI_NONE)
        n_in--;
    for (int k = 0; k < n_in; k++)
        if (n->in[k] != BI_NONE)
            introduce(g, numbers, n_weights, n->in[k], out);
    bi_buf_printf(out, "%d = %s(", number, bi_ops[n->op]->name);
    for (int k = 0; k < n_in; k++) {
        bi_buf_puts(out, k ? ", " : "");
        if (n->in[k] == BI_NONE)
            bi_buf_putc(out, '-');
        else
            reference(g, numbers, n->in[k], out);
    }
    bi_buf_putc(out, ')');
    for (int k = 0; k < bi_op_n_out(n->op); k++)
        numbers[n->out[k]] = number + 1;
    attributes(g, n, out);
}

void bi_graph_canonical(const struct bi_graph *g, struct bi_buf *out)
{
    int32_t n_weights = 0, *numbers = bi_calloc(g->arena.env, g->n_values + 1, sizeof *numbers);
    if (!numbers) {
        out->failed = true;
        return;
    }
    for (int i = 0; i < g->n_follows; i++)
        bi_buf_printf(out, "axis %s is %d of %s\n", bi_axis_name(g->follows[i].axis),
                      g->follows[i].times, bi_axis_name(g->follows[i].of));
    for (size_t i = 0; i < g->n_nodes; i++)
        node(g, &g->nodes[i], (int32_t)i, numbers, &n_weights, out);
    for (size_t i = 0; i < g->n_outputs; i++) {
        const struct bi_output *o = &g->outputs[i];
        introduce(g, numbers, &n_weights, o->value, out);
        bi_buf_puts(out, "output ");
        reference(g, numbers, o->value, out);
        bi_buf_printf(out, " %s %d layer %d%s\n", o->name, o->kind, o->layer,
                      o->kept ? " kept" : "");
    }
    bi_free(g->arena.env, numbers);
}
