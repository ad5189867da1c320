/* journal.h - results as they come, on disk: what is in it survives the process.
 *
 * Two files of one folder. `data` holds payloads, one behind the other. `journal` holds one
 * record of 64 bytes for each, little-endian:
 *    0 u32 magic 'BIJ2'             4 u32 CRC-32C of bytes 8..63
 *    8 u64 ordinal                 16 u64 offset in data    24 u64 size of the payload
 *   32 u32 CRC-32C of the payload  36 i32 status            40 u64 flags, below
 *   48 u64 hash[2], the caller's (job.c: of a record, and of it with all before it; at the end
 *      of the whole input, and of the job)
 * An ordinal names a unit: what is sharded and finished together. A unit has one record or several,
 * its pieces, whose numbers 0, 1, ... are in bits 32 to 63 of the flags. The last one says so.
 *
 * A commit writes and syncs the data first and the records behind it, so a record never
 * points at bytes that are not there, and says in each record that its payload was synced.
 * Recovery reads records, and the payloads that were not synced, while all of that holds, and
 * cuts both files behind the last good one. Synced payloads are checked where they are read to
 * build the output, which finds what the disk has changed since. */
#ifndef BI_JOURNAL_H
#define BI_JOURNAL_H

#include "../base/crc32c.h"
#include "../base/file.h"

enum { BI_JOURNAL_RECORD = 64 };

/* Flags of a record. */
enum {
    BI_JOURNAL_COPY = 1,
    BI_JOURNAL_END = 2,
    BI_JOURNAL_LAST = 4,
    BI_JOURNAL_SYNCED = 8, /* set by a commit: the payload was on the disk before this record */
    BI_JOURNAL_VOID = 16   /* earlier records of this ordinal are damaged and count for nothing */
};

/* A record of a journal, as the top of this file lays it out. */
struct bi_journal_record {
    uint64_t ordinal, offset, size;
    uint32_t crc;
    int32_t status;
    uint64_t flags, hash[2];
};

/* The number of the piece that a record holds, from 0. */
static inline uint32_t bi_journal_piece(const struct bi_journal_record *r)
{
    return (uint32_t)(r->flags >> 32);
}

/* Records read at once: most are asked for one behind the other, or lie near the one before. */
struct bi_journal_block {
    uint64_t first, n;
    uint8_t bytes[64 * BI_JOURNAL_RECORD];
};

/* A journal that is open. */
struct bi_journal {
    const struct bi_env *env;
    struct bi_append data, log;
    struct bi_journal_block *blocks; /* read before, each at the place that its number gives */
    size_t n_blocks;
    struct bi_journal_record *group; /* added since the last commit */
    size_t n_group, cap_group;
    uint64_t n;              /* records, the group included */
    uint64_t data_committed; /* sizes at the last commit */
    bi_crc32c sum;
    uint32_t crc; /* checksum of the payload being written */
    bool failed;
    struct bioinfer_error why;     /* the first failure: later calls are told it too */
    double interval, committed_at; /* seconds */
};

#define BI_JOURNAL_NONE ((struct bi_journal){.data = {.fd = -1}, .log = {.fd = -1}})

/* Opens the two files in `folder`, creates them unless they are only to be read. *j is
 * BI_JOURNAL_NONE, or safe to close, after a failure. NOT_FOUND: read_only, and a file is
 * missing. */
int bi_journal_open(struct bi_journal *j, const struct bi_env *env, const char *folder,
                    bool read_only, struct bioinfer_error *err);
/* Hands every good record to `take` (non-zero stops with that status), while j->n is its number,
 * and cuts the rest, whose loss is no failure. *n_lost: whole records from the first bad one on,
 * that one included. Nothing is changed where `cut` is false. */
int bi_journal_recover(struct bi_journal *j, bool cut,
                       int (*take)(void *user, const struct bi_journal_record *r,
                                   struct bioinfer_error *err),
                       void *user, uint64_t *n_lost, struct bioinfer_error *err);
/* A payload: begin, which sets its offset in *r, any number of writes, end, which sets size and CRC
 * and adds *r as record number j->n - 1. One that was begun and not ended is no record. A failed
 * write is final, as a failed commit is, and end() is not to be called behind it; end() gives NOMEM
 * alone, adds nothing then, and is not final. */
void bi_journal_begin(struct bi_journal *j, struct bi_journal_record *r);
int bi_journal_write(struct bi_journal *j, const void *bytes, size_t n, struct bioinfer_error *err);
int bi_journal_end(struct bi_journal *j, struct bi_journal_record *r, struct bioinfer_error *err);
/* Commits what was added, also where that is nothing; `sync` makes it outlast a power loss too. A
 * failure is final: both files are cut to the last commit, j->n with them, and write and commit
 * fail for the same reason later. Committed records can still be read. */
int bi_journal_commit(struct bi_journal *j, bool sync, struct bioinfer_error *err);
/* Ends it for a reason of the caller's. Returns the status of the first failure, and *err has its
 * words: this one, or an earlier one, where status and why (then NULL, too) count for nothing. It
 * cuts nothing: the next commit does, and until then j->n counts what was added. */
int bi_journal_fail(struct bi_journal *j, int status, const struct bioinfer_error *why,
                    struct bioinfer_error *err);
/* Is it time to commit? First after a quarter of a second, later every two seconds, and never so
 * often that syncing takes more than a fiftieth of the time; sooner after many records or bytes.
 * False where nothing was added, with *begun as before; else *begun is the time now, in seconds,
 * for bi_journal_space(), whatever is returned. */
bool bi_journal_due(const struct bi_journal *j, double *begun);
/* After a commit that was due: sets when the next one is, by what this one took; 30 seconds on at
 * most. */
void bi_journal_space(struct bi_journal *j, double begun);
/* Keeps n > 0 blocks of records that were read, of 4 KiB each; it is 1 before. Blocks from before
 * are read again. NOMEM: all is as before. */
int bi_journal_keep(struct bi_journal *j, size_t n, struct bioinfer_error *err);
/* Record number i < n, from 0, as it was added, committed or not; a commit that syncs adds a flag.
 * FORMAT: it is damaged; or the status of reading the file. Not for several threads at once: it
 * keeps what it reads. */
int bi_journal_get(const struct bi_journal *j, uint64_t i, struct bi_journal_record *r,
                   struct bioinfer_error *err);
/* Reads the payload of a committed record into `dst` of r->size bytes, also behind a failure of the
 * journal. FORMAT: its CRC is wrong, or the file ends before its bytes, which so may be in memory
 * still where it is not committed. `dst` may be written in part after a failure. */
int bi_journal_read(const struct bi_journal *j, const struct bi_journal_record *r, void *dst,
                    struct bioinfer_error *err);
/* One that is only read can be parked, which takes no open file, and be read again once awake.
 * True: both files, data and journal, are open. Each does nothing where that is done; after a
 * failed wake, such as NOT_FOUND, it may be tried again. */
bool bi_journal_is_awake(const struct bi_journal *j);
void bi_journal_park(struct bi_journal *j);
int bi_journal_wake(struct bi_journal *j, struct bioinfer_error *err);
void bi_journal_close(struct bi_journal *j); /* commits nothing; leaves BI_JOURNAL_NONE, safe too */

#endif
