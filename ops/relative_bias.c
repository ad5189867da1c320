/* relative_bias.c - scores plus a bias that depends on the distance of key and query alone.
 *   scores [T, H, longest], bias [H, 2 reach + 1], start -> [T, H, longest] */
#include <string.h>

#include "../kernels/attention.h"
#include "shared.h"

static int relative_bias_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 3, g->longest, err);
    if (!st)
        st = bi_expect_reach(g, node, 1, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        st = bi_expect_starts_of(g, node, 2, 0, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void relative_bias_launch(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "relative_bias", struct bi_relative_bias_params, .counts = b->counts,
              .x = b->in[0], .bias = b->in[1], .start = b->in[2], .p = b->out[0],
              .ldh = x->shape[2], .ldp = x->shape[1] * x->shape[2], .n_heads = (int32_t)x->shape[1],
              .reach = (int32_t)bi_in(g, node, 1)->shape[1] / 2, .axis = (int32_t)x->axis,
              .seqs = (int32_t)bi_in(g, node, 2)->axis);
}

static void relative_bias_reference(const void *params)
{
    const struct bi_relative_bias_params *p = params;
    for (int32_t s = 0; s < bi_live_rows(p->counts, p->seqs, 0); s++)
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            for (int32_t h = 0; h < p->n_heads; h++)
                for (int64_t j = p->start[s]; j < p->start[s + 1]; j++) {
                    int64_t at = t * p->ldp + h * p->ldh + j - p->start[s], gap = j - t;
                    gap = gap < -p->reach ? -p->reach : gap > p->reach ? p->reach : gap;
                    p->p[at] = p->x[at] + p->bias[h * (2 * p->reach + 1) + p->reach + gap];
                }
}

bi_value_id bi_relative_bias(struct bi_graph *g, bi_value_id scores, bi_value_id bias,
                             bi_value_id start)
{
    return bi_node_add(g, BI_OP_RELATIVE_BIAS, BI_IN(scores, bias, start), NULL);
}

const struct bi_op bi_op_relative_bias = {
    .name = "relative_bias",
    .infer = relative_bias_infer,
    .launch = relative_bias_launch,
    .reference = relative_bias_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
