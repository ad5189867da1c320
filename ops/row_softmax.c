/* row_softmax.c - row_softmax: softmax over the columns of each row.   x [R, D] -> [R, D] */
#include <math.h>
#include <string.h>

#include "../base/larger.h"
#include "../kernels/track_rows.h"
#include "shared.h"

static int row_softmax_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void row_softmax_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "row_softmax", struct bi_row_softmax_params, .counts = b->counts,
              .x = b->in[0], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0], .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1]);
}

static void row_softmax_reference(const void *params)
{
    const struct bi_row_softmax_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *x = p->x + r * p->ldx;
        double most = -INFINITY, sum = 0;
        for (int32_t c = 0; c < p->width; c++)
            most = bi_larger(most, (double)x[c]);
        for (int32_t c = 0; c < p->width; c++)
            sum += exp((double)x[c] - most);
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = (float)(exp((double)x[c] - most) / sum);
    }
}

bi_value_id bi_row_softmax(struct bi_graph *g, bi_value_id x)
{
    return bi_node_add(g, BI_OP_ROW_SOFTMAX, BI_IN(x), NULL);
}

static void row_softmax_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                             unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_row_softmax_grad(g, node->out[0], dy[0]);
}

const struct bi_op bi_op_row_softmax = {
    .name = "row_softmax",
    .infer = row_softmax_infer,
    .launch = row_softmax_launch,
    .reference = row_softmax_reference,
    .cost = bi_cost_bytes,
    .grad = row_softmax_grad,
    .required = 1,
};
