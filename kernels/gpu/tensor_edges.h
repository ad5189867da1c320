/* tensor_edges.h - GPU entries of kernels/tensor_edges.h, and their grids.
 *
 * All arrays are f32; forces are added up in double. */
#ifndef BI_GPU_TENSOR_EDGES_ENTRIES_H
#define BI_GPU_TENSOR_EDGES_ENTRIES_H

#include "../tensor_edges.h"
#include "grid.h"

BI_GPU_NUMBERS_GRID(tensor_embed, p->edges.rows * 32)
BI_GPU_NUMBERS_GRID(tensor_message, p->edges.rows * 32)
BI_GPU_NUMBERS_GRID(edge_forces, p->edges.rows)

/* clang-format off */
#define BI_GPU_ENTRIES_tensor_edges(E) \
    E(tensor_embed_f32, tensor_edges, tensor_embed, 256, 0, tensor_embed, f32) \
    E(tensor_embed_grad_f32, tensor_edges, tensor_embed_grad, 256, 0, tensor_embed, f32) \
    E(tensor_message_f32, tensor_edges, tensor_message, 256, 0, tensor_message, f32) \
    E(tensor_message_grad_f32, tensor_edges, tensor_message_grad, 256, 0, tensor_message, f32) \
    E(edge_forces_f32, tensor_edges, edge_forces, 256, 0, edge_forces, f32)
/* clang-format on */

#endif
