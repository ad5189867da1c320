/* linear_norm.c - a product that others read as it is and one reads through its norm and
 * activation.
 *   x [R, K], w [N, K], bias [N]?, scale, shift [N] -> y = x w^T + b, act(scale y + shift) [R, N]
 * y is left out where nobody reads it. twin: x is windows of five taps of an even number of rows
 * (linear_twin.h). Made by bi_graph_follow for backends whose linear can (linear.h). */
#include "../kernels/linear.h"
#include "shared.h"

static int linear_norm_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    for (int i = 2; !st && i <= 4; i++)
        if (i > 2 || bi_in(g, node, i))
            st = bi_expect(g, node, i, 1, w->shape[0], err);
    if (!st && BI_ATTR(node, linear_norm)->twin && (x->shape[0] % 2 || x->shape[1] % BI_TWIN_TAPS))
        st = bi_fail(err, BIOINFER_INTERNAL, "linear_norm: x %s in twos of five taps",
                     bi_shape_text(x).text);
    for (int slot = 0; !st && slot < 2; slot++)
        bi_out_shape(g, node, slot, x->axis, 2, (int64_t[]){x->shape[0], w->shape[0]});
    return st;
}

static void linear_norm_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    struct bi_linear_params *p = bi_launch_linear(g, node, b, launch,
                                                  BI_ATTR(node, linear_norm)->act);
    p->scale = b->in[3];
    p->shift = b->in[4];
    p->also = b->out[1];
    p->lda = b->out_ld[1];
    p->twin = BI_ATTR(node, linear_norm)->twin;
}

static void linear_norm_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                             double *bytes)
{
    bi_cost_linear(g, node, flops, bytes);
    if (BI_ATTR(node, linear_norm)->twin)
        *flops *= BI_TWIN_PRODUCTS / (2.0 * BI_TWIN_TAPS);
}

static void linear_norm_reference(const void *params)
{
    struct bi_linear_params p_y = *(const struct bi_linear_params *)params;
    const struct bi_linear_params *p = &p_y;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    if (!p->y) {
        p_y.y = p->also;
        p_y.ldy = p->lda;
    }
    bi_ref_linear(p);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->n; c++)
            p->also[r * p->lda + c] = (float)bi_ref_norm_act(
                (double)p->y[r * p->ldy + c] * (double)p->scale[c] + (double)p->shift[c], p->then);
}

static void linear_norm_weight_form(const struct bi_node *node, int k, struct bi_weight_form *form)
{
    (void)k;
    if (form->layout == BI_LAYOUT_LINEAR_F16 && BI_ATTR(node, linear_norm)->twin)
        form->layout = BI_LAYOUT_LINEAR_TWIN;
}

const struct bi_op bi_op_linear_norm = {
    .name = "linear_norm",
    .infer = linear_norm_infer,
    .launch = linear_norm_launch,
    .reference = linear_norm_reference,
    .cost = linear_norm_cost,
    .required = 27,
    .spare = 1,
    .layout = {[1] = BI_LAYOUT_LINEAR},
    .weight_form = linear_norm_weight_form,
};
