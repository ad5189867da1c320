/* seen.c - byte strings that were met before; open addressing over 128-bit hashes. */
#define _GNU_SOURCE
#include "seen.h"

#include <sys/random.h>

#include "map.h"

static void make_seed(struct bi_seen *seen)
{
    if (seen->seed[0] | seen->seed[1])
        return;
    if (getrandom(seen->seed, sizeof seen->seed, GRND_NONBLOCK) != (ssize_t)sizeof seen->seed)
        seen->seed[0] = (uint64_t)(uintptr_t)seen * 0x9E3779B97F4A7C15u;
    seen->seed[1] |= 1; /* never both 0 */
}

static struct bi_seen_slot *slot_of(const struct bi_seen *seen, const uint64_t key[2])
{
    size_t i = (size_t)key[0] & (seen->n_slots - 1);
    for (;; i = (i + 1) & (seen->n_slots - 1)) {
        struct bi_seen_slot *s = &seen->slots[i];
        if (!s->key[1] || (s->key[0] == key[0] && s->key[1] == key[1]))
            return s;
    }
}

static void key_of(const struct bi_seen *seen, const void *bytes, size_t n, uint64_t key[2])
{
    key[0] = bi_hash(bytes, n, seen->seed[0]);
    key[1] = bi_hash(bytes, n, seen->seed[1]) | 1;
}

static bool resize(struct bi_seen *seen)
{
    struct bi_seen grown = *seen;
    grown.n_slots = seen->n_slots ? seen->n_slots * 2 : 64;
    if (!(grown.slots = bi_calloc(seen->env, grown.n_slots, sizeof *grown.slots)))
        return false;
    for (size_t i = 0; i < seen->n_slots; i++)
        if (seen->slots[i].key[1])
            *slot_of(&grown, seen->slots[i].key) = seen->slots[i];
    bi_free(seen->env, seen->slots);
    *seen = grown;
    return true;
}

int bi_seen_add(struct bi_seen *seen, const void *bytes, size_t n, struct bi_seen_slot **slot)
{
    uint64_t key[2];
    *slot = NULL;
    make_seed(seen);
    key_of(seen, bytes, n, key);
    if (!seen->n_slots && !resize(seen))
        return BIOINFER_NOMEM;
    *slot = slot_of(seen, key);
    if ((*slot)->key[1])
        return 0;
    if (seen->max && seen->n_used >= seen->max) {
        *slot = NULL;
        return BIOINFER_LIMIT;
    }
    if (seen->n_used + 1 > seen->n_slots / 4 * 3) {
        *slot = NULL;
        if (!resize(seen))
            return BIOINFER_NOMEM;
        *slot = slot_of(seen, key);
    }
    (*slot)->key[0] = key[0];
    (*slot)->key[1] = key[1];
    seen->n_used++;
    return 1;
}

struct bi_seen_slot *bi_seen_find(struct bi_seen *seen, const void *bytes, size_t n)
{
    struct bi_seen_slot *s;
    uint64_t key[2];
    if (!seen->n_used)
        return NULL;
    key_of(seen, bytes, n, key);
    s = slot_of(seen, key);
    return s->key[1] ? s : NULL;
}

void bi_seen_free(struct bi_seen *seen)
{
    bi_free(seen->env, seen->slots);
    *seen = (struct bi_seen){.env = seen->env, .max = seen->max};
}
