/* gunzip.h - a byte stream that is plain, gzip or BGZF, told apart by its first bytes.
 *
 * gzip: any number of members, zero padding between and behind them; zlib checks CRC and length of
 * each. A stream cut in a member and bytes behind the last one are errors, given after the bytes
 * that came before them. So is BGZF without its end marker, but for readers of records, whose
 * records before the cut are good: there it is a log entry of level ERROR. Threads of the
 * environment's team inflate BGZF of a file or memory (bgzf.h). */
#ifndef BI_GUNZIP_H
#define BI_GUNZIP_H

#include "../base/file.h"

/* Output bytes per input byte beyond which a stream is taken for a bomb, looked at
 * after the first MiB of output. Deflate itself ends near 1,032:1. */
enum { BI_GUNZIP_RATIO = 2000 };

struct bi_gunzip {
    const struct bi_env *env;
    struct bi_stream stream;
    struct bi_gunzip_state *state; /* zlib's, NULL for plain bytes */
    uint8_t *in;                   /* bytes as stored: in[pos, end) are not yet used */
    size_t pos, end, in_size;
    int n_threads;        /* inflate BGZF, set before the first read; 0 and 1: the caller's alone */
    struct bi_bgzf *bgzf; /* NULL: it is */
    uint64_t total_out;
    uint64_t ratio_limit; /* 0 = none */
    size_t chunk;         /* most bytes of one read; tests make it small */
    bool records;         /* BGZF without its end marker is logged; set before the first read */
    bool started, at_end;
    struct bioinfer_error failed; /* status != 0: what every further read returns */
    struct bioinfer_error late;   /* met while reading ahead: for when in[] is used up */
};

/* Takes the stream over: it is closed with the gunzip, also when this fails; *stream is
 * BI_STREAM_NONE then. Nothing is read yet. NOMEM is the only failure. */
int bi_gunzip_open(struct bi_gunzip *g, struct bi_stream *stream, struct bioinfer_error *err);
/* Up to n > 0 bytes, perhaps fewer than are left; *got = 0 at the end. An error behind *got bytes
 * is that of the next call, and of all later ones. FORMAT: damaged or cut gzip, or bytes behind it;
 * LIMIT: the ratio is beyond ratio_limit; else the statuses of bi_stream_read(). */
int bi_gunzip_read(struct bi_gunzip *g, void *dst, size_t n, size_t *got,
                   struct bioinfer_error *err);
/* Reads on at this byte of a stream of plain bytes with a known size; the caller knows that it is
 * one, and has read from it. A failure is that of every later read, too, and one of an earlier read
 * stays that of later ones. */
int bi_gunzip_seek(struct bi_gunzip *g, uint64_t offset, struct bioinfer_error *err);
bool bi_gunzip_is_compressed(const struct bi_gunzip *g); /* false before the first read */
void bi_gunzip_close(struct bi_gunzip *g);               /* safe on a zeroed struct */

/* All that these bytes of gzip hold, NUL-terminated in memory that the caller frees; more than
 * `most` bytes are LIMIT, and else it fails as a read does. *out and *out_size are set by success
 * alone. */
int bi_gunzip_memory(const struct bi_env *env, const char *name, const char *bytes, size_t size,
                     size_t most, char **out, size_t *out_size, struct bioinfer_error *err);

/* Bytes of the byte order mark that this text of UTF-8 begins with: 3 or 0. */
size_t bi_text_mark(const char *text, size_t n);

/* zalloc, zfree and opaque of a z_stream whose memory comes from an environment; alloc gives zeroed
 * memory, or NULL. BI_Z_ENV: the three as initialisers, `from` is a struct bi_env *. */
void *bi_z_alloc(void *env, unsigned n, unsigned size);
void bi_z_free(void *env, void *ptr);
#define BI_Z_ENV(from) .zalloc = bi_z_alloc, .zfree = bi_z_free, .opaque = (void *)(uintptr_t)(from)

#endif
