/* row_pool.c - rows of each token, summed up by a softmax of their logits.
 *   x [R, D], logit [R, 1]?, start [T + 1] -> [T, D] (kernels/row_pool.h)
 * Rows are pairs of tokens, or atoms of tokens. */
#include <math.h>
#include <string.h>

#include "../../../kernels/row_pool.h"
#include "../../../ops/shared.h"

static int row_pool_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *logit = bi_in(g, node, 1);
    const struct bi_value *start = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && logit)
        st = bi_expect(g, node, 1, 2, 1, err);
    if (!st)
        st = bi_expect(g, node, 2, 1, g->n_tokens + 1, err);
    if (!st && (start->dtype != BI_I32 || start->axis != BI_AXIS_TOKENS ||
                (logit && (logit->axis != x->axis || logit->shape[0] != x->shape[0]))))
        st = bi_fail(err, BIOINFER_INTERNAL, "row_pool: %s by starts of axis %s",
                     bi_shape_text(x).text, bi_axis_name(start->axis));
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2, (int64_t[]){g->n_tokens, x->shape[1]});
    return st;
}

static void row_pool_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "row_pool", struct bi_row_pool_params, .counts = b->counts, .x = b->in[0],
              .logit = b->in[1], .start = b->in[2], .y = b->out[0], .ldx = b->in_ld[0],
              .ldl = b->in_ld[1], .ldy = b->out_ld[0], .rows = g->n_tokens,
              .width = (int32_t)bi_in(g, node, 0)->shape[1]);
}

static double logit(const struct bi_row_pool_params *p, int64_t r)
{
    return p->logit ? (double)p->logit[r * p->ldl] : 0;
}

static void row_pool_reference(const void *params)
{
    const struct bi_row_pool_params *p = params;
    for (int64_t t = 0; t < p->counts->n_tokens; t++) {
        double top = -INFINITY, total = 0;
        for (int64_t r = p->start[t]; r < p->start[t + 1]; r++)
            top = fmax(top, logit(p, r));
        for (int64_t r = p->start[t]; r < p->start[t + 1]; r++)
            total += exp(logit(p, r) - top);
        for (int32_t c = 0; c < p->width; c++) {
            double sum = 0;
            for (int64_t r = p->start[t]; r < p->start[t + 1]; r++)
                sum += exp(logit(p, r) - top) * (double)p->x[r * p->ldx + c];
            p->y[t * p->ldy + c] = (float)(sum / total);
        }
    }
}

/* start: the first row of each token; logit BI_NONE = the mean. */
bi_value_id bi_row_pool(struct bi_graph *g, bi_value_id x, bi_value_id logit, bi_value_id start)
{
    return bi_node_add(g, BI_OP_ROW_POOL, BI_IN(x, logit, start), NULL);
}

const struct bi_op bi_op_row_pool = {
    .name = "row_pool",
    .infer = row_pool_infer,
    .launch = row_pool_launch,
    .reference = row_pool_reference,
    .cost = bi_cost_bytes,
    .required = 5,
};
