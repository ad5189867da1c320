/* atom_edges.c - what ops that find the edges of atoms have in common (kernels/atom_edges.h). */
#include "../../../kernels/fire.h"
#include "../../../kernels/motion.h"
#include "../tensornet.h"
#include "atoms.h"

int bi_expect_ints(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n,
                   int64_t width, struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    if (v && v->dtype == BI_I32 && v->rank == (width ? 2 : 1) && v->shape[0] == n &&
        (!width || v->shape[1] == width))
        return 0;
    return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d %s, expected int32 [%lld, %lld]",
                   bi_ops[node->op]->name, i, v ? bi_shape_text(v).text : "is missing",
                   (long long)n, (long long)width);
}

int bi_expect_atoms(const struct bi_graph *g, const struct bi_node *node,
                    struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int64_t n = x->shape[0];
    int st = 0;
    if (x->dtype != BI_F64 || x->rank != 2 || x->shape[1] != 3)
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: positions %s", bi_ops[node->op]->name,
                     bi_shape_text(x).text);
    if (!st)
        st = bi_expect_ints(g, node, 1, bi_in(g, node, 1)->shape[0], BI_FRAME_WORDS, err);
    if (!st)
        st = bi_expect_ints(g, node, 2, n, BI_PLACE_WORDS, err);
    if (!st)
        st = bi_expect_ints(g, node, 3, n, 0, err);
    return st ? st : bi_expect_ints(g, node, 4, bi_atom_bins(n), 0, err);
}

void bi_tensornet_inputs(struct bi_graph *g, const struct bi_energy_shape *shape,
                         struct bi_tensornet_places *places)
{
    const int64_t n = shape->n_atoms;
    /* a graph of one frame is as it was when batches had one: fingerprints are of it */
    const enum bi_axis of_frames = shape->n_frames > 1 ? BI_AXIS_SEQS : BI_AXIS_FIXED;
    *places = (struct bi_tensornet_places){
        .position = BI_NONE, .atoms = BI_NONE, .motion = BI_NONE};
    places->frame = bi_input_matrix(g, "frame", BI_I32, BI_AXIS_SEQS, shape->n_frames,
                                    BI_FRAME_WORDS);
    places->report = bi_fill(g, BI_I32, BI_AXIS_FIXED, BI_REPORT_WORDS, 0, 0);
    places->uploaded = places->frame;
    places->by_frame = shape->n_frames > 1 ? places->frame : BI_NONE;
    if (shape->moves == BI_MOVES_NOT) {
        places->position = bi_input_matrix(g, "position", BI_F64, BI_AXIS_TOKENS, n, 3);
    } else if (shape->moves == BI_MOVES_DYNAMICS) {
        places->motion = bi_input_matrix(g, "facts", BI_I32, of_frames, shape->n_frames,
                                         BI_MOTION_WORDS);
        places->atoms = bi_motion_start(
            g, bi_input_matrix(g, "atoms", BI_F64, BI_AXIS_TOKENS, n, BI_MOTION_NUMBERS));
    } else {
        const bi_value_id atoms = bi_input_matrix(g, "fire_atoms", BI_F64, BI_AXIS_TOKENS, n,
                                                  BI_FIRE_ATOM_NUMBERS);
        places->atoms = bi_fire_start(
            g, atoms,
            bi_input_matrix(g, "relaxation", BI_F64, of_frames, shape->n_frames, BI_FIRE_NUMBERS),
            &places->motion);
    }
}

void bi_tensornet_move(struct bi_graph *g, const struct bi_energy_shape *shape,
                       struct bi_tensornet_places *places)
{
    if (shape->moves == BI_MOVES_NOT)
        return;
    bi_loop_begin(g, BI_COUNTER_n_steps);
    if (shape->moves == BI_MOVES_DYNAMICS)
        places->atoms = bi_motion_move(g, places->atoms, places->motion, places->by_frame,
                                       &places->position);
    else
        places->position = bi_fire_place(g, places->atoms, places->motion, &places->frame);
}

void bi_tensornet_moved(struct bi_graph *g, const struct bi_energy_shape *shape,
                        struct bi_tensornet_places *places, bi_value_id forces)
{
    if (shape->moves == BI_MOVES_NOT)
        return;
    if (shape->moves == BI_MOVES_DYNAMICS) {
        places->atoms = bi_motion_kick(g, places->atoms, places->motion, forces, places->by_frame);
    } else {
        places->motion = bi_fire_plan(g, places->motion, places->atoms, forces, places->uploaded);
        places->atoms = bi_fire_move(g, places->atoms, places->motion, forces, places->by_frame);
    }
    bi_loop_end(g);
    bi_output(g, places->atoms, BI_ENERGY_MOTION, -1, "atoms");
    if (shape->moves == BI_MOVES_FIRE)
        bi_output(g, places->motion, BI_ENERGY_FIRE, -1, "relaxation");
}

void bi_tensornet_edges(struct bi_graph *g, struct bi_tensornet_places *places, int64_t n_edges,
                        struct bi_edge_values *edges)
{
    struct bi_atom_values atoms;
    bi_value_id found, degree, key;
    bi_atom_cells(g, places->position, places->frame, &atoms);
    found = bi_edge_count(g, &atoms, &degree);
    places->report = bi_edge_start(g, places->report, degree, n_edges, &edges->start);
    key = bi_edge_list(g, &atoms, found, n_edges, edges);
    edges->reverse = bi_edge_reverse(g, edges->start, edges->col, key);
}
