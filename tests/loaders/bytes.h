/* bytes.h - random numbers, files and gzip members for tests of loaders. */
#ifndef LOADERS_BYTES_H
#define LOADERS_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <zlib.h>

#include "../test.h"

static inline unsigned random_below(unsigned n)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)(state >> 33) % n;
}

static inline void write_file(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    if (CHECK(f != NULL)) {
        CHECK(fwrite(bytes, 1, n, f) == n);
        fclose(f);
    }
}

/* Writes one gzip member of n bytes to out [room] and gives its size; bgzf adds the field that has
 * the size. */
static inline size_t gzip_member(unsigned char *out, size_t room, const void *from, size_t n,
                                 int level, bool bgzf)
{
    unsigned char field[6] = {'B', 'C', 2, 0, 0, 0};
    gz_header header = {.extra = field, .extra_len = 6, .os = 255};
    z_stream z = {0};
    CHECK(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    if (bgzf)
        deflateSetHeader(&z, &header);
    z.next_in = (unsigned char *)(uintptr_t)from;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    if (bgzf) {
        out[16] = (unsigned char)((z.total_out - 1) & 255);
        out[17] = (unsigned char)((z.total_out - 1) >> 8);
    }
    deflateEnd(&z);
    return z.total_out;
}

#endif
