/* tensor_edges.h - GPU entries of kernels/tensor_edges.h, and their grids.
 *
 * All arrays are f32; forces are added up in double. */
#ifndef BI_GPU_TENSOR_EDGES_ENTRIES_H
#define BI_GPU_TENSOR_EDGES_ENTRIES_H

#include "../tensor_edges.h"
#include "grid.h"

/* An atom to a block, and in sums of forces to 32 threads. */
BI_GPU_NUMBERS_GRID(tensor_embed, p->edges.rows * 256)
BI_GPU_NUMBERS_GRID(tensor_message, p->edges.rows * 256)
BI_GPU_NUMBERS_GRID(edge_forces, p->edges.rows * 32)

/* clang-format off */
#define BI_GPU_ENTRIES_tensor_edges(E) \
    E(tensor_embed_f32, tensor_edges, tensor_embed, 256, 24576, tensor_embed, f32) \
    E(tensor_embed_grad_f32, tensor_edges, tensor_embed_grad, 256, 14336, tensor_embed, f32) \
    E(tensor_message_f32, tensor_edges, tensor_message, 256, 24576, tensor_message, f32) \
    E(tensor_message_grad_f32, tensor_edges, tensor_message_grad, 256, 26624, tensor_message, f32) \
    E(edge_forces_f32, tensor_edges, edge_forces, 256, 24576, edge_forces, f32)
/* clang-format on */

#endif
