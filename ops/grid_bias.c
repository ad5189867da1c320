/* grid_bias.c - scores plus a bias of the pair of query and key.
 *   scores [R, H, longest], bias [G, H], start, grid_start [B + 1] -> [R, H, longest]
 * Of tokens, the pair is one of the own sequence. Of rows of grids, all rows of a grid share the
 * bias: in row i, query j and key k have the bias of the pair (j, k). */
#include <string.h>

#include "../kernels/attention.h"
#include "shared.h"

static int grid_bias_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 3, g->longest, err);
    if (!st)
        st = bi_expect_starts_of(g, node, 2, 0, err);
    if (!st)
        st = bi_expect_pairs(g, node, 1, 3, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void grid_bias_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "grid_bias", struct bi_grid_bias_params, .counts = b->counts, .x = b->in[0],
              .bias = b->in[1], .start = b->in[2], .grid_start = b->in[3], .p = b->out[0],
              .ldh = x->shape[2], .ldp = x->shape[1] * x->shape[2], .ldb = b->in_ld[1],
              .n_heads = (int32_t)x->shape[1], .axis = (int32_t)x->axis,
              .seqs = (int32_t)bi_in(g, node, 2)->axis);
}

static void grid_bias_reference(const void *params)
{
    const struct bi_grid_bias_params *p = params;
    for (int32_t s = 0; s < bi_live_rows(p->counts, p->seqs, 0); s++) {
        const int64_t first = p->start[s], n = p->start[s + 1] - first;
        const int64_t grid = n ? bi_bias_grid(p->counts, p->grid_start, p->axis, s, first) : 0;
        for (int64_t pair = 0; pair < n * n; pair++)
            for (int32_t h = 0; h < p->n_heads; h++) {
                const int64_t at = (first + pair / n) * p->ldp + h * p->ldh + pair % n;
                p->p[at] = p->x[at] + p->bias[(grid + pair) * p->ldb + h];
            }
    }
}

bi_value_id bi_grid_bias(struct bi_graph *g, bi_value_id scores, bi_value_id bias,
                         bi_value_id start, bi_value_id grid_start)
{
    return bi_node_add(g, BI_OP_GRID_BIAS, BI_IN(scores, bias, start, grid_start), NULL);
}

const struct bi_op bi_op_grid_bias = {
    .name = "grid_bias",
    .infer = grid_bias_infer,
    .launch = grid_bias_launch,
    .reference = grid_bias_reference,
    .cost = bi_cost_bytes,
    .required = 15,
};
