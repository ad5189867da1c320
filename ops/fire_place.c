/* fire_place.c - fire_place: where atoms and their cell are, by the variables of a relaxation.
 *   atoms [N, 7], state [S, numbers], float64, frame [S, words] int32 ->
 *   position [N, 3] float64, frame (kernels/fire.h) */
#include "fires.h"

static int fire_place_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_fire(g, node, 0, 1, err);
    if (!st)
        st = bi_expect_fire_frame(g, node, 2, 1, err);
    if (st)
        return st;
    bi_out_shape(g, node, 0, BI_AXIS_TOKENS, 2, (int64_t[]){bi_in(g, node, 0)->shape[0], 3});
    bi_out_shape(g, node, 1, BI_AXIS_SEQS, 2, bi_in(g, node, 2)->shape);
    bi_out(g, node, 0)->dtype = BI_F64;
    bi_out(g, node, 1)->dtype = BI_I32;
    return 0;
}

static void fire_place_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "fire_place", struct bi_fire_params, .counts = bi_fire_counts(b),
              .atom = b->in[0], .state = b->in[1], .uploaded = b->in[2], .position = b->out[0],
              .frame = b->out[1], .rows = bi_in(g, node, 0)->shape[0]);
}

static void fire_place_reference(const void *params)
{
    const struct bi_fire_params *p = params;
    const int64_t n = bi_fire_rows(p);
    for (int64_t i = 0; i < n; i++)
        bi_fire_place_atom(p, i);
    for (int32_t f = 0; f < p->counts->n_seqs; f++)
        bi_fire_place_frame(p, f);
}

/* Returns the positions; *frame becomes that of the cell as it is. */
bi_value_id bi_fire_place(struct bi_graph *g, bi_value_id atoms, bi_value_id state,
                          bi_value_id *frame)
{
    const bi_value_id id = bi_node_add(g, BI_OP_FIRE_PLACE, BI_IN(atoms, state, *frame), NULL);
    *frame = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_fire_place = {
    .name = "fire_place",
    .infer = fire_place_infer,
    .launch = fire_place_launch,
    .reference = fire_place_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
