/* fasta_index.h - where records lie in a plain FASTA file, so that a reader can begin at them.
 *
 * Block b has the records from b * block on. `block` is the least power of two for which
 * there are at most 2^16 blocks. For each block the index knows where it begins, and a hash of all
 * records before it: who has read a block knows whether it still is what was indexed. So no more
 * than the size and a sample of the file is compared when the index is opened.
 *
 * PATH.bfi, little-endian: "BFINDEX1", then u64: size of the file, its hash (2), records, block,
 * hash of all records, residue policy, most residues, entries; for each block u64 offset, line and
 * hash; then u64 CRC-32C of all before it. */
#ifndef BI_FASTA_INDEX_H
#define BI_FASTA_INDEX_H

#include "../base/file.h"
#include "fasta.h"

struct bi_fasta_entry {
    uint64_t offset, line; /* where its first record begins; lines count from 1 */
    uint64_t before;       /* a hash: all records before it */
};

struct bioinfer_index {
    const struct bi_env *env;
    uint64_t size, hash[2]; /* as in struct bi_file_facts */
    uint64_t n_records, block, all;
    uint64_t residues, max_length; /* parameters of the reader that met these records */
    struct bi_fasta_entry *entries;
    size_t n_entries, cap_entries;
};

/* A hash of what a record is: its status, id, description (where it is not NULL) and sequence,
 * which may be NULL where the length is 0. The ordinal and the message do not count. */
uint64_t bi_record_hash(const struct bioinfer_record *record);
/* A hash of all records up to one with this hash; before: that of those in front of it, 0 =
 * none. */
uint64_t bi_record_chain(uint64_t before, uint64_t hash);

/* Reads the whole file; records that cannot be used count. params may be NULL, and their n_threads
 * are not used. MISMATCH: it changed meanwhile. UNSUPPORTED where no reader can begin in the
 * middle: what is compressed, a pipe, lines that end with CR alone. Else the statuses of
 * bi_fasta_open() and bi_fasta_next(). *out is NULL after a failure. */
int bi_fasta_index_make(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err);
/* Writes PATH.bfi, in place of one that is there, whole or not at all, however many do so at once.
 * After a failure it is as it was, or removed where the sync of its folder failed. */
int bi_fasta_index_write(const struct bioinfer_index *index, const char *path,
                         struct bioinfer_error *err);
/* NOT_FOUND: there is no PATH.bfi, or no file. FORMAT: the index is damaged, which is found before
 * the file is looked at; LIMIT: it is larger than any index. MISMATCH: it is of another state of
 * the file, or of a reader with another policy or max_length; params NULL = the defaults. *out is
 * NULL after a failure. */
int bi_fasta_index_open(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err);
/* Reads an index from bytes, which are copied; neither the facts of the file nor parameters are
 * compared, and `path` is for messages. FORMAT: it is damaged, or too large. *out is NULL after a
 * failure. */
int bi_fasta_index_parse(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                         const void *bytes, size_t size, struct bioinfer_error *err);
void bi_fasta_index_close(struct bioinfer_index **index); /* NULL-safe */

/* Goes on with the first record of a block, forwards or back, also from the end. A reader with
 * threads has none from here on. INVALID: record `ordinal` begins no block, or there is none.
 * UNSUPPORTED: the file is not plain. A reader that has failed gives that failure again. */
int bi_fasta_seek(struct bioinfer_reader *reader, const struct bioinfer_index *index,
                  uint64_t ordinal, struct bioinfer_error *err);

/* Whether so much of the file lies between two records, of which the first begins a block, that it
 * is not read but jumped over: a MiB or more, counted up to the block of `to`. `to`: the records'
 * number or more is the end. False where `from` is at the end, or not in front of `to`. */
bool bi_index_far(const struct bioinfer_index *index, uint64_t from, uint64_t to);
/* Compares the hash of the first n records of the input with the index, where it is known: where a
 * block begins, and behind all. `end`: there are no more. index NULL, or n within a block: 0.
 * MISMATCH: the input has changed, or has more records, or at its end fewer. */
int bi_index_check(const struct bioinfer_index *index, uint64_t n, bool end, uint64_t hash,
                   struct bioinfer_error *err);

/* fasta.c */
/* Goes on with this record, which begins at this byte of a plain file; nothing checks that it does.
 * Statuses as bi_fasta_seek(), but for INVALID. */
int bi_fasta_go_to(struct bioinfer_reader *reader, uint64_t offset, uint64_t line, uint64_t ordinal,
                   struct bioinfer_error *err);
/* Where the last record began; false: the reader cannot go there again, as it has threads or the
 * file is not plain, and what is set says nothing. */
bool bi_fasta_where(const struct bioinfer_reader *reader, uint64_t *offset, uint64_t *line);

#endif
