/* hash.c - a hash of facts that have names. */
#include "hash.h"

#include <string.h>

#include "map.h"

void bi_hash_bytes(struct bi_hash *to, const void *bytes, size_t n)
{
    for (int k = 0; n && k < 2; k++)
        to->h[k] = bi_hash(bytes, n, to->h[k]);
}

static void add_name(struct bi_hash *to, const char *name)
{
    bi_hash_bytes(to, name, strlen(name) + 1);
}

void bi_hash_int(struct bi_hash *to, const char *name, int64_t value)
{
    if (!value)
        return;
    add_name(to, name);
    bi_hash_bytes(to, &value, sizeof value);
}

void bi_hash_real(struct bi_hash *to, const char *name, double value)
{
    if (value == 0)
        return;
    add_name(to, name);
    bi_hash_bytes(to, &value, sizeof value);
}

void bi_hash_reals(struct bi_hash *to, const char *name, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = i;
        if (values[i] == 0)
            continue;
        bi_hash_bytes(to, &at, sizeof at);
        bi_hash_real(to, name, values[i]);
    }
}

void bi_hash_text(struct bi_hash *to, const char *name, const char *text)
{
    if (!text)
        return;
    add_name(to, name);
    bi_hash_bytes(to, text, strlen(text) + 1);
}
