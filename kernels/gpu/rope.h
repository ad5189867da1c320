/* rope.h - GPU entries of kernels/rope.h, and their grids.
 *
 * rope_a: x, y a; rope_f32_f16: x f32, y f16. */
#ifndef BI_GPU_ROPE_ENTRIES_H
#define BI_GPU_ROPE_ENTRIES_H

#include "../rope.h"
#include "grid.h"

/* clang-format off */
#define BI_GPU_ENTRIES_rope(E) \
    E(rope_f32, rope, rope, 256, 0, tokens, f32_f32)     \
    E(rope_f16, rope, rope, 256, 0, tokens, f16)         \
    E(rope_f32_f16, rope, rope, 256, 0, tokens, f32_f16)
/* clang-format on */

#endif
