/* pair_embedding.h - GPU entries of kernels/pair_embedding.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_PAIR_EMBEDDING_ENTRIES_H
#define BI_GPU_PAIR_EMBEDDING_ENTRIES_H

#include "../pair_embedding.h"
#include "grid.h"

BI_GPU_ROWS_GRID(pair_embedding)

/* clang-format off */
#define BI_GPU_ENTRIES_pair_embedding(E) \
    E(pair_embedding_f32, pair_embedding, pair_embedding, 256, 0, pair_embedding, f32)
/* clang-format on */

#endif
