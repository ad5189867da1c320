/* select_columns.c - select_columns: columns by index.   x [R, C], index [N] i32 -> [R, N] */
#include <string.h>

#include "../kernels/select_columns.h"
#include "shared.h"

static int select_columns_infer(struct bi_graph *g, struct bi_node *node,
                                struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *index = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && (index->dtype != BI_I32 || index->axis != BI_AXIS_FIXED))
        st = bi_fail(err, BIOINFER_INTERNAL, "select_columns: index %s of %s, expected int32, its "
                     "length fixed", bi_shape_text(index).text, bi_dtype_name(index->dtype));
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){x->shape[0], index->shape[0]});
    return st;
}

static void select_columns_launch(const struct bi_graph *g, const struct bi_node *node,
                                  const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *index = bi_in(g, node, 1);
    BI_LAUNCH(launch, "select_columns", struct bi_select_columns_params, .counts = b->counts,
              .x = b->in[0], .index = b->in[1], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .width = (int32_t)index->shape[0]);
}

static void select_columns_reference(const void *params)
{
    const struct bi_select_columns_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t i = 0; i < p->width; i++)
            p->y[r * p->ldy + i] = p->x[r * p->ldx + p->index[i]];
}

/* What it reads is as much as it writes. */
static void select_columns_cost(const struct bi_graph *g, const struct bi_node *node,
                                double *flops, double *bytes)
{
    *flops = 0;
    *bytes = 2.0 * (double)bi_value_size(&g->values[node->out[0]]);
}

const struct bi_op bi_op_select_columns = {
    .name = "select_columns", .infer = select_columns_infer, .launch = select_columns_launch,
    .reference = select_columns_reference, .cost = select_columns_cost, .required = 3,
};
