/* atom_cells.c - atom_cells: atoms by the cells that they lie in (kernels/atom_edges.h).
 *   position [N, 3] float64, frame [S, words] -> place [N, words], order [N], first [4 N + 1],
 *   work [N], all int32 */
#include <string.h>

#include "atoms.h"

static int atom_cells_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *frame = bi_in(g, node, 1);
    const int64_t n = x->shape[0];
    if (x->dtype != BI_F64 || x->rank != 2 || x->shape[1] != 3 || x->axis != BI_AXIS_TOKENS ||
        n > INT32_MAX / BI_BINS_PER_ATOM - 1 || frame->dtype != BI_I32 || frame->rank != 2 ||
        frame->shape[1] != BI_FRAME_WORDS)
        return bi_fail(err, BIOINFER_INTERNAL, "atom_cells: positions %s in frames %s",
                       bi_shape_text(x).text, bi_shape_text(frame).text);
    bi_out_ints(g, node, 0, BI_AXIS_TOKENS, n, BI_PLACE_WORDS);
    bi_out_ints(g, node, 1, BI_AXIS_TOKENS, n, 0);
    bi_out_ints(g, node, 2, BI_AXIS_FIXED, bi_atom_bins(n), 0);
    bi_out_ints(g, node, 3, BI_AXIS_TOKENS, n, 0);
    return 0;
}

static void atom_cells_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "atom_cells", struct bi_atom_edges_params, .counts = bi_atom_counts(b),
              .position = b->in[0], .frame = b->in[1], .place = b->out[0], .order = b->out[1],
              .first = b->out[2], .work = b->out[3], .rows = bi_in(g, node, 0)->shape[0]);
}

/* Cell after cell, the atoms that lie there. */
static void atom_cells_reference(const void *params)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    const int32_t bins = bi_edge_bins(p);
    int32_t at = 0;
    for (int64_t i = 0; i < n; i++)
        bi_atom_place_of(p, i, &p->place[i]);
    for (int32_t b = 0; b < bins; b++) {
        p->first[b] = at;
        for (int64_t i = 0; i < n; i++)
            if (p->place[i].bin == b) {
                p->place[i].slot = at - p->first[b];
                p->order[at++] = (int32_t)i;
            }
    }
    p->first[bins] = at;
}

/* Fills all but position and frame of `atoms`; returns their places. */
bi_value_id bi_atom_cells(struct bi_graph *g, bi_value_id position, bi_value_id frame,
                          struct bi_atom_values *atoms)
{
    const bi_value_id id = bi_node_add(g, BI_OP_ATOM_CELLS, BI_IN(position, frame), NULL);
    *atoms = (struct bi_atom_values){.position = position,
                                     .frame = frame,
                                     .place = id,
                                     .order = bi_other_output(g, id, 1),
                                     .first = bi_other_output(g, id, 2)};
    return id;
}

const struct bi_op bi_op_atom_cells = {
    .name = "atom_cells",
    .infer = atom_cells_infer,
    .launch = atom_cells_launch,
    .reference = atom_cells_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
