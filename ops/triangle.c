/* triangle.c - triangle: products of the rows of two grids, channel by channel, summed over k.
 *   a, b [G, D], grid_start [B + 1] -> [G, D] */
#include <string.h>

#include "../kernels/triangle.h"
#include "shared.h"

static int triangle_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, a->shape[1], err);
    if (!st)
        st = bi_expect_start(g, node, 2, err);
    if (!st && (a->axis != BI_AXIS_GRID || b->axis != BI_AXIS_GRID))
        st = bi_fail(err, BIOINFER_INTERNAL, "triangle: rows of axes %s and %s",
                     bi_axis_name(a->axis), bi_axis_name(b->axis));
    if (!st)
        bi_out_shape(g, node, 0, a->axis, 2, a->shape);
    return st;
}

static void triangle_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *a = bi_in(g, node, 0);
    BI_LAUNCH(launch, "triangle", struct bi_triangle_params, .counts = b->counts, .a = b->in[0],
              .b = b->in[1], .grid_start = b->in[2], .y = b->out[0], .lda = b->in_ld[0],
              .ldb = b->in_ld[1], .ldy = b->out_ld[0], .rows = a->shape[0],
              .width = (int32_t)a->shape[1], .incoming = BI_ATTR(node, triangle)->incoming);
}

static void triangle_reference(const void *params)
{
    const struct bi_triangle_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        const int64_t grid = p->grid_start[s], n = bi_grid_side(p->grid_start[s + 1] - grid);
        for (int64_t r = 0; r < n * n; r++)
            for (int32_t c = 0; c < p->width; c++) {
                double sum = 0;
                for (int64_t k = 0; k < n; k++) {
                    const int64_t left = p->incoming ? k * n + r / n : r / n * n + k;
                    const int64_t right = p->incoming ? k * n + r % n : r % n * n + k;
                    sum += (double)p->a[(grid + left) * p->lda + c] *
                           (double)p->b[(grid + right) * p->ldb + c];
                }
                p->y[(grid + r) * p->ldy + c] = (float)sum;
            }
    }
}

static void triangle_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                          double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(bi_in(g, node, 0)) * (double)g->longest;
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_triangle(struct bi_graph *g, bi_value_id a, bi_value_id b, bi_value_id grid_start,
                        bool incoming)
{
    return bi_node_add(g, BI_OP_TRIANGLE, BI_IN(a, b, grid_start),
                       BI_ATTRS(triangle, .incoming = incoming));
}

const struct bi_op bi_op_triangle = {
    .name = "triangle",
    .pairs = true,
    .infer = triangle_infer,
    .launch = triangle_launch,
    .reference = triangle_reference,
    .cost = triangle_cost,
    .required = 7,
    .half = {.in = 3, .all = 3},
};
