/* mix.c - values weighted by attention maps.
 *   maps [T, H, longest], v [T, H d], start -> [T, H d] */
#include <string.h>

#include "../kernels/attention.h"
#include "shared.h"

static int mix_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_mix_attr *a = BI_ATTR(node, mix);
    int st = bi_expect(g, node, 0, 3, g->longest, err);
    if (!st)
        st = bi_expect_heads(g, node, 1, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect_starts_of(g, node, 2, 1, err);
    if (!st)
        bi_out_like(g, node, 0, 1);
    return st;
}

static void mix_launch(const struct bi_graph *g, const struct bi_node *node,
                       const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *p = bi_in(g, node, 0);
    BI_LAUNCH(launch, "mix", struct bi_mix_params, .counts = b->counts, .p = b->in[0],
              .v = b->in[1], .start = b->in[2], .y = b->out[0], .ldh = p->shape[2],
              .ldp = p->shape[1] * p->shape[2], .ldv = b->in_ld[1], .ldy = b->out_ld[0],
              .n_heads = BI_ATTR(node, mix)->n_heads, .head_dim = BI_ATTR(node, mix)->head_dim,
              .axis = (int32_t)p->axis, .seqs = (int32_t)bi_in(g, node, 2)->axis);
}

static void mix_reference(const void *params)
{
    const struct bi_mix_params *p = params;
    int32_t d = p->head_dim;
    for (int32_t s = 0; s < bi_live_rows(p->counts, p->seqs, 0); s++)
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            for (int32_t h = 0; h < p->n_heads; h++)
                for (int32_t i = 0; i < d; i++) {
                    double sum = 0;
                    for (int64_t j = p->start[s]; j < p->start[s + 1]; j++)
                        sum += (double)p->p[t * p->ldp + h * p->ldh + j - p->start[s]] *
                               (double)p->v[j * p->ldv + h * d + i];
                    p->y[t * p->ldy + h * d + i] = (float)sum;
                }
}

static void mix_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                     double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(bi_in(g, node, 0)) * BI_ATTR(node, mix)->head_dim;
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_mix(struct bi_graph *g, bi_value_id maps, bi_value_id v, bi_value_id start)
{
    int32_t n_heads = maps == BI_NONE ? 1 : (int32_t)g->values[maps].shape[1];
    return bi_node_add(g, BI_OP_MIX, BI_IN(maps, v, start),
                       BI_ATTRS(mix, .n_heads = n_heads, .head_dim = bi_head_dim(g, v, n_heads)));
}

const struct bi_op bi_op_mix = {
    .name = "mix",
    .pairs = true,
    .infer = mix_infer,
    .launch = mix_launch,
    .reference = mix_reference,
    .cost = mix_cost,
    .required = 7,
};
