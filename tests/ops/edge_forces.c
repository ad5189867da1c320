/* edge_forces.c - cases of this kernel. */
#include "tensors.h"

static void cases(struct ck *ck)
{
    typedef struct bi_edge_forces_params T;
    for (int i = 0; i < 8; i++) {
        struct ck_atoms a = ck_atoms_new(ck, i ? 0 : 1, 1);
        T p = {.edges = a.edges,
               .d = ck_graph_floats(&a.memory, 3 * (int64_t)a.n_edges + 3, 1),
               .y = ck_graph_zeros(&a.memory, 12 * (int64_t)a.n)};
        p.edges.counts = &a.counts;
        p.edges.table = NULL;
        ck_check_fixed(
            ck, &(struct ck_fixed){.entry = "edge_forces",
                                   .reference = bi_op_edge_forces.reference,
                                   .params = &p,
                                   .params_size = sizeof p,
                                   .absolute = 1e-6,
                                   .relative = 1e-6,
                                   .note = "random",
                                   .arrays = {{offsetof(T, y), 48 * (size_t)a.n, CK_FIXED_F32}}});
        ck_atoms_free(&a);
    }
}

const struct ck_op ck_edge_forces = {.stem = "edge_forces", .cases = cases};
