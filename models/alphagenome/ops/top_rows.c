/* top_rows.c - top_rows: which rows have the largest numbers of a column.
 *   x [R, C] -> [n k] i32, for each of the first n columns k rows in ascending order, -1 = none
 * least: the least number that counts */
#include <math.h>
#include <string.h>

#include "../../../kernels/junctions.h"
#include "../../../ops/shared.h"

static int top_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int64_t n = BI_ATTR(node, top_rows)->n, k = BI_ATTR(node, top_rows)->k;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (x->axis != BI_AXIS_FIXED || n < 1 || k < 1 || n > x->shape[1]))
        st = bi_fail(err, BIOINFER_INTERNAL, "top_rows: %lld rows of %lld columns of %s",
                     (long long)k, (long long)n, bi_shape_text(x).text);
    if (!st) {
        bi_out_shape(g, node, 0, BI_AXIS_FIXED, 1, (int64_t[]){n * k});
        bi_out(g, node, 0)->dtype = BI_I32;
    }
    return st;
}

static void top_rows_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "top_rows", struct bi_top_rows_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .rows = bi_in(g, node, 0)->shape[0],
              .n_classes = BI_ATTR(node, top_rows)->n, .k = BI_ATTR(node, top_rows)->k,
              .least = BI_ATTR(node, top_rows)->least);
}

static void top_rows_reference(const void *params)
{
    const struct bi_top_rows_params *p = params;
    for (int32_t c = 0; c < p->n_classes; c++) {
        int32_t n = 0, *y = p->y + (int64_t)c * p->k;
        for (int64_t r = 0; r < p->rows && n < p->k; r++) {
            const float x = p->x[r * p->ldx + c];
            int64_t before = 0; /* rows that come before this one in the order of numbers */
            for (int64_t i = 0; i < p->rows && x >= p->least; i++) {
                const float other = p->x[i * p->ldx + c];
                before += other > x || (other == x && i < r);
            }
            if (x >= p->least && before < p->k)
                y[n++] = (int32_t)r;
        }
        while (n < p->k)
            y[n++] = -1;
    }
}

bi_value_id bi_top_rows(struct bi_graph *g, bi_value_id x, int32_t n, int32_t k, float least)
{
    return bi_node_add(g, BI_OP_TOP_ROWS, BI_IN(x),
                       BI_ATTRS(top_rows, .n = n, .k = k, .least = least));
}

const struct bi_op bi_op_top_rows = {
    .name = "top_rows",
    .infer = top_rows_infer,
    .launch = top_rows_launch,
    .reference = top_rows_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
