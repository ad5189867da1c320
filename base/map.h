/* map.h - hash map from byte strings to 64-bit numbers. Keys are not copied. */
#ifndef BI_MAP_H
#define BI_MAP_H

#include "base.h"

struct bi_map_slot {
    const char *key; /* NULL = free */
    size_t key_len;
    uint64_t hash, value;
};

/* Zero-initialise but for env. */
struct bi_map {
    const struct bi_env *env;
    struct bi_map_slot *slots;
    size_t n_slots, n_used;
    uint64_t seed;
};

/* A 64-bit hash of bytes; not cryptographic, seeded against crafted collisions. */
uint64_t bi_hash(const void *bytes, size_t n, uint64_t seed);

/* 1 = added, 0 = the key was there and keeps its value (which *value_found, when not NULL, gets),
 * BIOINFER_NOMEM, also for a key that is there: the map is as before. But for 0 *value_found is
 * untouched. key: not NULL, even where key_len is 0; its bytes live as long as the map. */
int bi_map_add(struct bi_map *map, const char *key, size_t key_len, uint64_t value,
               uint64_t *value_found);
/* False: the key is not there, and *value is untouched. value may be NULL. */
bool bi_map_find(const struct bi_map *map, const char *key, size_t key_len, uint64_t *value);
/* Frees the slots, not the keys; the map is empty then and may be used again. */
void bi_map_free(struct bi_map *map);

#endif
