/* atom_pairs.c - cases of the atom_pairs kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 2, i ? 12 : 1, 1);
        struct bi_counts *c = &g.counts;
        struct bi_atom_pairs_params p = {.counts = c, .n_atoms = (int32_t)ck_random(ck, 1, 25)};
        float *mask;
        c->n_atoms = c->n_tokens * p.n_atoms;
        c->n_pairs = c->n_atoms * p.n_atoms;
        p.rows = c->n_pairs;
        p.atoms = ck_graph_floats(&g, 3 * (int64_t)c->n_atoms, 6);
        p.mask = mask = ck_graph_zeros(&g, c->n_atoms);
        for (int32_t a = 0; a < c->n_atoms; a++)
            mask[a] = (float)(ck_random(ck, 0, 3) > 0);
        p.y = ck_graph_zeros(&g, p.rows * BI_RBF_BINS);
        p.pair_mask = ck_graph_zeros(&g, p.rows);
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "atom_pairs",
                                   .reference = bi_op_atom_pairs.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 2e-5,
                                   .relative = 1e-5,
                                   .note = "random",
                                   .arrays = {{offsetof(struct bi_atom_pairs_params, y),
                                               4 * (size_t)p.rows * BI_RBF_BINS, CK_FIXED_F32},
                                              {offsetof(struct bi_atom_pairs_params, pair_mask),
                                               4 * (size_t)p.rows, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_atom_pairs = {.stem = "atom_pairs", .cases = cases};
