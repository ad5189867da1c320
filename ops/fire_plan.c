/* fire_plan.c - fire_plan: what the step of a relaxation is, or that none follows, in place.
 *   state [S, numbers] float64, atoms [N, 7] float64, forces [N, 12], frame [S, words] int32 ->
 *   state; it sets the atoms of the batch to none when all frames are over (kernels/fire.h) */
#include "fires.h"

static int fire_plan_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_fire(g, node, 1, 0, err);
    if (!st)
        st = bi_expect_fire_forces(g, node, 2, bi_in(g, node, 1)->shape[0], err);
    if (!st)
        st = bi_expect_fire_frame(g, node, 3, 0, err);
    if (st)
        return st;
    bi_out_like(g, node, 0, 0);
    bi_out(g, node, 0)->dtype = BI_F64;
    return 0;
}

static void fire_plan_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "fire_plan", struct bi_fire_params, .counts = bi_fire_counts(b),
              .state = b->out[0], .atom = b->in[1], .force = b->in[2], .uploaded = b->in[3],
              .rows = bi_in(g, node, 1)->shape[0]);
}

static void fire_plan_reference(const void *params)
{
    bi_fire_plan_all(params);
}

/* frame: the one that was uploaded. */
bi_value_id bi_fire_plan(struct bi_graph *g, bi_value_id state, bi_value_id atoms,
                         bi_value_id forces, bi_value_id frame)
{
    return bi_node_add(g, BI_OP_FIRE_PLAN, BI_IN(state, atoms, forces, frame), NULL);
}

const struct bi_op bi_op_fire_plan = {
    .name = "fire_plan",
    .infer = fire_plan_infer,
    .launch = fire_plan_launch,
    .reference = fire_plan_reference,
    .cost = bi_cost_bytes,
    .required = 15,
    .in_place = true,
};
