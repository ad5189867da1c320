/* dump.c - the stable text form of a graph.
 *
 *     graph tokens=258 seqs=1 longest=258 rows=0
 *     %0 = input "ids" int32 [258]
 *     %1 = weight "embed_tokens.weight" float32 [33, 320]
 *     %2 = embedding(%1, %0) : [258, 320]
 *     %9 = linear(%2, %5, %6) {act=gelu} : [258, 1280]
 *     output %9 "mean" layer 6
 *
 * Numbers are given in order of first appearance, so a rewrite elsewhere in the graph does
 * not renumber what stands before it. */
#include "graph.h"

#include <string.h>

#include "../ops/op.h"

/* Appends " {" or ", " and what else introduces one more attribute. */
static void begin(struct bi_buf *out, const char *name, bool *any)
{
    bi_buf_printf(out, "%s%s=", *any ? ", " : " {", name);
    *any = true;
}

static void field(const struct bi_field *f, const unsigned char *at, struct bi_buf *out, bool *any)
{
    if (f->kind == BI_FIELD_INT || f->kind == BI_FIELD_ALWAYS) {
        int32_t n;
        memcpy(&n, at, sizeof n);
        if (!n && f->kind == BI_FIELD_INT)
            return;
        begin(out, f->shown, any);
        if (f->names)
            bi_buf_puts(out, f->names[n]);
        else
            bi_buf_printf(out, "%d", n);
    } else {
        float x;
        memcpy(&x, at, sizeof x);
        if (x == 0 || (x == 1 && f->kind == BI_FIELD_SCALE))
            return;
        begin(out, f->shown, any);
        bi_buf_printf(out, "%.*g", f->kind == BI_FIELD_SMALL ? 3 : 9, (double)x);
    }
}

/* Appends a node's attributes and, as a mask, which of its outputs are float16. */
static void attrs(const struct bi_graph *g, const struct bi_node *n, struct bi_buf *out)
{
    const struct bi_fields fields = bi_op_fields(n->op);
    unsigned half = 0;
    bool any = false;
    for (size_t i = 0; i < fields.n; i++)
        if (fields.of[i].shown)
            field(&fields.of[i], n->attr + i * BI_FIELD_SIZE, out, &any);
    for (int k = 0; k < bi_op_n_out(n->op); k++)
        half |= (unsigned)(g->values[n->out[k]].dtype == BI_F16) << k;
    if (half) {
        begin(out, "half", &any);
        bi_buf_printf(out, "%u", half);
    }
    if (any)
        bi_buf_putc(out, '}');
}

/* The number of a value; inputs and weights are introduced by a line of their own. */
static int number(const struct bi_graph *g, int32_t *numbers, int32_t *next, bi_value_id id,
                  struct bi_buf *out)
{
    const struct bi_value *v = &g->values[id];
    if (numbers[id])
        return numbers[id] - 1;
    numbers[id] = ++*next;
    if (v->kind != BI_VALUE_NODE)
        bi_buf_printf(out, "%%%d = %s \"%s\" %s %s%s%s\n", numbers[id] - 1,
                      v->kind == BI_VALUE_INPUT ? "input" : "weight", v->name,
                      bi_dtype_name(v->dtype), bi_shape_text(v).text, v->kept ? " kept" : "",
                      v->trips > 1 ? " of each trip" : "");
    return numbers[id] - 1;
}

void bi_graph_dump(const struct bi_graph *g, struct bi_buf *out)
{
    int32_t next = 0, *numbers = bi_calloc(g->arena.env, g->n_values + 1, sizeof *numbers);
    if (!numbers) {
        out->failed = true;
        return;
    }
    bi_buf_printf(out, "graph tokens=%lld seqs=%lld longest=%lld rows=%lld", (long long)g->n_tokens,
                  (long long)g->n_seqs, (long long)g->longest, (long long)g->n_rows);
    if (g->n_grid)
        bi_buf_printf(out, " grid=%lld", (long long)g->n_grid);
    bi_buf_putc(out, '\n');
    for (size_t i = 0; i < g->n_nodes; i++) {
        const struct bi_node *n = &g->nodes[i];
        const char *sep = "";
        int n_in = bi_op_n_in(n->op);
        if (n->dead)
            continue;
        for (int k = 0; k < n_in; k++)
            if (n->in[k] != BI_NONE)
                number(g, numbers, &next, n->in[k], out);
        for (int k = 0; k < bi_op_n_out(n->op); k++) {
            bi_buf_printf(out, "%s%%%d", sep, number(g, numbers, &next, n->out[k], out));
            sep = ", ";
        }
        if (n->phase & 1)
            bi_buf_puts(out, " (each step)");
        else if (bi_graph_trips(g, n->phase) > 1)
            bi_buf_printf(out, " (%d trips)", bi_graph_trips(g, n->phase));
        bi_buf_printf(out, " = %s(", bi_ops[n->op]->name);
        while (n_in && n->in[n_in - 1] == BI_NONE)
            n_in--;
        for (int k = 0; k < n_in; k++) {
            bi_buf_puts(out, k ? ", " : "");
            if (n->in[k] == BI_NONE)
                bi_buf_puts(out, "-");
            else
                bi_buf_printf(out, "%%%d", numbers[n->in[k]] - 1);
        }
        bi_buf_puts(out, ")");
        attrs(g, n, out);
        for (int k = 0; k < bi_op_n_out(n->op); k++)
            bi_buf_printf(out, "%s%s", k ? ", " : " : ", bi_shape_text(&g->values[n->out[k]]).text);
        bi_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < g->n_outputs; i++)
        bi_buf_printf(out, "output %%%d \"%s\" layer %d%s\n",
                      number(g, numbers, &next, g->outputs[i].value, out), g->outputs[i].name,
                      g->outputs[i].layer, g->outputs[i].kept ? " kept" : "");
    bi_free(g->arena.env, numbers);
}
