/* motion_start.c - motion_start: atoms as they were uploaded, for steps that change them in place.
 *   atoms [N, 13] float64 -> the same (kernels/motion.h) */
#include <string.h>

#include "../kernels/motion.h"
#include "shared.h"

static int motion_start_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    if (x->dtype != BI_F64 || x->rank != 2 || x->shape[1] != BI_MOTION_NUMBERS ||
        x->axis != BI_AXIS_TOKENS)
        return bi_fail(err, BIOINFER_INTERNAL, "motion_start: atoms %s", bi_shape_text(x).text);
    bi_out_like(g, node, 0, 0);
    bi_out(g, node, 0)->dtype = BI_F64;
    return 0;
}

static void motion_start_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "motion_start", struct bi_motion_params, .counts = b->counts,
              .from = b->in[0], .atom = b->out[0], .rows = bi_in(g, node, 0)->shape[0]);
}

static void motion_start_reference(const void *params)
{
    const struct bi_motion_params *p = params;
    memcpy(p->atom, p->from, (size_t)bi_motion_rows(p) * sizeof *p->atom);
}

bi_value_id bi_motion_start(struct bi_graph *g, bi_value_id atoms)
{
    return bi_node_add(g, BI_OP_MOTION_START, BI_IN(atoms), NULL);
}

const struct bi_op bi_op_motion_start = {
    .name = "motion_start",
    .infer = motion_start_infer,
    .launch = motion_start_launch,
    .reference = motion_start_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
