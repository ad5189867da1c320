/* edges.h - references and checks that several ops over residues and their neighbours share. */
#ifndef BI_PROTEINMPNN_OPS_EDGES_H
#define BI_PROTEINMPNN_OPS_EDGES_H

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

/* edge_sum.c: the checks (0 or INTERNAL) and the parameters of inputs 0 to 9, of k neighbours, for
 * which these checks have passed; z [width] of edge n < k of row r, false: there is none, and z is
 * untouched; gelu by erf. Inputs that a node lacks are NULL. */
int bi_expect_edges(const struct bi_graph *g, const struct bi_node *node, int32_t k,
                    struct bioinfer_error *err);
struct bi_edge_terms bi_edge_terms_of(const struct bi_graph *g, const struct bi_node *node,
                                      const struct bi_bind *b, int32_t k);
bool bi_ref_edge(const struct bi_edge_terms *e, int64_t r, int n, double *z);
double bi_ref_gelu(double x);
/* atom_features.c: y [16], the Gaussians of the distance of two points. */
void bi_ref_gaussians(const float *a, const float *b, float *y);
/* neighbor_sum.c: the mask of edge n < k of a token. With an index it is that of the token times
 * that of its neighbour, and 0 where the neighbour is -1; without, mask[token k + n]. mask NULL: 1
 * where there is a neighbour. */
double bi_ref_edge_mask(const float *mask, const int32_t *index, int64_t token, int32_t k, int n);

#endif
