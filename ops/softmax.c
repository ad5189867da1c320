/* softmax.c - softmax over the keys of the own sequence.   x [T, H, longest], start -> the same */
#include <math.h>
#include <string.h>

#include "../base/larger.h"
#include "../kernels/attention.h"
#include "shared.h"

static int softmax_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 3, g->longest, err);
    if (!st)
        st = bi_expect_starts_of(g, node, 1, 0, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void softmax_launch(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "softmax", struct bi_softmax_params, .counts = b->counts, .x = b->in[0],
              .start = b->in[1], .p = b->out[0], .ldh = x->shape[2],
              .ldp = x->shape[1] * x->shape[2], .n_heads = (int32_t)x->shape[1],
              .axis = (int32_t)x->axis, .seqs = (int32_t)bi_in(g, node, 1)->axis);
}

static void softmax_reference(const void *params)
{
    const struct bi_softmax_params *p = params;
    for (int32_t s = 0; s < bi_live_rows(p->counts, p->seqs, 0); s++)
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            for (int32_t h = 0; h < p->n_heads; h++) {
                const float *x = p->x + t * p->ldp + h * p->ldh;
                float *y = p->p + t * p->ldp + h * p->ldh;
                int64_t n = p->start[s + 1] - p->start[s];
                double max = -INFINITY, sum = 0;
                for (int64_t j = 0; j < n; j++)
                    max = bi_larger(max, (double)x[j]);
                for (int64_t j = 0; j < n; j++)
                    sum += exp((double)x[j] - max);
                for (int64_t j = 0; j < p->ldh; j++)
                    y[j] = j < n ? (float)(exp((double)x[j] - max) / sum) : 0;
            }
}

bi_value_id bi_softmax(struct bi_graph *g, bi_value_id scores, bi_value_id start)
{
    return bi_node_add(g, BI_OP_SOFTMAX, BI_IN(scores, start), NULL);
}

const struct bi_op bi_op_softmax = {
    .name = "softmax",
    .infer = softmax_infer,
    .launch = softmax_launch,
    .reference = softmax_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
