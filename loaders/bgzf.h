/* bgzf.h - blocks of BGZF, several inflated at once.
 *
 * A BGZF file is gzip whose members say how long they are, and hold 64 KiB of data at most. Here
 * whole members are inflated and their checksums compared; the first one that is not sound ends a
 * batch, and gunzip.c reads it as it reads any gzip member, so bytes and errors are those of one
 * thread. */
#ifndef BI_BGZF_H
#define BI_BGZF_H

#include "../base/base.h"

struct bi_bgzf;

/* Finds the extra field of BGZF in the header of a gzip member at p[0, n); false: there is none.
 * *size: of the whole member, which may be more than n; 0 where the header says none that can be,
 * where p ends before it says so, and with false. */
bool bi_bgzf_header(const uint8_t *p, size_t n, size_t *size);

/* Makes an empty batch; NULL = no memory. n_threads is at least 1. file_size: bytes of the file;
 * small ones need little room. At most 32 threads are used. A batch has 8 members a thread, and no
 * more than file_size / 28 + 1. */
struct bi_bgzf *bi_bgzf_new(const struct bi_env *env, int n_threads, uint64_t file_size);
void bi_bgzf_free(struct bi_bgzf **bgzf); /* NULL-safe */
/* Gives the bytes of the file that a batch can hold: 64 KiB for each of its members. */
size_t bi_bgzf_room(const struct bi_bgzf *bgzf);

/* Inflates members from in[0, n) on, as many as there are whole, sound and in room, in place of the
 * batch before, whose bytes are gone; the first one is at hand. False: none, and the batch is
 * empty, whether bytes are missing, damaged or no BGZF. `in` is not used any more after it. */
bool bi_bgzf_inflate(struct bi_bgzf *bgzf, const uint8_t *in, size_t n);

/* The member whose bytes are handed out now: out_size may be 0, and out stays until the next
 * bi_bgzf_inflate(). */
struct bi_bgzf_member {
    const uint8_t *out;
    size_t out_size;
    size_t size; /* bytes of the file */
};
/* Points at the member at hand; NULL: the batch is used up. */
const struct bi_bgzf_member *bi_bgzf_at(const struct bi_bgzf *bgzf);
/* Goes to the next one; false: there is none, and the batch is used up. */
bool bi_bgzf_next(struct bi_bgzf *bgzf);
/* Drops those that are left. */
void bi_bgzf_drop(struct bi_bgzf *bgzf);

#endif
