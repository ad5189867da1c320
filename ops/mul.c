/* mul.c - mul: a * b, element by element.   a, b [R, N] -> [R, N] */
#include <string.h>

#include "../kernels/mul.h"
#include "shared.h"

static int mul_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, a->shape[1], err);
    if (!st && a->shape[0] != b->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "mul: shapes %s and %s", bi_shape_text(a).text,
                     bi_shape_text(b).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void mul_launch(const struct bi_graph *g, const struct bi_node *node,
                       const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *a = bi_in(g, node, 0);
    BI_LAUNCH(launch, "mul", struct bi_mul_params, .counts = b->counts, .a = b->in[0],
              .b = b->in[1], .y = b->out[0], .lda = b->in_ld[0], .ldb = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = a->shape[0], .axis = (int32_t)a->axis,
              .width = (int32_t)a->shape[1]);
}

static void mul_reference(const void *params)
{
    const struct bi_mul_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = p->a[r * p->lda + c] * p->b[r * p->ldb + c];
}

bi_value_id bi_mul(struct bi_graph *g, bi_value_id a, bi_value_id b)
{
    return bi_node_add(g, BI_OP_MUL, BI_IN(a, b), NULL);
}

/* Is it ones, as what a gradient begins with? */
static bool is_ones(const struct bi_graph *g, bi_value_id id)
{
    const struct bi_value *v = &g->values[id];
    const struct bi_node *n = v->kind == BI_VALUE_NODE ? &g->nodes[v->node] : NULL;
    return n && n->op == BI_OP_FILL && v->dtype == BI_F32 && BI_ATTR(n, fill)->value >= 1 &&
           BI_ATTR(n, fill)->value <= 1;
}

static void mul_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                     unsigned wanted, bi_value_id *dx)
{
    for (int k = 0; k < 2; k++)
        if (wanted >> k & 1)
            dx[k] = is_ones(g, dy[0]) ? node->in[1 - k] : bi_mul(g, dy[0], node->in[1 - k]);
}

const struct bi_op bi_op_mul = {
    .name = "mul",
    .infer = mul_infer,
    .launch = mul_launch,
    .reference = mul_reference,
    .cost = bi_cost_bytes,
    .grad = mul_grad,
    .required = 3,
};
