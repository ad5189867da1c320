/* outer_mul.c - products of what two tokens have, for each pair of tokens of a sequence.
 *   a, b [T, D], start, grid_start [S + 1] -> [G, D], row (i, j): a[i] b[j] */
#include <string.h>

#include "../../../kernels/grids.h"
#include "../../../ops/shared.h"

static int outer_mul_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, a->shape[1], err);
    if (!st)
        st = bi_expect_start(g, node, 2, err);
    if (!st)
        st = bi_expect_start(g, node, 3, err);
    if (!st && (a->axis != BI_AXIS_TOKENS || b->axis != BI_AXIS_TOKENS))
        st = bi_fail(err, BIOINFER_INTERNAL, "outer_mul: rows of axes %s, %s",
                     bi_axis_name(a->axis), bi_axis_name(b->axis));
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_GRID, 2, (int64_t[]){g->n_grid, a->shape[1]});
    return st;
}

static void outer_mul_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *y = &g->values[node->out[0]];
    BI_LAUNCH(launch, "outer_add", struct bi_outer_add_params, .counts = b->counts, .a = b->in[0],
              .b = b->in[1], .start = b->in[2], .grid_start = b->in[3], .y = b->out[0],
              .lda = b->in_ld[0], .ldb = b->in_ld[1], .ldy = b->out_ld[0], .rows = y->shape[0],
              .axis = BI_AXIS_GRID, .width = (int32_t)y->shape[1], .product = 1);
}

static void outer_mul_reference(const void *params)
{
    const struct bi_outer_add_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        const int64_t first = p->start[s], n = p->start[s + 1] - first;
        for (int64_t k = 0; k < n * n; k++)
            for (int32_t c = 0; c < p->width; c++)
                p->y[(p->grid_start[s] + k) * p->ldy + c] = p->a[(first + k / n) * p->lda + c] *
                                                            p->b[(first + k % n) * p->ldb + c];
    }
}

bi_value_id bi_outer_mul(struct bi_graph *g, bi_value_id a, bi_value_id b, bi_value_id start,
                         bi_value_id grid_start)
{
    return bi_node_add(g, BI_OP_OUTER_MUL, BI_IN(a, b, start, grid_start), NULL);
}

const struct bi_op bi_op_outer_mul = {
    .name = "outer_mul",
    .infer = outer_mul_infer,
    .launch = outer_mul_launch,
    .reference = outer_mul_reference,
    .cost = bi_cost_bytes,
    .required = 0xf,
};
