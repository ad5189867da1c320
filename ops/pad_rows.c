/* pad_rows.c - pad_rows: zero rows around, the derivative of a crop.   x [n, C] -> [R, C] */
#include <string.h>

#include "../kernels/track_grads.h"
#include "shared.h"

static int pad_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int32_t first = BI_ATTR(node, pad_rows)->first, rows = BI_ATTR(node, pad_rows)->rows;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (x->axis != BI_AXIS_FIXED || first < 0 || x->shape[0] > (int64_t)rows - first))
        st = bi_fail(err, BIOINFER_INTERNAL, "pad_rows: %s from row %d of %d",
                     bi_shape_text(x).text, first, rows);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){rows, x->shape[1]});
    return st;
}

static void pad_rows_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "pad_rows", struct bi_pad_rows_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0], .n = x->shape[0],
              .first = BI_ATTR(node, pad_rows)->first, .rows = BI_ATTR(node, pad_rows)->rows,
              .width = (int32_t)x->shape[1]);
}

static void pad_rows_reference(const void *params)
{
    const struct bi_pad_rows_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const int64_t from = r - p->first;
            p->y[r * p->ldy + c] = from >= 0 && from < p->n ? p->x[from * p->ldx + c] : 0;
        }
}

/* Row `first` of `rows` is row 0 of x. */
bi_value_id bi_pad_rows(struct bi_graph *g, bi_value_id x, int32_t first, int64_t rows)
{
    return bi_node_add(g, BI_OP_PAD_ROWS, BI_IN(x),
                       BI_ATTRS(pad_rows, .first = first, .rows = (int32_t)rows));
}

const struct bi_op bi_op_pad_rows = {
    .name = "pad_rows",
    .infer = pad_rows_infer,
    .launch = pad_rows_launch,
    .reference = pad_rows_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
