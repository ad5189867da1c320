/* linear_pairs.c - a product by pairs of its rows: the odd one, and by how much the even one is
 * more.
 *   x [2 R, K], w [N, K], bias [N]?, residual [2 R, N]? -> odd, even - odd [R, N] of x w^T + b + r
 *   x2 [2 R, K2], w2 [N, K2], bias2 [N]?, in place of a residual: r = x2 w2^T + b2
 * Made by bi_graph_follow for backends whose linear can (linear.h). */
#include "../kernels/linear.h"
#include "shared.h"

static int linear_pairs_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1), *r = bi_in(g, node, 3);
    const struct bi_value *x2 = bi_in(g, node, 4), *w2 = bi_in(g, node, 5);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && bi_in(g, node, 2))
        st = bi_expect(g, node, 2, 1, w->shape[0], err);
    if (!st && r)
        st = bi_expect(g, node, 3, 2, w->shape[0], err);
    if (!st && x2)
        st = bi_expect(g, node, 4, 2, -1, err);
    if (!st && x2 && w2)
        st = bi_expect(g, node, 5, 2, x2->shape[1], err);
    if (!st && bi_in(g, node, 6))
        st = bi_expect(g, node, 6, 1, w->shape[0], err);
    if (!st && (!x2 != !w2 || (x2 && r) ||
                (x2 && (x2->shape[0] != x->shape[0] || w2->shape[0] != w->shape[0]))))
        st = bi_fail(err, BIOINFER_INTERNAL,
                     "linear_pairs: the residual's product does not go with %s",
                     bi_shape_text(x).text);
    if (!st && (x->axis != BI_AXIS_FIXED || x->shape[0] % 2 || (r && r->shape[0] != x->shape[0])))
        st = bi_fail(err, BIOINFER_INTERNAL,
                     "linear_pairs: rows of %s do not pair, or not with the "
                     "residual",
                     bi_shape_text(x).text);
    for (int slot = 0; !st && slot < 2; slot++)
        bi_out_shape(g, node, slot, x->axis, 2, (int64_t[]){x->shape[0] / 2, w->shape[0]});
    return st;
}

static void linear_pairs_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch, 0);
    p->residual = b->in[3];
    p->ldr = b->in_ld[3];
    p->more_x = b->in[4];
    p->ldm = b->in_ld[4];
    p->more_w = b->in[5];
    p->more_bias = b->in[6];
    p->more_k = b->in[4] ? (int32_t)bi_in(g, node, 4)->shape[1] : 0;
    p->also = b->out[1];
    p->lda = b->out_ld[1];
}

/* One row at a time: the even one first where the differences go, the odd one where it stays. */
static void linear_pairs_reference(const void *params)
{
    const struct bi_linear_params *p = params;
    for (int64_t r = 0; r < p->rows; r++) {
        struct bi_linear_params one = *p;
        float *odd = p->y + r / 2 * p->ldy, *d = p->also + r / 2 * p->lda;
        one.axis = BI_AXIS_FIXED;
        one.rows = 1;
        one.x = p->x + r * p->ldx;
        one.residual = p->residual ? p->residual + r * p->ldr : NULL;
        one.y = r % 2 ? odd : d;
        if (p->more_x) { /* to where the row's sums go */
            struct bi_linear_params more = one;
            more.x = p->more_x + r * p->ldm;
            more.w = p->more_w;
            more.bias = p->more_bias;
            more.k = p->more_k;
            bi_ref_linear(&more);
            one.residual = one.y;
        }
        bi_ref_linear(&one);
        for (int32_t c = 0; r % 2 && c < p->n; c++)
            d[c] -= odd[c];
    }
}

static void linear_pairs_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                              double *bytes)
{
    const struct bi_value *x = bi_in(g, node, 0), *w2 = bi_in(g, node, 5);
    bi_cost_linear(g, node, flops, bytes);
    if (w2)
        *flops += 2.0 * (double)x->shape[0] * (double)bi_value_elements(w2);
}

const struct bi_op bi_op_linear_pairs = {
    .name = "linear_pairs",
    .infer = linear_pairs_infer,
    .launch = linear_pairs_launch,
    .reference = linear_pairs_reference,
    .cost = linear_pairs_cost,
    .required = 3,
    .layout = {[1] = BI_LAYOUT_LINEAR, [5] = BI_LAYOUT_LINEAR},
};
