/* pair_average.c - averages of the tokens of each row of an alignment, weighted by pairs.
 *   weight [G, H], v [M, H d], start, grid_start, aligned_start [B + 1] -> [M, H d]
 * kernels/alignments.h says what is computed. */
#include <string.h>

#include "../../../kernels/alignments.h"
#include "../../../ops/shared.h"

static int pair_average_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *w = bi_in(g, node, 0), *v = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    for (int i = 2; !st && i < 5; i++)
        st = bi_expect_start(g, node, i, err);
    if (!st && (w->axis != BI_AXIS_GRID || v->axis != BI_AXIS_ALIGNED || w->shape[1] < 1 ||
                v->shape[1] % w->shape[1]))
        st = bi_fail(err, BIOINFER_INTERNAL, "pair_average: %s of axis %s by %s of axis %s",
                     bi_shape_text(v).text, bi_axis_name(v->axis), bi_shape_text(w).text,
                     bi_axis_name(w->axis));
    if (!st)
        bi_out_like(g, node, 0, 1);
    return st;
}

static void pair_average_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *w = bi_in(g, node, 0), *v = bi_in(g, node, 1);
    BI_LAUNCH(launch, "pair_average", struct bi_pair_average_params, .counts = b->counts,
              .starts = {b->in[2], b->in[3], b->in[4]}, .weight = b->in[0], .v = b->in[1],
              .y = b->out[0], .ldw = b->in_ld[0], .ldv = b->in_ld[1], .ldy = b->out_ld[0],
              .rows = v->shape[0], .n_heads = (int32_t)w->shape[1],
              .width = (int32_t)(v->shape[1] / w->shape[1]));
}

static void pair_average_reference(const void *params)
{
    const struct bi_pair_average_params *p = params;
    for (int64_t r = 0; r < p->counts->n_aligned; r++) {
        const struct bi_aligned of = bi_aligned_of(p->counts, &p->starts, p->starts.aligned, r);
        const int64_t i = (r - of.row) / of.depth, s = (r - of.row) % of.depth;
        for (int32_t c = 0; c < p->n_heads * p->width; c++) {
            double sum = 0;
            for (int64_t j = 0; j < of.n; j++)
                sum += (double)p->weight[(of.grid + i * of.n + j) * p->ldw + c / p->width] *
                       (double)p->v[(of.row + j * of.depth + s) * p->ldv + c];
            p->y[r * p->ldy + c] = (float)sum;
        }
    }
}

static void pair_average_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                              double *bytes)
{
    *flops = 2.0 * (double)bi_value_elements(bi_in(g, node, 1)) * (double)g->longest;
    *bytes = bi_bytes(g, node);
}

bi_value_id bi_pair_average(struct bi_graph *g, bi_value_id weight, bi_value_id v,
                            bi_value_id start, bi_value_id grid_start, bi_value_id aligned_start)
{
    return bi_node_add(g, BI_OP_PAIR_AVERAGE, BI_IN(weight, v, start, grid_start, aligned_start),
                       NULL);
}

const struct bi_op bi_op_pair_average = {
    .name = "pair_average",
    .infer = pair_average_infer,
    .launch = pair_average_launch,
    .reference = pair_average_reference,
    .cost = pair_average_cost,
    .required = 0x1f,
};
