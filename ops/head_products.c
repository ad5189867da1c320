/* head_products.c - head_products: products of rows head by head.
 *   x [R, H d], w [B M, H d] -> [R, H M]: rows of block b of x with those of block b of w */
#include <string.h>

#include "../kernels/grids.h"
#include "shared.h"

static int head_products_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    const int32_t heads = BI_ATTR(node, head_products)->n_heads,
                  blocks = BI_ATTR(node, head_products)->blocks;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1], err);
    if (!st && (heads < 1 || blocks < 1 || x->axis != BI_AXIS_FIXED || x->shape[1] % heads ||
                x->shape[0] % blocks || w->shape[0] % blocks))
        st = bi_fail(err, BIOINFER_INTERNAL, "head_products: %s by %s of %d heads and %d blocks",
                     bi_shape_text(x).text, bi_shape_text(w).text, heads, blocks);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0], w->shape[0] / blocks * heads});
    return st;
}

static void head_products_launch(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "head_products", struct bi_head_products_params, .counts = b->counts,
              .x = b->in[0], .w = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldw = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = x->shape[0],
              .m = bi_in(g, node, 1)->shape[0] / BI_ATTR(node, head_products)->blocks,
              .blocks = BI_ATTR(node, head_products)->blocks,
              .n_heads = BI_ATTR(node, head_products)->n_heads,
              .d = (int32_t)x->shape[1] / BI_ATTR(node, head_products)->n_heads);
}

static void head_products_reference(const void *params)
{
    const struct bi_head_products_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t h = 0; h < p->n_heads; h++)
            for (int64_t i = 0; i < p->m; i++) {
                const float *x = p->x + r * p->ldx + h * p->d;
                const float *w = p->w + (r / (p->rows / p->blocks) * p->m + i) * p->ldw + h * p->d;
                double sum = 0;
                for (int32_t c = 0; c < p->d; c++)
                    sum += (double)x[c] * (double)w[c];
                p->y[r * p->ldy + h * p->m + i] = (float)sum;
            }
}

static void head_products_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                               double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(bi_in(g, node, 0)) *
             (double)(bi_in(g, node, 1)->shape[0] / BI_ATTR(node, head_products)->blocks);
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_head_products(struct bi_graph *g, bi_value_id x, bi_value_id w, int32_t n_heads,
                             int32_t blocks)
{
    return bi_node_add(g, BI_OP_HEAD_PRODUCTS, BI_IN(x, w),
                       BI_ATTRS(head_products, .n_heads = n_heads, .blocks = blocks));
}

static void head_products_grad(struct bi_graph *g, const struct bi_node *node,
                               const bi_value_id *dy, unsigned wanted, bi_value_id *dx)
{
    const struct bi_head_products_attr a = *BI_ATTR(node, head_products);
    for (int k = 0; k < 2; k++)
        if (wanted >> k & 1)
            dx[k] = bi_head_products_grad(g, dy[0], node->in[1 - k], a.n_heads, a.blocks, k);
}

const struct bi_op bi_op_head_products = {
    .name = "head_products",
    .infer = head_products_infer,
    .launch = head_products_launch,
    .reference = head_products_reference,
    .cost = head_products_cost,
    .grad = head_products_grad,
    .required = 3,
};
