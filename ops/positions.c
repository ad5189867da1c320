/* positions.c - a table's row for every place in a sequence.   table [P, D], start -> [T, D] */
#include <string.h>

#include "../kernels/positions.h"
#include "shared.h"

static int positions_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *table = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect_start(g, node, 1, err);
    if (!st &&
        (BI_ATTR(node, positions)->first < 0 || BI_ATTR(node, positions)->first >= table->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "positions: row %d of %s",
                     BI_ATTR(node, positions)->first, bi_shape_text(table).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2, (int64_t[]){g->n_tokens, table->shape[1]});
    return st;
}

static void positions_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "positions", struct bi_positions_params, .counts = b->counts,
              .table = b->in[0], .start = b->in[1], .y = b->out[0], .ldy = b->out_ld[0],
              .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .first = BI_ATTR(node, positions)->first);
}

static void positions_reference(const void *params)
{
    const struct bi_positions_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++)
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            memcpy(p->y + t * p->ldy, p->table + (p->first + t - p->start[s]) * p->width,
                   sizeof *p->y * (size_t)p->width);
}

/* Row `first` of the table belongs to the first token of a sequence. */
bi_value_id bi_positions(struct bi_graph *g, bi_value_id table, bi_value_id start, int32_t first)
{
    return bi_node_add(g, BI_OP_POSITIONS, BI_IN(table, start),
                       BI_ATTRS(positions, .first = first));
}

const struct bi_op bi_op_positions = {
    .name = "positions",
    .infer = positions_infer,
    .launch = positions_launch,
    .reference = positions_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
