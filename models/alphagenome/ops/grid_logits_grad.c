/* grid_logits_grad.c - the derivatives of grid_logits.
 *   dy [B n n, H], edges [E] -> ds [B n, H n], dp, dq [B n, H (2 E + 1)]
 * Meaning: kernels/grid_grads.h. */
#include <string.h>

#include "../../../kernels/grid_grads.h"
#include "../../../ops/shared.h"

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *dy = bi_in(g, node, 0), *edges = bi_in(g, node, 1);
    const int64_t n = BI_ATTR(node, grid_logits_grad)->n;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && (n < 1 || dy->axis != BI_AXIS_FIXED || dy->shape[0] % (n * n)))
        st = bi_fail(err, BIOINFER_INTERNAL, "grid_logits_grad: dy %s of %lld places",
                     bi_shape_text(dy).text, (long long)n);
    for (int i = 0; !st && i < 3; i++)
        bi_out_shape(
            g, node, i, dy->axis, 2,
            (int64_t[]){dy->shape[0] / n, dy->shape[1] * (i ? 2 * edges->shape[0] + 1 : n)});
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *dy = bi_in(g, node, 0);
    const int32_t n = BI_ATTR(node, grid_logits_grad)->n;
    BI_LAUNCH(launch, "grid_logits_grad", struct bi_grid_logits_grad_params, .counts = b->counts,
              .dy = b->in[0], .edges = b->in[1], .ds = b->out[0], .dp = b->out[1], .dq = b->out[2],
              .lddy = b->in_ld[0], .ldds = b->out_ld[0], .lddp = b->out_ld[1], .lddq = b->out_ld[2],
              .rows = dy->shape[0] / n, .n = n, .n_heads = (int32_t)dy->shape[1],
              .n_edges = (int32_t)bi_in(g, node, 1)->shape[0]);
}

static void grad_reference(const void *params)
{
    const struct bi_grid_logits_grad_params *p = params;
    const int64_t m = 2 * (int64_t)p->n_edges + 1, n = p->n;
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t h = 0; h < p->n_heads; h++) {
            const int64_t at = r % n;
            for (int64_t j = 0; j < n; j++)
                p->ds[r * p->ldds + h * n + j] = p->dy[(r * n + j) * p->lddy + h];
            for (int64_t k = 0; k < m; k++) {
                double by_row = 0, by_column = 0;
                for (int64_t j = 0; j < n; j++) {
                    if (bi_grid_class(p->edges, p->n_edges, j - at) != k)
                        continue;
                    by_row += (double)p->dy[(r * n + j) * p->lddy + h];
                    by_column += (double)p->dy[((r - at + j) * n + at) * p->lddy + h];
                }
                p->dp[r * p->lddp + h * m + k] = (float)(by_row / 2);
                p->dq[r * p->lddq + h * m + k] = (float)(by_column / 2);
            }
        }
}

/* d: of s, p and q of grid_logits over n places. */
bi_value_id bi_grid_logits_grad(struct bi_graph *g, bi_value_id dy, bi_value_id edges, int64_t n,
                                bi_value_id d[3])
{
    const bi_value_id ds = bi_node_add(g, BI_OP_GRID_LOGITS_GRAD, BI_IN(dy, edges),
                                       BI_ATTRS(grid_logits_grad, .n = (int32_t)n));
    bi_node_outputs(g, ds, d, 3);
    return ds;
}

const struct bi_op bi_op_grid_logits_grad = {
    .name = "grid_logits_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
