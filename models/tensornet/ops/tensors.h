/* tensors.h - references and launches that ops on matrices of atoms, and on their edges, share. */
#ifndef BI_TENSORNET_OPS_H
#define BI_TENSORNET_OPS_H

#include "../../../kernels/tensor_edges.h"
#include "../../../ops/shared.h"

/* tensor_map.c: infer, launch and reference (struct bi_op) of all ops on the matrices of atoms. */
int bi_infer_tensor_map(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
void bi_launch_tensor_map(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *bind, struct bi_launch *launch);
void bi_ref_tensor_map(const void *params);
/* tensor_map.c: sets the shape of output `slot` with m numbers for an atom. Three numbers of an
 * atom are rows of a matrix's operand, and columns where `wide`. */
void bi_tensor_shape_out(struct bi_graph *g, const struct bi_node *node, int slot, int m,
                         bool wide);
/* tensor_edges.c: checks the edges, inputs 0 to 3, and the table [knots, 12 width] at input
 * `table`, which goes with a cutoff above 0; without a table, -1, the edges are inputs 1 to 4. They
 * are, in this order, vectors [E, 3] and int32 start, columns [E] and reverse edges [E]. INTERNAL:
 * something does not fit. */
int bi_expect_edge_list(const struct bi_graph *g, const struct bi_node *node, int table,
                        int64_t width, float cutoff, struct bioinfer_error *err);
/* Checks that input i is float32 and of the shape of input `like`; 0 or INTERNAL. */
int bi_expect_same(const struct bi_graph *g, const struct bi_node *node, int i, int like,
                   struct bioinfer_error *err);
/* The parameters of edges, the first of whose inputs is `first`; table -1: they have no table,
 * which is NULL with 0 knots then. */
struct bi_edge_list bi_edge_list_of(const struct bi_graph *g, const struct bi_node *node,
                                    const struct bi_bind *b, int first, int table, int64_t width,
                                    float cutoff);
/* The length of edge e; u: its unit vector, in double, NaN where the length is 0. */
double bi_ref_edge_length(const struct bi_edge_list *l, int64_t e, double u[3]);
/* Factor k, 0 to 2, of channel f at distance r by the table, and *slope, its derivative by r.
 * Beyond the cutoff the last piece goes on. */
double bi_ref_edge_factor(const struct bi_edge_list *l, double r, int k, int64_t f, double *slope);

#endif
