/* motion_kick.c - motion_kick: atoms take their forces, and half a step of them, in place.
 *   atoms [N, 13] float64, facts [S, words] int32, forces [N, 12], frame? [S, words] int32 ->
 * atoms (kernels/motion.h) */
#include <string.h>

#include "motions.h"

static int motion_kick_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_motion(g, node, 3, err);
    if (!st)
        st = bi_expect(g, node, 2, 2, 12, err);
    if (!st && bi_in(g, node, 0)->shape[0] != bi_in(g, node, 2)->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "motion_kick: atoms %s by forces %s",
                     bi_shape_text(bi_in(g, node, 0)).text, bi_shape_text(bi_in(g, node, 2)).text);
    if (st)
        return st;
    bi_out_like(g, node, 0, 0);
    bi_out(g, node, 0)->dtype = BI_F64;
    return 0;
}

static void motion_kick_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "motion_kick", struct bi_motion_params, .counts = b->counts,
              .facts = b->in[1], .force = b->in[2], .frame = b->in[3], .atom = b->out[0],
              .rows = bi_in(g, node, 0)->shape[0]);
}

static void motion_kick_reference(const void *params)
{
    const struct bi_motion_params *p = params;
    const int64_t n = bi_motion_rows(p);
    for (int64_t i = 0; i < n; i++)
        bi_motion_kick_at(p, i);
}

bi_value_id bi_motion_kick(struct bi_graph *g, bi_value_id atoms, bi_value_id facts,
                           bi_value_id forces, bi_value_id frame)
{
    return bi_node_add(g, BI_OP_MOTION_KICK, BI_IN(atoms, facts, forces, frame), NULL);
}

const struct bi_op bi_op_motion_kick = {
    .name = "motion_kick",
    .infer = motion_kick_infer,
    .launch = motion_kick_launch,
    .reference = motion_kick_reference,
    .cost = bi_cost_bytes,
    .required = 7,
    .in_place = true,
};
