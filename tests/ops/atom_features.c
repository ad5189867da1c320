/* atom_features.c - cases of the atom_features kernel. */
#include "graphs.h"

static void cases(struct ck *ck)
{
    for (int i = 0; i < 8 && !ck_bench(ck); i++) {
        struct ck_graph g = ck_graph_new(ck, 2, i ? 30 : 1, 1);
        struct bi_counts *c = &g.counts;
        struct bi_atom_features_params p = {
            .counts = c, .x = g.x, .n_atoms = (int32_t)ck_random(ck, 1, 25)};
        float *atoms;
        c->n_atoms = c->n_tokens * p.n_atoms;
        p.rows = c->n_atoms;
        p.atoms = atoms = ck_graph_floats(&g, 3 * p.rows, 10);
        for (int64_t r = 0; r < p.rows; r++) /* within reach */
            for (int k = 0; k < 3; k++)
                atoms[3 * r + k] += g.x[r / p.n_atoms * 15 + 3 + k];
        p.y = ck_graph_zeros(&g, p.rows * BI_ATOM_FEATURES);
        ck_check_fixed(ck, &(struct ck_fixed){
                               .entry = "atom_features",
                               .reference = bi_op_atom_features.reference,
                               .params = &p,
                               .params_size = sizeof p,
                               .absolute = 1e-4,
                               .relative = 1e-5,
                               .note = "random",
                               .arrays = {{offsetof(struct bi_atom_features_params, y),
                                           4 * (size_t)p.rows * BI_ATOM_FEATURES, CK_FIXED_F32}}});
        ck_graph_free(&g);
    }
}

const struct ck_op ck_atom_features = {.stem = "atom_features", .cases = cases};
