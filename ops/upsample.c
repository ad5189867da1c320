/* upsample.c - every row n times, plus a skip connection.   x [R, C], skip [n R, C] -> [n R, C] */
#include <string.h>

#include "../kernels/upsample.h"
#include "shared.h"

static int upsample_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *skip = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && (x->axis != BI_AXIS_FIXED || skip->shape[0] % x->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "upsample: skip %s beside %s",
                     bi_shape_text(skip).text, bi_shape_text(x).text);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){skip->shape[0], x->shape[1]});
    return st;
}

static void upsample_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int64_t rows = bi_in(g, node, 1)->shape[0];
    BI_LAUNCH(launch, "upsample", struct bi_upsample_params, .counts = b->counts, .x = b->in[0],
              .skip = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .lds = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = rows, .width = (int32_t)x->shape[1],
              .times = (int32_t)(rows / x->shape[0]));
}

static void upsample_reference(const void *params)
{
    const struct bi_upsample_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = p->x[r / p->times * p->ldx + c] + p->skip[r * p->lds + c];
}

bi_value_id bi_upsample(struct bi_graph *g, bi_value_id x, bi_value_id skip)
{
    return bi_node_add(g, BI_OP_UPSAMPLE, BI_IN(x, skip), NULL);
}

static void upsample_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                          unsigned wanted, bi_value_id *dx)
{
    const int64_t times = g->values[node->in[1]].shape[0] / g->values[node->in[0]].shape[0];
    if (wanted & 1)
        dx[0] = bi_scale(g, bi_mean_rows(g, dy[0], (int32_t)times), (float)times);
    dx[1] = dy[0];
}

const struct bi_op bi_op_upsample = {
    .name = "upsample",
    .infer = upsample_infer,
    .launch = upsample_launch,
    .reference = upsample_reference,
    .cost = bi_cost_bytes,
    .grad = upsample_grad,
    .required = 3,
};
