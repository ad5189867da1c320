/* put_rows.c - put_rows: x[row[r], :] = y[r, :], in place.   x [M, D], y [R, D], row [R] -> x */
#include <string.h>

#include "../kernels/decode.h"
#include "shared.h"

static int put_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *y = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 1, y->shape[0], err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void put_rows_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *y = bi_in(g, node, 1);
    BI_LAUNCH(launch, "put_rows", struct bi_put_rows_params, .counts = b->counts, .x = b->out[0],
              .y = b->in[1], .row = b->in[2], .rows = y->shape[0], .axis = (int32_t)y->axis,
              .width = (int32_t)y->shape[1]);
}

static void put_rows_reference(const void *params)
{
    const struct bi_put_rows_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        if (p->row[r] >= 0)
            memcpy(p->x + (int64_t)p->row[r] * p->width, p->y + r * p->width,
                   (size_t)p->width * sizeof *p->x);
}

/* In place: x [M, D] with rows `row` [S] (-1 = none) replaced by y [S, D]; its new value. */
bi_value_id bi_put_rows(struct bi_graph *g, bi_value_id x, bi_value_id y, bi_value_id row)
{
    return bi_node_add(g, BI_OP_PUT_ROWS, BI_IN(x, y, row), NULL);
}

const struct bi_op bi_op_put_rows = {
    .name = "put_rows",
    .infer = put_rows_infer,
    .launch = put_rows_launch,
    .reference = put_rows_reference,
    .cost = bi_cost_bytes,
    .required = 7,
    .in_place = true,
};
