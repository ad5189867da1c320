/* edges.h - GPU entries of kernels/edges.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_EDGES_ENTRIES_H
#define BI_GPU_EDGES_ENTRIES_H

#include "../edges.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(virtual_cb, p->rows)
BI_GPU_NUMBERS_GRID(knn, p->rows * 256)
BI_GPU_NUMBERS_GRID(rbf, p->rows * p->k * p->n_pairs)
BI_GPU_NUMBERS_GRID(relative, p->rows * p->k * p->width)
BI_GPU_NUMBERS_GRID(orientation, p->rows * p->k)
BI_GPU_NUMBERS_GRID(edge_concat, p->rows * p->k * (2 * p->width + p->edge_width))
BI_GPU_NUMBERS_GRID(edge_sum, p->rows * p->terms.k * p->terms.width)
BI_GPU_NUMBERS_GRID(neighbor_sum, p->rows * p->width)
BI_GPU_NUMBERS_GRID(row_bias, p->rows * p->width)
BI_GPU_NUMBERS_GRID(edge_message, p->rows * 256)
BI_GPU_NUMBERS_GRID(atom_features, p->rows)
BI_GPU_NUMBERS_GRID(atom_pairs, p->rows)

/* clang-format off */
#define BI_GPU_ENTRIES_edges(E) \
    E(virtual_cb_f32, edges, virtual_cb, 256, 0, virtual_cb, f32)           \
    E(knn_f32, edges, knn, 64, 1024, knn, f32)                              \
    E(rbf_f32, edges, rbf, 256, 0, rbf, f32)                                \
    E(relative_f32, edges, relative, 256, 0, relative, f32)                 \
    E(orientation_f32, edges, orientation, 256, 0, orientation, f32)        \
    E(edge_concat_f32, edges, edge_concat, 256, 0, edge_concat, f32)        \
    E(edge_sum_f32, edges, edge_sum, 256, 0, edge_sum, f32)                 \
    E(neighbor_sum_f32, edges, neighbor_sum, 256, 0, neighbor_sum, f32)     \
    E(row_bias_f32, edges, row_bias, 256, 0, row_bias, f32)                 \
    E(edge_message_f32, edges, edge_message, 256, 43264, edge_message, f32) \
    E(atom_features_f32, edges, atom_features, 256, 0, atom_features, f32)  \
    E(atom_pairs_f32, edges, atom_pairs, 256, 0, atom_pairs, f32)
/* clang-format on */

#endif
