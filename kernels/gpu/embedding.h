/* embedding.h - GPU entries of kernels/embedding.h, and their grids.
 *
 * embedding_a: table a; y f32. */
#ifndef BI_GPU_EMBEDDING_ENTRIES_H
#define BI_GPU_EMBEDDING_ENTRIES_H

#include "../embedding.h"
#include "grid.h"

BI_GPU_ROWS_GRID(embedding)

/* clang-format off */
#define BI_GPU_ENTRIES_embedding(E) \
    E(embedding_f32, embedding, embedding, 256, 0, embedding, f32) \
    E(embedding_f16, embedding, embedding, 256, 0, embedding, f16)
/* clang-format on */

#endif
