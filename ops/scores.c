/* scores.c - scale * q . k within each sequence.   q, k [T, H d], start -> [T, H, longest] */
#include <string.h>

#include "../kernels/attention.h"
#include "shared.h"

static int scores_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_scores_attr *a = BI_ATTR(node, scores);
    int st = bi_expect_heads(g, node, 0, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect_heads(g, node, 1, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect_starts_of(g, node, 2, 0, err);
    if (!st)
        bi_out_shape(g, node, 0, bi_in(g, node, 0)->axis, 3,
                     (int64_t[]){bi_in(g, node, 0)->shape[0], a->n_heads, g->longest});
    return st;
}

static void scores_launch(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "scores", struct bi_scores_params, .counts = b->counts, .q = b->in[0],
              .k = b->in[1], .start = b->in[2], .p = b->out[0], .ldq = b->in_ld[0],
              .ldk = b->in_ld[1], .ldh = g->longest,
              .ldp = g->longest * BI_ATTR(node, scores)->n_heads,
              .n_heads = BI_ATTR(node, scores)->n_heads,
              .head_dim = BI_ATTR(node, scores)->head_dim, .scale = BI_ATTR(node, scores)->scale,
              .axis = (int32_t)bi_in(g, node, 0)->axis, .seqs = (int32_t)bi_in(g, node, 2)->axis);
}

static void scores_reference(const void *params)
{
    const struct bi_scores_params *p = params;
    int32_t d = p->head_dim;
    for (int32_t s = 0; s < bi_live_rows(p->counts, p->seqs, 0); s++)
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            for (int32_t h = 0; h < p->n_heads; h++)
                for (int64_t j = p->start[s]; j < p->start[s + 1]; j++) {
                    double sum = 0;
                    for (int32_t i = 0; i < d; i++)
                        sum += (double)p->q[t * p->ldq + h * d + i] *
                               (double)p->k[j * p->ldk + h * d + i];
                    p->p[t * p->ldp + h * p->ldh + j - p->start[s]] = (float)(sum *
                                                                              (double)p->scale);
                }
}

static void scores_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                        double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(&g->values[node->out[0]]) *
             BI_ATTR(node, scores)->head_dim;
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_scores(struct bi_graph *g, bi_value_id q, bi_value_id k, bi_value_id start,
                      int32_t n_heads)
{
    return bi_node_add(
        g, BI_OP_SCORES, BI_IN(q, k, start),
        BI_ATTRS(scores, .n_heads = n_heads, .head_dim = bi_head_dim(g, q, n_heads), .scale = 1));
}

const struct bi_op bi_op_scores = {
    .name = "scores",
    .pairs = true,
    .infer = scores_infer,
    .launch = scores_launch,
    .reference = scores_reference,
    .cost = scores_cost,
    .required = 7,
};
