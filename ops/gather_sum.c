/* gather_sum.c - gather_sum: sums of rows of x that an index names.
 *   x [V, D], index [R, k] or [R] i32, -1 = none -> [R, D] = factor * sum over k of x[index]
 * One op serves messages along bonds, one-hot features times a matrix (x is the
 * matrix transposed) and means of a token's frames. */
#include <string.h>

#include "../kernels/gather_sum.h"
#include "shared.h"

static int gather_sum_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *index = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && index->rank != 1)
        st = bi_expect(g, node, 1, 2, BI_ATTR(node, gather_sum)->k, err);
    if (!st && (index->dtype != BI_I32 || BI_ATTR(node, gather_sum)->k < 1 ||
                BI_ATTR(node, gather_sum)->k > BI_GATHER_SUM_MAX))
        st = bi_fail(err, BIOINFER_INTERNAL, "gather_sum: index %s of %s, expected int32 [R, k]",
                     bi_shape_text(index).text, bi_dtype_name(index->dtype));
    if (!st)
        bi_out_shape(g, node, 0, index->axis, 2,
                     (int64_t[]){index->shape[0], bi_in(g, node, 0)->shape[1]});
    return st;
}

static void gather_sum_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *index = bi_in(g, node, 1);
    BI_LAUNCH(launch, "gather_sum", struct bi_gather_sum_params, .counts = b->counts, .x = b->in[0],
              .index = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = index->shape[0], .axis = (int32_t)index->axis, .width = (int32_t)x->shape[1],
              .k = BI_ATTR(node, gather_sum)->k, .factor = BI_ATTR(node, gather_sum)->factor);
}

static void gather_sum_reference(const void *params)
{
    const struct bi_gather_sum_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            double sum = 0;
            for (int32_t k = 0; k < p->k; k++)
                if (p->index[r * p->k + k] >= 0)
                    sum += (double)p->x[p->index[r * p->k + k] * p->ldx + c];
            p->y[r * p->ldy + c] = (float)((double)p->factor * sum);
        }
}

static void gather_sum_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                            double *bytes)
{
    const double n = (double)bi_in(g, node, 1)->shape[0] * BI_ATTR(node, gather_sum)->k;
    *flops = n * (double)bi_in(g, node, 0)->shape[1];
    *bytes = 4 * *flops + bi_bytes(g, node);
}

/* index [R, k], or [R] for k = 1: rows of x, -1 = none. */
bi_value_id bi_gather_sum(struct bi_graph *g, bi_value_id x, bi_value_id index, float factor)
{
    const int32_t k = index == BI_NONE             ? 0
                      : g->values[index].rank == 1 ? 1
                                                   : (int32_t)g->values[index].shape[1];
    return bi_node_add(g, BI_OP_GATHER_SUM, BI_IN(x, index),
                       BI_ATTRS(gather_sum, .k = k, .factor = factor));
}

const struct bi_op bi_op_gather_sum = {
    .name = "gather_sum",
    .infer = gather_sum_infer,
    .launch = gather_sum_launch,
    .reference = gather_sum_reference,
    .cost = gather_sum_cost,
    .required = 3,
    .half = {.out = 1},
};
