/* map.c - hash map from byte strings to 64-bit numbers; open addressing. */
#include "map.h"

#include <string.h>

__extension__ typedef unsigned __int128 u128;

static uint64_t mix(uint64_t a, uint64_t b)
{
    u128 r = (u128)a * b;
    return (uint64_t)r ^ (uint64_t)(r >> 64);
}

uint64_t bi_hash(const void *bytes, size_t n, uint64_t seed)
{
    const uint8_t *p = bytes;
    uint64_t h = seed ^ 0x9E3779B97F4A7C15u ^ n;
    for (; n >= 8; n -= 8, p += 8)
        h = mix(h ^ bi_le64(p), 0xA0761D6478BD642Fu);
    uint64_t tail = 0;
    for (size_t i = 0; i < n; i++)
        tail |= (uint64_t)p[i] << 8 * i;
    h = mix(h ^ tail, 0xE7037ED1A0B428DBu);
    return mix(h, 0x8EBC6AF09C88C6E3u);
}

static struct bi_map_slot *slot_of(const struct bi_map *map, const char *key, size_t len,
                                   uint64_t hash)
{
    size_t i = (size_t)hash & (map->n_slots - 1);
    for (;; i = (i + 1) & (map->n_slots - 1)) {
        struct bi_map_slot *s = &map->slots[i];
        if (!s->key || (s->hash == hash && s->key_len == len && !memcmp(s->key, key, len)))
            return s;
    }
}

static bool resize(struct bi_map *map)
{
    struct bi_map grown = *map;
    grown.n_slots = map->n_slots ? map->n_slots * 2 : 64;
    grown.slots = bi_calloc(map->env, grown.n_slots, sizeof *grown.slots);
    if (!grown.slots)
        return false;
    for (size_t i = 0; i < map->n_slots; i++)
        if (map->slots[i].key)
            *slot_of(&grown, map->slots[i].key, map->slots[i].key_len,
                     map->slots[i].hash) = map->slots[i];
    bi_free(map->env, map->slots);
    *map = grown;
    return true;
}

int bi_map_add(struct bi_map *map, const char *key, size_t key_len, uint64_t value,
               uint64_t *value_found)
{
    struct bi_map_slot *s;
    uint64_t hash;
    if (!map->seed) /* differs between processes; order of slots never shows in results */
        map->seed = (uint64_t)(uintptr_t)map * 0x9E3779B97F4A7C15u | 1;
    hash = bi_hash(key, key_len, map->seed);
    if (map->n_used * 2 >= map->n_slots && !resize(map))
        return BIOINFER_NOMEM;
    s = slot_of(map, key, key_len, hash);
    if (s->key) {
        if (value_found)
            *value_found = s->value;
        return 0;
    }
    *s = (struct bi_map_slot){key, key_len, hash, value};
    map->n_used++;
    return 1;
}

bool bi_map_find(const struct bi_map *map, const char *key, size_t key_len, uint64_t *value)
{
    const struct bi_map_slot *s;
    if (!map->n_slots)
        return false;
    s = slot_of(map, key, key_len, bi_hash(key, key_len, map->seed));
    if (s->key && value)
        *value = s->value;
    return s->key != NULL;
}

void bi_map_free(struct bi_map *map)
{
    bi_free(map->env, map->slots);
    *map = (struct bi_map){.env = map->env};
}
