/* add_narrow.c - add_narrow: a sum with a value of fewer columns.
 *   a [R, N], b [R, M], M <= N -> [R, N] = a, b added to its first M columns */
#include <string.h>

#include "../kernels/track_rows.h"
#include "shared.h"

static int add_narrow_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    if (!st && (a->axis != b->axis || a->shape[0] != b->shape[0] || b->shape[1] > a->shape[1]))
        st = bi_fail(err, BIOINFER_INTERNAL, "add_narrow: %s beside %s", bi_shape_text(b).text,
                     bi_shape_text(a).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void add_narrow_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *a = bi_in(g, node, 0);
    BI_LAUNCH(launch, "add_narrow", struct bi_add_narrow_params, .counts = b->counts, .a = b->in[0],
              .b = b->in[1], .y = b->out[0], .lda = b->in_ld[0], .ldb = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = a->shape[0], .axis = (int32_t)a->axis,
              .width = (int32_t)a->shape[1], .narrow = (int32_t)bi_in(g, node, 1)->shape[1]);
}

static void add_narrow_reference(const void *params)
{
    const struct bi_add_narrow_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = p->a[r * p->lda + c] +
                                   (c < p->narrow ? p->b[r * p->ldb + c] : 0);
}

bi_value_id bi_add_narrow(struct bi_graph *g, bi_value_id a, bi_value_id b)
{
    return bi_node_add(g, BI_OP_ADD_NARROW, BI_IN(a, b), NULL);
}

static void add_narrow_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                            unsigned wanted, bi_value_id *dx)
{
    dx[0] = dy[0];
    if (wanted & 2)
        dx[1] = bi_columns(g, dy[0], 0, (int32_t)g->values[node->in[1]].shape[1]);
}

const struct bi_op bi_op_add_narrow = {
    .name = "add_narrow",
    .infer = add_narrow_infer,
    .launch = add_narrow_launch,
    .reference = add_narrow_reference,
    .cost = bi_cost_bytes,
    .grad = add_narrow_grad,
    .required = 3,
};
