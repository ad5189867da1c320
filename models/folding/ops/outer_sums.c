/* outer_sums.c - sums over the rows of an alignment of products of what two tokens have there.
 *   a [M, D], b [M, E], start, grid_start, aligned_start [B + 1] -> [G, D E]
 * kernels/alignments.h says what is computed. */
#include <string.h>

#include "../../../kernels/alignments.h"
#include "../../../ops/shared.h"

static int outer_sums_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    for (int i = 2; !st && i < 5; i++)
        st = bi_expect_start(g, node, i, err);
    if (!st && (a->axis != BI_AXIS_ALIGNED || b->axis != BI_AXIS_ALIGNED))
        st = bi_fail(err, BIOINFER_INTERNAL, "outer_sums: rows of axes %s and %s",
                     bi_axis_name(a->axis), bi_axis_name(b->axis));
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_GRID, 2,
                     (int64_t[]){g->n_grid, a->shape[1] * b->shape[1]});
    return st;
}

static void outer_sums_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "outer_sums", struct bi_outer_sums_params, .counts = b->counts,
              .starts = {b->in[2], b->in[3], b->in[4]}, .a = b->in[0], .b = b->in[1],
              .y = b->out[0], .lda = b->in_ld[0], .ldb = b->in_ld[1], .ldy = b->out_ld[0],
              .rows = g->n_grid, .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .width_b = (int32_t)bi_in(g, node, 1)->shape[1]);
}

static void outer_sums_reference(const void *params)
{
    const struct bi_outer_sums_params *p = params;
    for (int64_t r = 0; r < p->counts->n_grid; r++) {
        const struct bi_aligned of = bi_aligned_of(p->counts, &p->starts, p->starts.grid, r);
        const int64_t i = (r - of.grid) / of.n, j = (r - of.grid) % of.n;
        const float *a = p->a + (of.row + i * of.depth) * p->lda;
        const float *b = p->b + (of.row + j * of.depth) * p->ldb;
        for (int32_t c = 0; c < p->width * p->width_b; c++) {
            double sum = 0;
            for (int64_t s = 0; s < of.depth; s++)
                sum += (double)a[s * p->lda + c / p->width_b] *
                       (double)b[s * p->ldb + c % p->width_b];
            p->y[r * p->ldy + c] = (float)sum;
        }
    }
}

/* Twice as many operations as numbers of the result times rows of one alignment. */
static void outer_sums_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                            double *bytes)
{
    const struct bi_value *a = bi_in(g, node, 0);
    *flops = 2 * (double)bi_value_elements(&g->values[node->out[0]]) * (double)a->shape[0] /
             (double)(g->n_tokens > 0 ? g->n_tokens : 1);
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_outer_sums(struct bi_graph *g, bi_value_id a, bi_value_id b, bi_value_id start,
                          bi_value_id grid_start, bi_value_id aligned_start)
{
    return bi_node_add(g, BI_OP_OUTER_SUMS, BI_IN(a, b, start, grid_start, aligned_start), NULL);
}

const struct bi_op bi_op_outer_sums = {
    .name = "outer_sums",
    .infer = outer_sums_infer,
    .launch = outer_sums_launch,
    .reference = outer_sums_reference,
    .cost = outer_sums_cost,
    .required = 0x1f,
};
