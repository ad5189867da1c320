/* scale_rows.c - scale_rows: each row times its own number.   x [R, D], scale [R] -> [R, D] */
#include <string.h>

#include "../kernels/scale_rows.h"
#include "shared.h"

static int scale_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, bi_in(g, node, 0)->shape[0], err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void scale_rows_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "scale_rows", struct bi_scale_rows_params, .counts = b->counts, .x = b->in[0],
              .scale = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0], .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1]);
}

static void scale_rows_reference(const void *params)
{
    const struct bi_scale_rows_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = p->x[r * p->ldx + c] * p->scale[r];
}

bi_value_id bi_scale_rows(struct bi_graph *g, bi_value_id x, bi_value_id scale)
{
    return bi_node_add(g, BI_OP_SCALE_ROWS, BI_IN(x, scale), NULL);
}

const struct bi_op bi_op_scale_rows = {
    .name = "scale_rows",
    .infer = scale_rows_infer,
    .launch = scale_rows_launch,
    .reference = scale_rows_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
