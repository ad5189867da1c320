/* checksum.h - a checksum of a matrix of floats that may be taken some rows at a time, in any
 * order.
 *
 * Element i of a row-major list, rows padded to an even width, is the 32 bits w(i); padding is 0.
 * With v(i) = w(i) + key[i % BLOCK] modulo 2^32, block b of the list has
 *     products = sum of v(2 j) v(2 j + 1)      pairs = sum of v(2 j) + 2^32 v(2 j + 1)
 * and adds products * factor(b) to one sum and pairs * factor'(b) to the other, modulo 2^64. Sums
 * of rows add up to the sums of the matrix. Factors are odd, so a change of one element always
 * changes the second sum. Two different matrices have equal sums by chance only (about 2^-32 for
 * the worst pair of changes, less for more); a checksum is no guard against a file made to
 * collide. */
#ifndef BI_CHECKSUM_H
#define BI_CHECKSUM_H

#include <stdint.h>

enum { BI_CHECKSUM_BLOCK = 1024 };

struct bi_checksum_keys {
    uint32_t key[BI_CHECKSUM_BLOCK];
};

/* A random number by its place in a list (splitmix64). */
static inline uint64_t bi_checksum_random(uint64_t place)
{
    uint64_t x = (place + 1) * 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

/* The two odd factors of a block. */
static inline void bi_checksum_factors(uint64_t block, uint64_t factor[2])
{
    for (int k = 0; k < 2; k++)
        factor[k] = bi_checksum_random((uint64_t)(k + 1) << 56 | block) | 1;
}

/* Fills the keys of a block, which are the same in every process. */
static inline void bi_checksum_init(struct bi_checksum_keys *keys)
{
    for (uint64_t i = 0; i < BI_CHECKSUM_BLOCK; i++)
        keys->key[i] = (uint32_t)(bi_checksum_random(i) >> 32);
}

#endif
