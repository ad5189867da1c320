/* fire_start.c - fire_start: a relaxation as it was uploaded, for steps that change it in place.
 *   atoms [N, 7], state [S, numbers], float64 -> the same (kernels/fire.h) */
#include <string.h>

#include "fires.h"

static int fire_start_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_fire(g, node, 0, 1, err);
    if (st)
        return st;
    for (int i = 0; i < 2; i++) {
        bi_out_shape(g, node, i, bi_in(g, node, i)->axis, 2, bi_in(g, node, i)->shape);
        bi_out(g, node, i)->dtype = BI_F64;
    }
    return 0;
}

static void fire_start_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "fire_start", struct bi_fire_params, .counts = bi_fire_counts(b),
              .from = b->in[0], .begin = b->in[1], .atom = b->out[0], .state = b->out[1],
              .rows = bi_in(g, node, 0)->shape[0]);
}

static void fire_start_reference(const void *params)
{
    const struct bi_fire_params *p = params;
    memcpy(p->atom, p->from, (size_t)bi_fire_rows(p) * sizeof *p->atom);
    memcpy(p->state, p->begin, (size_t)p->counts->n_seqs * sizeof *p->state);
}

/* Returns the atoms; *state: how far the relaxation is. */
bi_value_id bi_fire_start(struct bi_graph *g, bi_value_id atoms, bi_value_id begin,
                          bi_value_id *state)
{
    const bi_value_id id = bi_node_add(g, BI_OP_FIRE_START, BI_IN(atoms, begin), NULL);
    *state = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_fire_start = {
    .name = "fire_start",
    .infer = fire_start_infer,
    .launch = fire_start_launch,
    .reference = fire_start_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
