/* seen.h - byte strings that were met before, remembered by a 128-bit hash alone: 32 to 64
 * bytes each, whatever their length, and half as much again while the table grows.
 *
 * The hash is seeded anew for every table, so nobody can craft two strings that collide;
 * by chance two of 10^9 do with a probability below 10^-20. */
#ifndef BI_SEEN_H
#define BI_SEEN_H

#include "base.h"

struct bi_seen_slot {
    uint64_t key[2]; /* key[1] 0 = free */
    uint32_t a, b;   /* the caller's */
};

/* Zero-initialise but for env. */
struct bi_seen {
    const struct bi_env *env;
    struct bi_seen_slot *slots;
    size_t n_slots, n_used;
    size_t max; /* entries; 0 = no limit */
    uint64_t seed[2];
};

/* *slot is the entry of these bytes, valid until the next bi_seen_add(). 1 = new (a = b = 0), 0 =
 * it was there, in a full table too; LIMIT = new but the table is full, NOMEM: *slot is NULL and
 * nothing was added. */
int bi_seen_add(struct bi_seen *seen, const void *bytes, size_t n, struct bi_seen_slot **slot);
/* The entry of these bytes, valid until the next bi_seen_add(); NULL: they were never added, and
 * are not now. */
struct bi_seen_slot *bi_seen_find(struct bi_seen *seen, const void *bytes, size_t n);
/* Frees the entries; the table is empty then, keeps env and max, and may be used again. */
void bi_seen_free(struct bi_seen *seen);

#endif
