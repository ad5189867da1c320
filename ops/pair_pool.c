/* pair_pool.c - two neighbouring rows become one: softmax-weighted per channel, or the larger.
 *   x [2 R, C], logits [2 R, C] | [R, C] (of the difference)? -> [R, C]
 * Over two rows the softmax is a sigmoid of the difference of the logits; when these are a
 * matmul of x, so is their difference, of the difference of the rows (rule half_pool). */
#include <math.h>
#include <string.h>

#include "../kernels/pairs.h"
#include "shared.h"

int bi_infer_pairs(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (x->axis != BI_AXIS_FIXED || x->shape[0] % 2))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: rows of %s do not pair", bi_ops[node->op]->name,
                     bi_shape_text(x).text);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2, (int64_t[]){x->shape[0] / 2, x->shape[1]});
    return st;
}

static int pair_pool_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *l = bi_in(g, node, 1);
    int st = bi_infer_pairs(g, node, err);
    if (!st && l)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && l && l->shape[0] != x->shape[0] && l->shape[0] != x->shape[0] / 2)
        st = bi_fail(err, BIOINFER_INTERNAL, "pair_pool: logits %s beside %s",
                     bi_shape_text(l).text, bi_shape_text(x).text);
    return st;
}

static void pair_pool_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *l = bi_in(g, node, 1);
    BI_LAUNCH(launch, "pair_pool", struct bi_pair_pool_params, .counts = b->counts, .x = b->in[0],
              .logits = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldl = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = x->shape[0] / 2, .width = (int32_t)x->shape[1],
              .halved = l && l->shape[0] < x->shape[0]);
}

static void pair_pool_reference(const void *params)
{
    const struct bi_pair_pool_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            double a = (double)p->x[2 * r * p->ldx + c];
            double b = (double)p->x[(2 * r + 1) * p->ldx + c], y;
            if (p->logits) {
                double l = p->halved ? (double)p->logits[r * p->ldl + c]
                                     : (double)p->logits[2 * r * p->ldl + c] -
                                           (double)p->logits[(2 * r + 1) * p->ldl + c];
                y = b + (a - b) / (1 + exp(-l));
            } else {
                y = a > b || isnan(a) ? a : b;
            }
            p->y[r * p->ldy + c] = (float)y;
        }
}

/* logits BI_NONE: the larger of the two. */
bi_value_id bi_pair_pool(struct bi_graph *g, bi_value_id x, bi_value_id logits)
{
    return bi_node_add(g, BI_OP_PAIR_POOL, BI_IN(x, logits), NULL);
}

static void pair_pool_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_pair_pool_grad(g, node->in[0], node->in[1], dy[0], &dx[1]);
}

const struct bi_op bi_op_pair_pool = {
    .name = "pair_pool",
    .infer = pair_pool_infer,
    .launch = pair_pool_launch,
    .reference = pair_pool_reference,
    .cost = bi_cost_bytes,
    .grad = pair_pool_grad,
    .required = 1,
    /* logits are float32: the larger they are the more a digit counts */
    .half = {.out = 1, .in = 1, .for_out = 1},
};
