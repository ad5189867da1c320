/* edge_list.c - edge_list: the edges of each atom in their order (kernels/atom_edges.h).
 *   position, frame, place, order, first of atom_cells, found [N, 32], start [N + 1] ->
 *   vector [E, 3] float32, col [E], key [E, 2], work [E, 2], int32
 * attr: edges = E. */
#include <string.h>

#include "atoms.h"

static int edge_list_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int64_t n = bi_in(g, node, 0)->shape[0], edges = BI_ATTR(node, edge_list)->edges;
    int st = bi_expect_atoms(g, node, err);
    if (!st)
        st = bi_expect_ints(g, node, 5, n, BI_EDGE_SHARES, err);
    if (!st)
        st = bi_expect_ints(g, node, 6, n + 1, 0, err);
    if (!st && edges < 1)
        st = bi_fail(err, BIOINFER_INTERNAL, "edge_list: room for %d edges",
                     BI_ATTR(node, edge_list)->edges);
    if (st)
        return st;
    bi_out_shape(g, node, 0, BI_AXIS_EDGES, 2, (int64_t[]){edges, 3});
    bi_out_ints(g, node, 1, BI_AXIS_EDGES, edges, 0);
    bi_out_ints(g, node, 2, BI_AXIS_EDGES, edges, 2);
    bi_out_ints(g, node, 3, BI_AXIS_EDGES, edges, 2);
    return 0;
}

static void edge_list_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edge_list", struct bi_atom_edges_params, .counts = bi_atom_counts(b),
              .position = b->in[0], .frame = b->in[1], .place = b->in[2], .order = b->in[3],
              .first = b->in[4], .found = b->in[5], .start = b->in[6], .vector = b->out[0],
              .col = b->out[1], .key = b->out[2], .loose = b->out[3],
              .rows = bi_in(g, node, 0)->shape[0], .capacity = BI_ATTR(node, edge_list)->edges);
}

/* How far the images of the cell along axis k are looked at: farther than edges can reach. */
static int32_t images(const struct bi_atom_frame *f, int k)
{
    return f->periodic >> k & 1 ? f->reach[k] / f->n_bins[k] + 1 : 0;
}

/* Goes through all images of all atoms of the frame, in the order of edges. */
static int32_t list_all(const struct bi_atom_edges_params *p, int64_t i, int32_t e)
{
    const struct bi_atom_place *mine = &p->place[i];
    struct bi_around a = {.frame = &p->frame[mine->frame]};
    const struct bi_atom_frame *f = a.frame;
    const int32_t reach[3] = {images(f, 0), images(f, 1), images(f, 2)};
    for (int32_t j = f->first_atom; j < f->first_atom + f->n_atoms; j++)
        for (a.image[0] = -reach[0]; a.image[0] <= reach[0]; a.image[0]++)
            for (a.image[1] = -reach[1]; a.image[1] <= reach[1]; a.image[1]++)
                for (a.image[2] = -reach[2]; a.image[2] <= reach[2]; a.image[2]++) {
                    for (int c = 0; c < 3; c++)
                        a.moved[c] = a.image[0] * f->cell[c] + a.image[1] * f->cell[3 + c] +
                                     a.image[2] * f->cell[6 + c];
                    if (e < p->start[i + 1] && bi_look(p, &a, mine, (int32_t)i, j) != BI_NEAR_NOT)
                        bi_edge_put(p, i, e++, bi_edge_key(j, a.image));
                }
    return e;
}

static void edge_list_reference(const void *params)
{
    const struct bi_atom_edges_params *p = params;
    const int64_t n = bi_edge_atoms(p);
    for (int64_t i = 0; i < n; i++)
        list_all(p, i, p->start[i]);
}

static void edge_list_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    *flops = 300.0 * (double)BI_ATTR(node, edge_list)->edges;
    *bytes = bi_bytes(g, node);
}

/* Fills vector and col of `edges`, whose start is there; returns the keys. */
bi_value_id bi_edge_list(struct bi_graph *g, const struct bi_atom_values *atoms, bi_value_id found,
                         int64_t n_edges, struct bi_edge_values *edges)
{
    edges->vector = bi_node_add(g, BI_OP_EDGE_LIST,
                                BI_IN(atoms->position, atoms->frame, atoms->place, atoms->order,
                                      atoms->first, found, edges->start),
                                BI_ATTRS(edge_list, .edges = (int32_t)n_edges));
    edges->col = bi_other_output(g, edges->vector, 1);
    return bi_other_output(g, edges->vector, 2);
}

const struct bi_op bi_op_edge_list = {
    .name = "edge_list",
    .infer = edge_list_infer,
    .launch = edge_list_launch,
    .reference = edge_list_reference,
    .cost = edge_list_cost,
    .required = 127,
};
