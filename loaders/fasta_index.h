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

/* A hash of what a record is: its status, id, description (where it is not NULL) and sequence. */
uint64_t bi_record_hash(const struct bioinfer_record *record);
/* A hash of all records up to one with this hash; before: that of those in front of it, 0 =
 * none. */
uint64_t bi_record_chain(uint64_t before, uint64_t hash);

/* Reads the whole file. MISMATCH: it changed meanwhile. UNSUPPORTED where no reader can begin in
 * the middle: what is compressed, a pipe, lines that end with CR alone. */
int bi_fasta_index_make(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err);
/* Writes PATH.bfi, which is there whole or not at all, however many do so at once. */
int bi_fasta_index_write(const struct bioinfer_index *index, const char *path,
                         struct bioinfer_error *err);
/* NOT_FOUND: there is no PATH.bfi. MISMATCH: it is of another state of the file, or of a reader
 * with other parameters. FORMAT: it is damaged. *out is NULL after a failure. */
int bi_fasta_index_open(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                        const struct bioinfer_reader_params *params, struct bioinfer_error *err);
/* Reads an index from bytes, which are copied; the facts of the file are not compared. Statuses are
 * those of bi_fasta_index_open(). */
int bi_fasta_index_parse(struct bioinfer_index **out, const struct bi_env *env, const char *path,
                         const void *bytes, size_t size, struct bioinfer_error *err);
void bi_fasta_index_close(struct bioinfer_index **index); /* NULL-safe */

/* Goes on with the first record of a block. A reader with threads has none from here on. INVALID:
 * record `ordinal` begins no block. UNSUPPORTED: the file is not plain. */
int bi_fasta_seek(struct bioinfer_reader *reader, const struct bioinfer_index *index,
                  uint64_t ordinal, struct bioinfer_error *err);

/* Whether so much of the file lies between two records, of which the first begins a block, that it
 * is not read but jumped over. `to`: the records' number or more is the end. */
bool bi_index_far(const struct bioinfer_index *index, uint64_t from, uint64_t to);
/* Compares the hash of the first n records of the input with the index, where it is known. `end`:
 * there are no more. index NULL: 0. MISMATCH: the input has changed. */
int bi_index_check(const struct bioinfer_index *index, uint64_t n, bool end, uint64_t hash,
                   struct bioinfer_error *err);

/* fasta.c */
/* Goes on with this record, which begins at this byte of a plain file. */
int bi_fasta_go_to(struct bioinfer_reader *reader, uint64_t offset, uint64_t line, uint64_t ordinal,
                   struct bioinfer_error *err);
/* Where the last record began; false: the reader cannot go there again. */
bool bi_fasta_where(const struct bioinfer_reader *reader, uint64_t *offset, uint64_t *line);

#endif
