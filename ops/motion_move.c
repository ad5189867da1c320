/* motion_move.c - motion_move: atoms go to where their next forces are to be known, in place.
 *   atoms [N, 13] float64, facts [S, words], frame? [S, words] int32 -> atoms, position [N, 3]
 * float64 (kernels/motion.h) */
#include <string.h>

#include "motions.h"

static int motion_move_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_motion(g, node, 2, err);
    if (st)
        return st;
    bi_out_like(g, node, 0, 0);
    bi_out_shape(g, node, 1, BI_AXIS_TOKENS, 2, (int64_t[]){bi_in(g, node, 0)->shape[0], 3});
    bi_out(g, node, 0)->dtype = bi_out(g, node, 1)->dtype = BI_F64;
    return 0;
}

static void motion_move_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "motion_move", struct bi_motion_params, .counts = b->counts,
              .facts = b->in[1], .frame = b->in[2], .atom = b->out[0], .position = b->out[1],
              .rows = bi_in(g, node, 0)->shape[0]);
}

static void motion_move_reference(const void *params)
{
    const struct bi_motion_params *p = params;
    const int64_t n = bi_motion_rows(p);
    for (int64_t i = 0; i < n; i++)
        bi_motion_move_at(p, i);
}

/* Returns the atoms; *position: where they are. */
bi_value_id bi_motion_move(struct bi_graph *g, bi_value_id atoms, bi_value_id facts,
                           bi_value_id frame, bi_value_id *position)
{
    const bi_value_id id = bi_node_add(g, BI_OP_MOTION_MOVE, BI_IN(atoms, facts, frame), NULL);
    *position = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_motion_move = {
    .name = "motion_move",
    .infer = motion_move_infer,
    .launch = motion_move_launch,
    .reference = motion_move_reference,
    .cost = bi_cost_bytes,
    .required = 3,
    .in_place = true,
};
