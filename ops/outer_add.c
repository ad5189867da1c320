/* outer_add.c - outer_add: what each place adds to its row and to its column of a grid.
 *   x [G, D]?, a, b [T, D], start, grid_start [B + 1] -> [G, D]
 *   of grids of one size: x [B n n, D], a, b [B n, D] -> [B n n, D] */
#include <string.h>

#include "../kernels/grids.h"
#include "shared.h"

/* Grids of the tokens of sequences. */
static int infer_ragged(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *a = bi_in(g, node, 1), *b = bi_in(g, node, 2);
    int st = bi_expect_start(g, node, 3, err);
    if (!st)
        st = bi_expect_start(g, node, 4, err);
    if (!st && ((x && x->axis != BI_AXIS_GRID) || a->axis != BI_AXIS_TOKENS || b->axis != a->axis))
        st = bi_fail(err, BIOINFER_INTERNAL, "outer_add: rows of axis %s and of axes %s, %s",
                     bi_axis_name(x ? x->axis : BI_AXIS_GRID), bi_axis_name(a->axis),
                     bi_axis_name(b->axis));
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_GRID, 2, (int64_t[]){g->n_grid, a->shape[1]});
    return st;
}

/* Grids of one size. */
static int infer_fixed(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *a = bi_in(g, node, 1), *b = bi_in(g, node, 2);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st &&
        (node->in[4] != BI_NONE || x->axis != BI_AXIS_FIXED || a->shape[0] != b->shape[0] ||
         a->shape[0] < 1 || x->shape[0] % a->shape[0] || a->shape[0] % (x->shape[0] / a->shape[0])))
        st = bi_fail(err, BIOINFER_INTERNAL, "outer_add: %s with %s and %s", bi_shape_text(x).text,
                     bi_shape_text(a).text, bi_shape_text(b).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static int outer_add_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 1, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 2, 2, bi_in(g, node, 1)->shape[1], err);
    if (!st && node->in[0] != BI_NONE)
        st = bi_expect(g, node, 0, 2, bi_in(g, node, 1)->shape[1], err);
    if (!st)
        st = (node->in[3] == BI_NONE ? infer_fixed : infer_ragged)(g, node, err);
    return st;
}

static void outer_add_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *y = &g->values[node->out[0]];
    BI_LAUNCH(launch, "outer_add", struct bi_outer_add_params, .counts = b->counts, .x = b->in[0],
              .a = b->in[1], .b = b->in[2], .start = b->in[3], .grid_start = b->in[4],
              .y = b->out[0], .ldx = b->in_ld[0], .lda = b->in_ld[1], .ldb = b->in_ld[2],
              .ldy = b->out_ld[0], .rows = y->shape[0], .axis = (int32_t)y->axis,
              .width = (int32_t)y->shape[1],
              .n = b->in[3] ? 0 : (int32_t)(y->shape[0] / bi_in(g, node, 1)->shape[0]));
}

static void outer_add_reference(const void *params)
{
    const struct bi_outer_add_params *p = params;
    const int64_t size = (int64_t)p->n * p->n;
    const int64_t n_grids = p->start ? p->counts->n_seqs : p->rows / size;
    for (int64_t s = 0; s < n_grids; s++) {
        const int64_t n = p->start ? p->start[s + 1] - p->start[s] : p->n;
        const int64_t first = p->start ? p->start[s] : s * n;
        const int64_t grid = p->start ? p->grid_start[s] : s * size;
        for (int64_t k = 0; k < n * n; k++)
            for (int32_t c = 0; c < p->width; c++)
                p->y[(grid + k) * p->ldy + c] = (p->x ? p->x[(grid + k) * p->ldx + c] : 0) +
                                                p->a[(first + k / n) * p->lda + c] +
                                                p->b[(first + k % n) * p->ldb + c];
    }
}

/* Without starts grids are of one size, and x must be there. */
bi_value_id bi_outer_add(struct bi_graph *g, bi_value_id x, bi_value_id a, bi_value_id b,
                         bi_value_id start, bi_value_id grid_start)
{
    return bi_node_add(g, BI_OP_OUTER_ADD, BI_IN(x, a, b, start, grid_start), NULL);
}

/* Sums over the rows and over the columns of the grid. Those over columns are twice the sums over
 * rows of the symmetric grid, less those over rows. */
static void outer_add_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    const int64_t n = g->values[node->out[0]].shape[0] / g->values[node->in[1]].shape[0];
    dx[0] = dy[0];
    if (node->in[3] != BI_NONE)
        bi_graph_fail(g, BIOINFER_INTERNAL, "outer_add: no derivative of grids of sequences");
    if (!(wanted & 6) || node->in[3] != BI_NONE)
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
    .required = 6,
};
