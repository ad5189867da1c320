/* motion_move.c - motion_move: atoms go to where their next forces are to be known, in place.
 *   atoms [N, 12] float64, facts [1, words] int32 -> atoms, position [N, 3] float64
 * kernels/motion.h. */
#include <string.h>

#include "../kernels/motion.h"
#include "shared.h"

static int motion_move_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *facts = bi_in(g, node, 1);
    if (x->dtype != BI_F64 || x->rank != 2 || x->shape[1] != BI_MOTION_NUMBERS ||
        facts->dtype != BI_I32 || facts->rank != 2 || facts->shape[1] != BI_MOTION_WORDS)
        return bi_fail(err, BIOINFER_INTERNAL, "motion_move: atoms %s by facts %s",
                       bi_shape_text(x).text, bi_shape_text(facts).text);
    bi_out_like(g, node, 0, 0);
    bi_out_shape(g, node, 1, BI_AXIS_TOKENS, 2, (int64_t[]){x->shape[0], 3});
    bi_out(g, node, 0)->dtype = bi_out(g, node, 1)->dtype = BI_F64;
    return 0;
}

static void motion_move_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "motion_move", struct bi_motion_params, .counts = b->counts,
              .facts = b->in[1], .atom = b->out[0], .position = b->out[1],
              .rows = bi_in(g, node, 0)->shape[0]);
}

static void motion_move_reference(const void *params)
{
    const struct bi_motion_params *p = params;
    const int64_t n = bi_motion_rows(p);
    for (int64_t i = 0; i < n; i++) {
        bi_motion_move_atom(p->facts, &p->atom[i], (uint32_t)i);
        for (int k = 0; k < 3; k++)
            p->position[3 * i + k] = p->atom[i].x[k];
    }
}

/* Returns the atoms; *position: where they are. */
bi_value_id bi_motion_move(struct bi_graph *g, bi_value_id atoms, bi_value_id facts,
                           bi_value_id *position)
{
    const bi_value_id id = bi_node_add(g, BI_OP_MOTION_MOVE, BI_IN(atoms, facts), NULL);
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
