/* atom_pairs.c - atom_pairs: distances between the atoms around a residue, as Gaussians.
 *   atoms [N M, 3], mask [N M] -> [N M M, 16], mask of pairs [N M M]
 * k = M. Formula: kernels/edges.h. */
#include <string.h>

#include "edges.h"

static int atom_pairs_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *atoms = bi_in(g, node, 0);
    int64_t k = BI_ATTR(node, atom_pairs)->k;
    int st = bi_expect(g, node, 0, 2, 3, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, atoms->shape[0], err);
    if (!st && (k < 1 || k > BI_NEIGHBORS_MAX || atoms->shape[0] % k))
        st = bi_fail(err, BIOINFER_INTERNAL, "atom_pairs: atoms %s, %lld to a residue",
                     bi_shape_text(atoms).text, (long long)k);
    if (st)
        return st;
    bi_out_shape(g, node, 0, BI_AXIS_PAIRS, 2, (int64_t[]){atoms->shape[0] * k, BI_RBF_BINS});
    bi_out_shape(g, node, 1, BI_AXIS_PAIRS, 1, (int64_t[]){atoms->shape[0] * k});
    return 0;
}

static void atom_pairs_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "atom_pairs", struct bi_atom_pairs_params, .counts = b->counts,
              .atoms = b->in[0], .mask = b->in[1], .y = b->out[0], .pair_mask = b->out[1],
              .rows = bi_in(g, node, 0)->shape[0] * BI_ATTR(node, atom_pairs)->k,
              .n_atoms = BI_ATTR(node, atom_pairs)->k);
}

static void atom_pairs_reference(const void *params)
{
    const struct bi_atom_pairs_params *p = params;
    int64_t rows = bi_live_rows(p->counts, BI_AXIS_PAIRS, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        int64_t i = r / p->n_atoms, j = i / p->n_atoms * p->n_atoms + r % p->n_atoms;
        bi_ref_gaussians(p->atoms + 3 * i, p->atoms + 3 * j, p->y + r * BI_RBF_BINS);
        p->pair_mask[r] = p->mask[i] * p->mask[j];
    }
}

/* k atoms to a token; *mask: of pairs */
bi_value_id bi_atom_pairs(struct bi_graph *g, bi_value_id atoms, bi_value_id atom_mask, int32_t k,
                          bi_value_id *mask)
{
    bi_value_id id = bi_node_add(g, BI_OP_ATOM_PAIRS, BI_IN(atoms, atom_mask),
                                 BI_ATTRS(atom_pairs, .k = k));
    *mask = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_atom_pairs = {
    .name = "atom_pairs",
    .infer = atom_pairs_infer,
    .launch = atom_pairs_launch,
    .reference = atom_pairs_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
