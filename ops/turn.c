/* turn.c - turn: row (i, j) of each grid of tokens becomes row (j, i).
 *   x [G, D], grid_start [B + 1] -> [G, D] */
#include <string.h>

#include "../kernels/grids.h"
#include "shared.h"

static int turn_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect_start(g, node, 1, err);
    if (!st && x->axis != BI_AXIS_GRID)
        st = bi_fail(err, BIOINFER_INTERNAL, "turn: rows of axis %s", bi_axis_name(x->axis));
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void turn_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "turn", struct bi_turn_params, .counts = b->counts, .x = b->in[0],
              .grid_start = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0], .width = (int32_t)x->shape[1]);
}

static void turn_reference(const void *params)
{
    const struct bi_turn_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        const int64_t grid = p->grid_start[s], n = bi_grid_side(p->grid_start[s + 1] - grid);
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++)
                memcpy(p->y + (grid + j * n + i) * p->ldy, p->x + (grid + i * n + j) * p->ldx,
                       sizeof *p->y * (size_t)p->width);
    }
}

bi_value_id bi_turn(struct bi_graph *g, bi_value_id x, bi_value_id grid_start)
{
    return bi_node_add(g, BI_OP_TURN, BI_IN(x, grid_start), NULL);
}

const struct bi_op bi_op_turn = {
    .name = "turn",
    .infer = turn_infer,
    .launch = turn_launch,
    .reference = turn_reference,
    .cost = bi_cost_bytes,
    .required = 3,
    .half = {.out = 1, .in = 1, .all = 1},
};
