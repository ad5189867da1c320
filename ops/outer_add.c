/* outer_add.c - outer_add: what each place adds to its row and to its column of a grid.
 *   x [B n n, D], a, b [B n, D] -> [B n n, D] */
#include <string.h>

#include "../kernels/grids.h"
#include "shared.h"

static int outer_add_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *a = bi_in(g, node, 1), *b = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i < 3; i++)
        st = bi_expect(g, node, i, 2, x->shape[1], err);
    if (!st && (x->axis != BI_AXIS_FIXED || a->shape[0] != b->shape[0] || a->shape[0] < 1 ||
                x->shape[0] % a->shape[0] || a->shape[0] % (x->shape[0] / a->shape[0])))
        st = bi_fail(err, BIOINFER_INTERNAL, "outer_add: %s with %s and %s", bi_shape_text(x).text,
                     bi_shape_text(a).text, bi_shape_text(b).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void outer_add_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "outer_add", struct bi_outer_add_params, .counts = b->counts, .x = b->in[0],
              .a = b->in[1], .b = b->in[2], .y = b->out[0], .ldx = b->in_ld[0], .lda = b->in_ld[1],
              .ldb = b->in_ld[2], .ldy = b->out_ld[0], .rows = x->shape[0],
              .width = (int32_t)x->shape[1],
              .n = (int32_t)(x->shape[0] / bi_in(g, node, 1)->shape[0]));
}

static void outer_add_reference(const void *params)
{
    const struct bi_outer_add_params *p = params;
    for (int64_t r = 0; r < p->rows; r++) {
        const int64_t i = r / p->n, j = i / p->n * p->n + r % p->n;
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = p->x[r * p->ldx + c] + p->a[i * p->lda + c] +
                                   p->b[j * p->ldb + c];
    }
}

bi_value_id bi_outer_add(struct bi_graph *g, bi_value_id x, bi_value_id a, bi_value_id b)
{
    return bi_node_add(g, BI_OP_OUTER_ADD, BI_IN(x, a, b), NULL);
}

/* Sums over the rows and over the columns of the grid. Those over columns are twice the sums over
 * rows of the symmetric grid, less those over rows. */
static void outer_add_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    const int64_t n = g->values[node->in[0]].shape[0] / g->values[node->in[1]].shape[0];
    dx[0] = dy[0];
    if (!(wanted & 6))
        return;
    dx[1] = bi_scale(g, bi_mean_rows(g, dy[0], (int32_t)n), (float)n);
    dx[2] = bi_mean_rows(g, bi_symmetrise(g, dy[0], (int32_t)n), (int32_t)n);
    dx[2] = bi_add(g, bi_scale(g, dx[2], 2 * (float)n), bi_scale(g, dx[1], -1));
}

const struct bi_op bi_op_outer_add = {
    .name = "outer_add",
    .infer = outer_add_infer,
    .launch = outer_add_launch,
    .reference = outer_add_reference,
    .cost = bi_cost_bytes,
    .grad = outer_add_grad,
    .required = 7,
};
