/* hash.h - a hash of facts that have names: what decides the results of a model.
 *
 * A fact that is 0, or a text that is NULL, is left out, so one that a later version adds changes
 * no hash that was made without it. Facts count in order. */
#ifndef BI_HASH_H
#define BI_HASH_H

#include "base.h"

/* Two hashes over the same bytes; the seeds are the values that it begins with. */
struct bi_hash {
    uint64_t h[2];
};

/* Adds bytes as they lie in memory; n = 0 changes nothing. */
void bi_hash_bytes(struct bi_hash *to, const void *bytes, size_t n);
/* Adds a number under a name. */
void bi_hash_int(struct bi_hash *to, const char *name, int64_t value);
/* The same of a real number, to the last bit; -0.0 is 0. */
void bi_hash_real(struct bi_hash *to, const char *name, double value);
/* Adds the n numbers, without zeros, each with its place. */
void bi_hash_reals(struct bi_hash *to, const char *name, const double *values, size_t n);
/* Adds a text, also an empty one. */
void bi_hash_text(struct bi_hash *to, const char *name, const char *text);

#endif
