/* row_softmax_grad.c - the derivative of row_softmax.   y = row_softmax(x), dy [R, D] -> dx [R, D]
 *   dx[r, c] = y[r, c] (dy[r, c] - sum_k y[r, k] dy[r, k]) */
#include <string.h>

#include "../kernels/track_grads.h"
#include "shared.h"

static int row_softmax_grad_infer(struct bi_graph *g, struct bi_node *node,
                                  struct bioinfer_error *err)
{
    const struct bi_value *y = bi_in(g, node, 0), *dy = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, y->shape[1], err);
    if (!st && (dy->axis != y->axis || dy->shape[0] != y->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "row_softmax_grad: dy %s beside y %s",
                     bi_shape_text(dy).text, bi_shape_text(y).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void row_softmax_grad_launch(const struct bi_graph *g, const struct bi_node *node,
                                    const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *y = bi_in(g, node, 0);
    BI_LAUNCH(launch, "row_softmax_grad", struct bi_row_softmax_grad_params, .counts = b->counts,
              .y = b->in[0], .dy = b->in[1], .dx = b->out[0], .ldy = b->in_ld[0],
              .lddy = b->in_ld[1], .lddx = b->out_ld[0], .rows = y->shape[0],
              .axis = (int32_t)y->axis, .width = (int32_t)y->shape[1]);
}

static void row_softmax_grad_reference(const void *params)
{
    const struct bi_row_softmax_grad_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *y = p->y + r * p->ldy, *dy = p->dy + r * p->lddy;
        double mean = 0;
        for (int32_t c = 0; c < p->width; c++)
            mean += (double)y[c] * (double)dy[c];
        for (int32_t c = 0; c < p->width; c++)
            p->dx[r * p->lddx + c] = (float)((double)y[c] * ((double)dy[c] - mean));
    }
}

bi_value_id bi_row_softmax_grad(struct bi_graph *g, bi_value_id y, bi_value_id dy)
{
    return bi_node_add(g, BI_OP_ROW_SOFTMAX_GRAD, BI_IN(y, dy), NULL);
}

const struct bi_op bi_op_row_softmax_grad = {
    .name = "row_softmax_grad",
    .infer = row_softmax_grad_infer,
    .launch = row_softmax_grad_launch,
    .reference = row_softmax_grad_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
