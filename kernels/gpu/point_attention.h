/* point_attention.h - GPU entries of kernels/point_attention.h, and their grids.
 *
 * All arrays are f32. */
#ifndef BI_GPU_POINT_ATTENTION_ENTRIES_H
#define BI_GPU_POINT_ATTENTION_ENTRIES_H

#include "../point_attention.h"
#include "grid.h"

BI_GPU_TILES_GRID(point_attention, point_attention, 32)

BI_GPU_TAKES_OF(point_bins, point_attention, !(call->half_in & 1) && !p->bias && !p->pair)
BI_GPU_TAKES_OF(point_pairs, point_attention,
                !(call->half_in & 1) && (p->bias || p->pair) && !p->n_bins)

/* clang-format off */
#define BI_GPU_ENTRIES_point_attention(E) \
    E(point_attention_f32, point_attention, point_attention, 256, 44032, point_attention, \
      point_bins) \
    E(point_attention_pairs_f32, point_attention, point_attention, 256, 44032, point_attention, \
      point_pairs)
/* clang-format on */

#endif
