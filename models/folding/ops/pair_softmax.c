/* pair_softmax.c - softmax over the pairs (i, j) of each token i, column by column.
 *   x [G, D], row_start [T + 1] -> [G, D] (kernels/alignments.h) */
#include <math.h>
#include <string.h>

#include "../../../base/larger.h"
#include "../../../kernels/alignments.h"
#include "../../../ops/shared.h"

static int pair_softmax_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *start = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, g->n_tokens + 1, err);
    if (!st && (start->dtype != BI_I32 || start->axis != BI_AXIS_TOKENS || x->axis != BI_AXIS_GRID))
        st = bi_fail(err, BIOINFER_INTERNAL, "pair_softmax: %s of axis %s by starts of axis %s",
                     bi_shape_text(x).text, bi_axis_name(x->axis), bi_axis_name(start->axis));
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void pair_softmax_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "pair_softmax", struct bi_pair_softmax_params, .counts = b->counts,
              .start = b->in[1], .x = b->in[0], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .width = (int32_t)bi_in(g, node, 0)->shape[1]);
}

static void pair_softmax_reference(const void *params)
{
    const struct bi_pair_softmax_params *p = params;
    for (int64_t t = 0; t < p->counts->n_tokens; t++)
        for (int32_t c = 0; c < p->width; c++) {
            double top = -INFINITY, total = 0;
            for (int64_t r = p->start[t]; r < p->start[t + 1]; r++)
                top = bi_larger(top, (double)p->x[r * p->ldx + c]);
            for (int64_t r = p->start[t]; r < p->start[t + 1]; r++)
                total += exp((double)p->x[r * p->ldx + c] - top);
            for (int64_t r = p->start[t]; r < p->start[t + 1]; r++)
                p->y[r * p->ldy + c] = (float)(exp((double)p->x[r * p->ldx + c] - top) / total);
        }
}

/* row_start: the first pair of each token. */
bi_value_id bi_pair_softmax(struct bi_graph *g, bi_value_id x, bi_value_id row_start)
{
    return bi_node_add(g, BI_OP_PAIR_SOFTMAX, BI_IN(x, row_start), NULL);
}

const struct bi_op bi_op_pair_softmax = {
    .name = "pair_softmax",
    .infer = pair_softmax_infer,
    .launch = pair_softmax_launch,
    .reference = pair_softmax_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
