/* mean_rows.c - mean_rows: means of runs of rows.   x [R n, D] -> [R, D] */
#include <string.h>

#include "../kernels/track_rows.h"
#include "shared.h"

static int mean_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int32_t n = BI_ATTR(node, mean_rows)->n;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (n < 1 || x->axis != BI_AXIS_FIXED || x->shape[0] % n))
        st = bi_fail(err, BIOINFER_INTERNAL, "mean_rows: %s by %d rows", bi_shape_text(x).text, n);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){x->shape[0] / n, x->shape[1]});
    return st;
}

static void mean_rows_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "mean_rows", struct bi_mean_rows_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0] / BI_ATTR(node, mean_rows)->n, .width = (int32_t)x->shape[1],
              .n = BI_ATTR(node, mean_rows)->n);
}

static void mean_rows_reference(const void *params)
{
    const struct bi_mean_rows_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            double sum = 0;
            for (int32_t i = 0; i < p->n; i++)
                sum += (double)p->x[(r * p->n + i) * p->ldx + c];
            p->y[r * p->ldy + c] = (float)(sum / p->n);
        }
}

bi_value_id bi_mean_rows(struct bi_graph *g, bi_value_id x, int32_t n)
{
    return bi_node_add(g, BI_OP_MEAN_ROWS, BI_IN(x), BI_ATTRS(mean_rows, .n = n));
}

/* Each row of the run has its share. */
static void mean_rows_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    const struct bi_value x = g->values[node->in[0]];
    (void)wanted;
    dx[0] = bi_upsample(g, bi_scale(g, dy[0], 1 / (float)BI_ATTR(node, mean_rows)->n),
                        bi_fill(g, BI_F32, x.axis, x.shape[0], x.shape[1], 0));
}

const struct bi_op bi_op_mean_rows = {
    .name = "mean_rows",
    .infer = mean_rows_infer,
    .launch = mean_rows_launch,
    .reference = mean_rows_reference,
    .cost = bi_cost_bytes,
    .grad = mean_rows_grad,
    .required = 1,
};
