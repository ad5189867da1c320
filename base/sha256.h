/* sha256.h - SHA-256 of bytes, as FIPS 180-4 has it: what sha256sum prints of a file. */
#ifndef BI_SHA256_H
#define BI_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { BI_SHA256_TEXT = 65 }; /* 64 hex digits and a NUL */

/* A sum that is being made. */
struct bi_sha256 {
    uint32_t h[8];
    uint64_t n;        /* bytes so far */
    uint8_t block[64]; /* the last n % 64 of them */
    void (*add)(uint32_t h[8], const uint8_t *blocks, size_t n);
};

/* Begins a sum: by the processor's instructions where it has them and `plain` is 0, else in C. */
void bi_sha256_begin(struct bi_sha256 *s, int plain);
void bi_sha256_add(struct bi_sha256 *s, const void *bytes, size_t n);
/* Gives the sum of all that was added, in hex digits. The sum can only be begun again then. */
void bi_sha256_end(struct bi_sha256 *s, char text[BI_SHA256_TEXT]);

#endif
