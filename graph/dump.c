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

#include "../ops/op.h"

static void attrs(const struct bi_node *n, struct bi_buf *out)
{
    const struct bi_attr *a = &n->attr;
    const struct bi_op *op = bi_ops[n->op];
    const bool heads = !(op->shown & BI_SHOWN_NO_HEADS);
    const char *sep = " {";
    struct bi_buf b = {.env = out->env};
#define ATTR(cond, fmt, value)                                                                     \
    if (cond) {                                                                                    \
        bi_buf_printf(&b, "%s" fmt, sep, value);                                                   \
        sep = ", ";                                                                                \
    }
    ATTR(a->act && op->acts, "act=%s", op->acts[a->act])
    ATTR(a->act && !op->acts, "act=%d", a->act)
    ATTR(a->gated, "gated=%d", a->gated)
    ATTR(a->rms, "rms=%d", a->rms)
    ATTR(a->groups, "groups=%d", a->groups)
    ATTR(a->terms, "terms=%d", a->terms)
    ATTR(a->twin, "twin=%d", a->twin)
    ATTR(a->factor != 0, "factor=%.9g", (double)a->factor)
    ATTR(a->scale != 0 && a->scale != 1, "scale=%.9g", (double)a->scale)
    ATTR(a->eps != 0, "eps=%.3g", (double)a->eps)
    ATTR(a->n_heads && heads, "heads=%d", a->n_heads)
    ATTR(a->head_dim, "head_dim=%d", a->head_dim)
    ATTR(a->n_prefix && heads, "prefix=%d", a->n_prefix)
    ATTR(a->n_suffix, "suffix=%d", a->n_suffix)
    ATTR(op->shown & BI_SHOWN_FIRST || a->first, "first=%d", a->first)
    ATTR(op->shown & BI_SHOWN_N && a->n, "n=%d", a->n)
    ATTR(a->taps, "taps=%d", a->taps)
    ATTR(a->pad, "pad=%d", a->pad)
    ATTR(a->k, "k=%d", a->k)
    ATTR(a->half, "half=%u", a->half)
#undef ATTR
    if (b.size) {
        bi_buf_append(out, b.data, b.size);
        bi_buf_putc(out, '}');
    }
    out->failed |= b.failed;
    bi_buf_free(&b);
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
        bi_buf_printf(out, "%%%d = %s \"%s\" %s %s\n", numbers[id] - 1,
                      v->kind == BI_VALUE_INPUT ? "input" : "weight", v->name,
                      bi_dtype_name(v->dtype), bi_shape_text(v).text);
    return numbers[id] - 1;
}

void bi_graph_dump(const struct bi_graph *g, struct bi_buf *out)
{
    int32_t next = 0, *numbers = bi_calloc(g->arena.env, g->n_values + 1, sizeof *numbers);
    if (!numbers) {
        out->failed = true;
        return;
    }
    bi_buf_printf(out, "graph tokens=%lld seqs=%lld longest=%lld rows=%lld\n",
                  (long long)g->n_tokens, (long long)g->n_seqs, (long long)g->longest,
                  (long long)g->n_rows);
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
        bi_buf_printf(out, "%s = %s(", n->phase & 1 ? " (each step)" : "", bi_ops[n->op]->name);
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
        attrs(n, out);
        for (int k = 0; k < bi_op_n_out(n->op); k++)
            bi_buf_printf(out, "%s%s", k ? ", " : " : ", bi_shape_text(&g->values[n->out[k]]).text);
        bi_buf_putc(out, '\n');
    }
    for (size_t i = 0; i < g->n_outputs; i++)
        bi_buf_printf(out, "output %%%d \"%s\" layer %d\n",
                      number(g, numbers, &next, g->outputs[i].value, out), g->outputs[i].name,
                      g->outputs[i].layer);
    bi_free(g->arena.env, numbers);
}
