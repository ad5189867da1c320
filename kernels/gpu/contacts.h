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
BI_GPU_TILES_GRID(contact_rows32, attention_contacts, 32)
BI_GPU_CONTACT_TILES_GRID(contact_tiles32, attention_contacts, 32)
BI_GPU_TILES_GRID(contact_rows64, attention_contacts, 64)
BI_GPU_CONTACT_TILES_GRID(contact_tiles64, attention_contacts, 64)

/* clang-format off */
#define BI_GPU_ENTRIES_contacts(E) \
    E(contacts_f32, contacts, contacts, 256, 64, contacts_rows)                                \
    E(then_contacts_tiles_f32, contacts, contacts, 256, 1344, contacts_tiles)                  \
    E(attention_contacts_f32, contacts, attention_contacts, 256, 21120, contact_rows32)        \
    E(then_contact_sums_f32, contacts, attention_contacts, 256, 21120, contact_rows32)         \
    E(then_contact_tiles_f32, contacts, attention_contacts, 256, 22400, contact_tiles32)       \
    E(attention_contacts_f16, contacts, attention_contacts, 256, 21120, contact_rows32)        \
    E(then_contact_sums_f16, contacts, attention_contacts, 256, 21120, contact_rows32)         \
    E(then_contact_tiles_f16, contacts, attention_contacts, 256, 22400, contact_tiles32)       \
    E(attention_contacts_plain_f16, contacts, attention_contacts, 128, 35328, contact_rows64)  \
    E(then_contact_sums_plain_f16, contacts, attention_contacts, 128, 35328, contact_rows64)   \
    E(then_contact_tiles_plain_f16, contacts, attention_contacts, 128, 36352, contact_tiles64)
/* clang-format on */

#endif
