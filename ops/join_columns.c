/* join_columns.c - join_columns: two values side by side.
 *   a [R, N], b [R, M] -> [R, N + M] */
#include <string.h>

#include "../kernels/track_rows.h"
#include "shared.h"

static int join_columns_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *a = bi_in(g, node, 0), *b = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    if (!st && (a->axis != b->axis || a->shape[0] != b->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "join_columns: %s beside %s", bi_shape_text(b).text,
                     bi_shape_text(a).text);
    if (!st)
        bi_out_shape(g, node, 0, a->axis, 2, (int64_t[]){a->shape[0], a->shape[1] + b->shape[1]});
    return st;
}

static void join_columns_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *y = &g->values[node->out[0]];
    BI_LAUNCH(launch, "join_columns", struct bi_join_columns_params, .counts = b->counts,
              .a = b->in[0], .b = b->in[1], .y = b->out[0], .lda = b->in_ld[0], .ldb = b->in_ld[1],
              .ldy = b->out_ld[0], .rows = y->shape[0], .axis = (int32_t)y->axis,
              .width = (int32_t)y->shape[1], .first = (int32_t)bi_in(g, node, 0)->shape[1]);
}

static void join_columns_reference(const void *params)
{
    const struct bi_join_columns_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = c < p->first ? p->a[r * p->lda + c]
                                                : p->b[r * p->ldb + c - p->first];
}

bi_value_id bi_join_columns(struct bi_graph *g, bi_value_id a, bi_value_id b)
{
    return bi_node_add(g, BI_OP_JOIN_COLUMNS, BI_IN(a, b), NULL);
}

const struct bi_op bi_op_join_columns = {
    .name = "join_columns",
    .infer = join_columns_infer,
    .launch = join_columns_launch,
    .reference = join_columns_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
