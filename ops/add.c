/* add.c - add: a + b.   a [R, N]; b [R, N], one row [N], or one number [1] */
#include <string.h>

#include "../kernels/add.h"
#include "shared.h"

static int broadcast_of(const struct bi_value *a, const struct bi_value *b)
{
    if (b->rank == 1 && b->shape[0] == 1)
        return BI_BROADCAST_SCALAR;
    if (b->rank == 1 && b->shape[0] == a->shape[1])
        return BI_BROADCAST_ROW;
    if (b->rank == 2 && b->shape[0] == a->shape[0] && b->shape[1] == a->shape[1])
        return BI_BROADCAST_NONE;
    return -1;
}

static int add_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && broadcast_of(bi_in(g, node, 0), bi_in(g, node, 1)) < 0)
        st = bi_fail(err, BIOINFER_INTERNAL, "add: shapes %s and %s",
                     bi_shape_text(bi_in(g, node, 0)).text, bi_shape_text(bi_in(g, node, 1)).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void add_launch(const struct bi_graph *g, const struct bi_node *node,
                       const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *a = bi_in(g, node, 0);
    BI_LAUNCH(launch, "add", struct bi_add_params, .counts = b->counts, .a = b->in[0],
              .b = b->in[1], .y = b->out[0], .lda = b->in_ld[0], .ldb = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = a->shape[0], .axis = (int32_t)a->axis,
              .width = (int32_t)a->shape[1], .broadcast = broadcast_of(a, bi_in(g, node, 1)));
}

static void add_reference(const void *params)
{
    const struct bi_add_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            int64_t at = p->broadcast == BI_BROADCAST_NONE  ? r * p->ldb + c
                         : p->broadcast == BI_BROADCAST_ROW ? c
                                                            : 0;
            p->y[r * p->ldy + c] = p->a[r * p->lda + c] + p->b[at];
        }
}

bi_value_id bi_add(struct bi_graph *g, bi_value_id a, bi_value_id b)
{
    return bi_node_add(g, BI_OP_ADD, BI_IN(a, b), NULL);
}

static void add_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                     unsigned wanted, bi_value_id *dx)
{
    if (wanted & 2 && g->values[node->in[1]].rank == 1) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: add has none by a row");
        return;
    }
    dx[0] = dx[1] = dy[0];
}

const struct bi_op bi_op_add = {
    .name = "add",
    .infer = add_infer,
    .launch = add_launch,
    .reference = add_reference,
    .cost = bi_cost_bytes,
    .grad = add_grad,
    .required = 3,
};
