/* rel_attention.h - GPU entries of kernels/rel_attention.h, and their grids.
 *
 * rel_attention_a: q, k, v, r, y a; u, w f32; key widths up to 64 (f16), values up to 192. */
#ifndef BI_GPU_REL_ATTENTION_ENTRIES_H
#define BI_GPU_REL_ATTENTION_ENTRIES_H

#include "../rel_attention.h"
#include "grid.h"

#define BI_GPU_REL_GRID(name, rows_of_block)                                                       \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        const struct bi_rel_attention_params *p = (const struct bi_rel_attention_params *)params;  \
        (void)bucket;                                                                              \
        grid[0] = bi_gpu_blocks(p->n_queries, rows_of_block);                                      \
        grid[1] = p->n_heads * p->n_windows;                                                       \
    }
BI_GPU_REL_GRID(rel_attention_f16, 64)
BI_GPU_REL_GRID(rel_attention_f32, 32)

BI_GPU_TAKES_OF(rel_f16, rel_attention,
                (call->half_in & 1) && p->key_dim <= 64 && p->value_dim <= 192)
BI_GPU_TAKES_OF(rel_f32, rel_attention, !(call->half_in & 1) && p->value_dim <= 192)

/* clang-format off */
#define BI_GPU_ENTRIES_rel_attention(E) \
    E(rel_attention_f16, rel_attention, rel_attention, 128, 62208, rel_attention_f16, rel_f16) \
    E(rel_attention_f32, rel_attention, rel_attention, 256, 45564, rel_attention_f32, rel_f32)
/* clang-format on */

#endif
