/* head_products_grad.c - the derivatives of head_products by x, and turned by w.
 *   dy [R, H M], w [B M, H d] -> dx [R, H d];  turned: dy, x [R, H d] -> dw [B M, H d]
 * Meaning: kernels/grid_grads.h. */
#include <string.h>

#include "../kernels/grid_grads.h"
#include "shared.h"

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *dy = bi_in(g, node, 0), *other = bi_in(g, node, 1);
    const struct bi_head_products_grad_attr *a = BI_ATTR(node, head_products_grad);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    if (st)
        return st;
    if (a->n_heads < 1 || a->blocks < 1 || dy->axis != BI_AXIS_FIXED || dy->shape[1] % a->n_heads ||
        other->shape[1] % a->n_heads || dy->shape[0] % a->blocks ||
        other->shape[0] != (a->turned ? dy->shape[0] : dy->shape[1] / a->n_heads * a->blocks))
        return bi_fail(err, BIOINFER_INTERNAL,
                       "head_products_grad: dy %s with %s of %d heads and %d blocks",
                       bi_shape_text(dy).text, bi_shape_text(other).text, a->n_heads, a->blocks);
    bi_out_shape(g, node, 0, dy->axis, 2,
                 (int64_t[]){a->turned ? dy->shape[1] / a->n_heads * a->blocks : dy->shape[0],
                             other->shape[1]});
    return 0;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *dy = bi_in(g, node, 0);
    const struct bi_head_products_grad_attr *a = BI_ATTR(node, head_products_grad);
    BI_LAUNCH(launch, "head_products_grad", struct bi_head_products_grad_params,
              .counts = b->counts, .dy = b->in[0], .other = b->in[1], .dx = b->out[0],
              .lddy = b->in_ld[0], .ldo = b->in_ld[1], .lddx = b->out_ld[0], .rows = dy->shape[0],
              .m = dy->shape[1] / a->n_heads, .out_rows = g->values[node->out[0]].shape[0],
              .blocks = a->blocks, .n_heads = a->n_heads,
              .d = (int32_t)bi_in(g, node, 1)->shape[1] / a->n_heads, .turned = a->turned);
}

static void grad_reference(const void *params)
{
    const struct bi_head_products_grad_params *p = params;
    const int64_t size = p->rows / p->blocks, n = p->turned ? size : p->m;
    for (int64_t r = 0; r < p->out_rows; r++)
        for (int64_t at = 0; at < (int64_t)p->n_heads * p->d; at++) {
            const int64_t h = at / p->d, block = r / (p->turned ? p->m : size);
            double sum = 0;
            for (int64_t i = 0; i < n; i++) {
                const int64_t row = p->turned ? block * size + i : r;
                const int64_t column = h * p->m + (p->turned ? r % p->m : i);
                sum += (double)p->dy[row * p->lddy + column] *
                       (double)p->other[(block * n + i) * p->ldo + at];
            }
            p->dx[r * p->lddx + at] = (float)sum;
        }
}

static void grad_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                      double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(bi_in(g, node, 0)) *
             (double)(bi_in(g, node, 1)->shape[1] / BI_ATTR(node, head_products_grad)->n_heads);
    *bytes = bi_bytes(g, node);
}

/* other: w, turned: x. */
bi_value_id bi_head_products_grad(struct bi_graph *g, bi_value_id dy, bi_value_id other,
                                  int32_t n_heads, int32_t blocks, bool turned)
{
    return bi_node_add(
        g, BI_OP_HEAD_PRODUCTS_GRAD, BI_IN(dy, other),
        BI_ATTRS(head_products_grad, .n_heads = n_heads, .blocks = blocks, .turned = turned));
}

const struct bi_op bi_op_head_products_grad = {
    .name = "head_products_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = grad_cost,
    .required = 3,
};
