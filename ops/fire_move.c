/* fire_move.c - fire_move: atoms make the step of a relaxation, in place.
 *   atoms [N, 7], state [S, numbers], float64, forces [N, 12], frame? [S, words] int32 -> atoms
 * (kernels/fire.h) */
#include "fires.h"

static int fire_move_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_fire(g, node, 0, 1, err);
    if (!st)
        st = bi_expect_fire_forces(g, node, 2, bi_in(g, node, 0)->shape[0], err);
    if (!st)
        st = bi_expect_fire_frame(g, node, 3, 1, err);
    if (st)
        return st;
    bi_out_like(g, node, 0, 0);
    bi_out(g, node, 0)->dtype = BI_F64;
    return 0;
}

static void fire_move_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "fire_move", struct bi_fire_params, .counts = bi_fire_counts(b),
              .atom = b->out[0], .state = b->in[1], .force = b->in[2], .uploaded = b->in[3],
              .rows = bi_in(g, node, 0)->shape[0]);
}

static void fire_move_reference(const void *params)
{
    const struct bi_fire_params *p = params;
    const int64_t n = bi_fire_rows(p);
    for (int64_t i = 0; i < n; i++)
        bi_fire_move_atom(p, i);
}

/* frame: the one that was uploaded; BI_NONE = the batch is one frame. */
bi_value_id bi_fire_move(struct bi_graph *g, bi_value_id atoms, bi_value_id state,
                         bi_value_id forces, bi_value_id frame)
{
    return bi_node_add(g, BI_OP_FIRE_MOVE, BI_IN(atoms, state, forces, frame), NULL);
}

const struct bi_op bi_op_fire_move = {
    .name = "fire_move",
    .infer = fire_move_infer,
    .launch = fire_move_launch,
    .reference = fire_move_reference,
    .cost = bi_cost_bytes,
    .required = 7,
    .in_place = true,
};
