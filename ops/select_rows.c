/* select_rows.c - select_rows: rows by index.   x [R, D], index [N] i32 -> [N, D]
 * An index of n_seqs + 1 sequence starts selects the first row of each sequence. */
#include <string.h>

#include "../kernels/select_rows.h"
#include "shared.h"

/* The table of starts has one entry more than there are sequences. */
static int64_t n_selected(const struct bi_value *index)
{
    return index->shape[0] - (index->axis == BI_AXIS_SEQS);
}

static int select_rows_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *index = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && index->dtype != BI_I32)
        st = bi_fail(err, BIOINFER_INTERNAL, "select_rows: index is %s, expected int32",
                     bi_dtype_name(index->dtype));
    if (!st)
        bi_out_shape(g, node, 0, index->axis, 2,
                     (int64_t[]){n_selected(index), bi_in(g, node, 0)->shape[1]});
    return st;
}

static void select_rows_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *index = bi_in(g, node, 1);
    BI_LAUNCH(launch, "select_rows", struct bi_select_rows_params, .counts = b->counts,
              .x = b->in[0], .index = b->in[1], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = n_selected(index), .axis = (int32_t)index->axis,
              .width = (int32_t)x->shape[1]);
}

static void select_rows_reference(const void *params)
{
    const struct bi_select_rows_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        memcpy(p->y + r * p->ldy, p->x + p->index[r] * p->ldx, (size_t)p->width * sizeof(float));
}

/* A row for every token comes from a float32 table that the graph makes; its reader may have it
 * rounded. */
static void select_rows_half_of(const struct bi_graph *g, const struct bi_node *node,
                                struct bi_half *half)
{
    if (bi_in(g, node, 1)->axis == BI_AXIS_TOKENS)
        half->in = half->all = 0;
}

bi_value_id bi_select_rows(struct bi_graph *g, bi_value_id x, bi_value_id index)
{
    return bi_node_add(g, BI_OP_SELECT_ROWS, BI_IN(x, index), NULL);
}

const struct bi_op bi_op_select_rows = {
    .name = "select_rows",
    .infer = select_rows_infer,
    .launch = select_rows_launch,
    .reference = select_rows_reference,
    .cost = bi_cost_bytes,
    .required = 3,
    .half = {.out = 1, .in = 1, .all = 1},
    .half_of = select_rows_half_of,
};
