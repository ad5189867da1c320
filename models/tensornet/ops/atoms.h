/* atoms.h - what ops that find the edges of atoms share. */
#ifndef BI_TENSORNET_ATOMS_H
#define BI_TENSORNET_ATOMS_H

#include "../../../kernels/atom_edges.h"
#include "../../../ops/shared.h"

/* Sets an output to int32 [n, width], width 0: [n]. */
static inline void bi_out_ints(struct bi_graph *g, const struct bi_node *node, int slot,
                               enum bi_axis axis, int64_t n, int64_t width)
{
    bi_out_shape(g, node, slot, axis, width ? 2 : 1, (int64_t[]){n, width});
    bi_out(g, node, slot)->dtype = BI_I32;
}

/* The counts of a launch that sets one of them. */
static inline struct bi_counts *bi_atom_counts(const struct bi_bind *b)
{
    return (struct bi_counts *)(uintptr_t)b->counts;
}

/* atom_edges.c: checks that inputs 0 to 4, of which 0 and 1 are there, are positions (float64 [n,
 * 3]), frames, and what atom_cells makes. This and the next give 0, or INTERNAL and which input
 * does not fit. */
int bi_expect_atoms(const struct bi_graph *g, const struct bi_node *node,
                    struct bioinfer_error *err);
/* Checks that input i is int32 [n, width], width 0: [n]; a missing one does not fit. */
int bi_expect_ints(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n,
                   int64_t width, struct bioinfer_error *err);

#endif
