/* contacts.h - GPU entries of kernels/contacts.h, and their grids.
 *
 * contacts_f32: all f32. attention_contacts_a: q, k a; rest f32; plain: no table, head widths up to
 * 128. Each is the first of several parts; the others, "then_...", follow it. */
#ifndef BI_GPU_CONTACTS_ENTRIES_H
#define BI_GPU_CONTACTS_ENTRIES_H

#include "../contacts.h"
#include "grid.h"

BI_GPU_TILES_GRID(contacts_rows, contacts, 32)

/* Tiles of rows; tiles of columns of y. */
#define BI_GPU_CONTACT_TILES_GRID(name, op, size)                                                  \
    static inline void bi_gpu_grid_##name(const void *params, const struct bi_counts *bucket,      \
                                          int32_t grid[2])                                         \
    {                                                                                              \
        grid[0] = bi_gpu_blocks(bucket->n_tokens, size) + bucket->n_seqs;                          \
        grid[1] = bi_gpu_blocks(((const struct bi_##op##_params *)params)->ldy, size);             \
    }
BI_GPU_CONTACT_TILES_GRID(contacts_tiles, contacts, 32)
BI_GPU_TILES_GRID(map_rows32, attention_contacts, 32)
BI_GPU_CONTACT_TILES_GRID(map_tiles32, attention_contacts, 32)
BI_GPU_TILES_GRID(map_rows64, attention_contacts, 64)
BI_GPU_CONTACT_TILES_GRID(map_tiles64, attention_contacts, 64)

BI_GPU_TAKES_OF(plain, attention_contacts, (call->half_in & 1) && !p->table && p->head_dim <= 128)

/* clang-format off */
#define BI_GPU_ENTRIES_contacts(E) \
    E(contacts_f32, contacts, contacts, 256, 64, contacts_rows, f32)                             \
    E(then_contacts_tiles_f32, contacts, contacts, 256, 1344, contacts_tiles, none)              \
    E(attention_contacts_f32, contacts, attention_contacts, 256, 21120, map_rows32, f32)         \
    E(then_contact_sums_f32, contacts, attention_contacts, 256, 21120, map_rows32, none)         \
    E(then_contact_tiles_f32, contacts, attention_contacts, 256, 22400, map_tiles32, none)       \
    E(attention_contacts_plain_f16, contacts, attention_contacts, 128, 35328, map_rows64, plain) \
    E(then_contact_sums_plain_f16, contacts, attention_contacts, 128, 35328, map_rows64, none)   \
    E(then_contact_tiles_plain_f16, contacts, attention_contacts, 128, 36352, map_tiles64, none) \
    E(attention_contacts_f16, contacts, attention_contacts, 256, 21120, map_rows32, f16)         \
    E(then_contact_sums_f16, contacts, attention_contacts, 256, 21120, map_rows32, none)         \
    E(then_contact_tiles_f16, contacts, attention_contacts, 256, 22400, map_tiles32, none)
/* clang-format on */

#endif
