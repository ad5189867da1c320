/* tensors.h - cases of ops on the matrices and on the edges of atoms, and their derivatives. */
#ifndef BI_CK_TENSORS_H
#define BI_CK_TENSORS_H

#include "graphs.h"
#include "kernels/tensor_edges.h"
#include "kernels/tensor_map.h"

/* Random cases of a function of tensor_map.h, whose reference is that of `op`. */
void ck_matrices(struct ck *ck, const struct bi_op *op, enum bi_tensor_function function);

/* Random cases of two functions in one launch, each with inputs of its own: 'tensornet emulated'
 * has those of which the second reads what the first gives. */
void ck_pairs(struct ck *ck, enum bi_tensor_function first, enum bi_tensor_function second);

/* Atoms in random places, those within 4 of each other being neighbours, and a random table. */
struct ck_atoms {
    struct ck_graph memory;
    struct bi_counts counts;
    struct bi_edge_list edges;
    int32_t n, n_edges;
};
/* n: 0 = a random number of them. */
struct ck_atoms ck_atoms_new(struct ck *ck, int32_t n, int32_t width);
void ck_atoms_free(struct ck_atoms *a);
/* Random numbers of `m` for each atom and channel, or 0. */
float *ck_atoms_numbers(struct ck_atoms *a, int m, bool zeros);

/* Random cases of the kernels of tensor_edges.h. gradient: that of the one it is called for. */
void ck_atoms_embed(struct ck *ck, const struct bi_op *op, bool gradient);
void ck_atoms_message(struct ck *ck, const struct bi_op *op, bool gradient);

#endif
