/* grid_logits.c - grid_logits: logits of pairs of places by content and by distance.
 *   s [B n, H n], p, q [B n, H (2 E + 1)], edges [E] -> [B n n, H]
 * kernels/grids.h has the formula. */
#include <string.h>

#include "../../../kernels/grids.h"
#include "../../../ops/shared.h"

static int grid_logits_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *s = bi_in(g, node, 0), *edges = bi_in(g, node, 3);
    const int64_t heads = BI_ATTR(node, grid_logits)->n_heads;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 3, 1, -1, err);
    for (int i = 1; !st && i < 3; i++)
        st = bi_expect(g, node, i, 2, heads * (2 * edges->shape[0] + 1), err);
    if (!st && (heads < 1 || s->axis != BI_AXIS_FIXED || s->shape[1] % heads ||
                s->shape[0] % (s->shape[1] / heads) || bi_in(g, node, 1)->shape[0] != s->shape[0] ||
                bi_in(g, node, 2)->shape[0] != s->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "grid_logits: %s of %lld heads", bi_shape_text(s).text,
                     (long long)heads);
    if (!st)
        bi_out_shape(g, node, 0, s->axis, 2,
                     (int64_t[]){s->shape[0] * (s->shape[1] / heads), heads});
    return st;
}

static void grid_logits_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *s = bi_in(g, node, 0);
    const int64_t n = s->shape[1] / BI_ATTR(node, grid_logits)->n_heads;
    BI_LAUNCH(launch, "grid_logits", struct bi_grid_logits_params, .counts = b->counts,
              .s = b->in[0], .p = b->in[1], .q = b->in[2], .edges = b->in[3], .y = b->out[0],
              .lds = b->in_ld[0], .ldp = b->in_ld[1], .ldq = b->in_ld[2], .ldy = b->out_ld[0],
              .rows = s->shape[0] * n, .n = (int32_t)n,
              .n_heads = BI_ATTR(node, grid_logits)->n_heads,
              .n_edges = (int32_t)bi_in(g, node, 3)->shape[0]);
}

static void grid_logits_reference(const void *params)
{
    const struct bi_grid_logits_params *p = params;
    const int64_t m = 2 * (int64_t)p->n_edges + 1;
    for (int64_t r = 0; r < p->rows; r++) {
        const int64_t i = r / p->n, j = r % p->n, at = i % p->n;
        const int64_t other = i - at + j; /* the row of place j of this grid */
        const int right = bi_grid_class(p->edges, p->n_edges, j - at);
        const int left = bi_grid_class(p->edges, p->n_edges, at - j);
        for (int32_t h = 0; h < p->n_heads; h++)
            p->y[r * p->ldy + h] = (float)((double)p->s[i * p->lds + h * p->n + j] +
                                           0.5 * ((double)p->p[i * p->ldp + h * m + right] +
                                                  (double)p->q[other * p->ldq + h * m + left]));
    }
}

bi_value_id bi_grid_logits(struct bi_graph *g, bi_value_id s, bi_value_id p, bi_value_id q,
                           bi_value_id edges, int32_t n_heads)
{
    return bi_node_add(g, BI_OP_GRID_LOGITS, BI_IN(s, p, q, edges),
                       BI_ATTRS(grid_logits, .n_heads = n_heads));
}

static void grid_logits_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                             unsigned wanted, bi_value_id *dx)
{
    const int64_t n = g->values[node->in[0]].shape[1] / BI_ATTR(node, grid_logits)->n_heads;
    (void)wanted;
    bi_grid_logits_grad(g, dy[0], node->in[3], n, dx);
}

const struct bi_op bi_op_grid_logits = {
    .name = "grid_logits",
    .infer = grid_logits_infer,
    .launch = grid_logits_launch,
    .reference = grid_logits_reference,
    .cost = bi_cost_bytes,
    .grad = grid_logits_grad,
    .required = 15,
};
