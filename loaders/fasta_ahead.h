/* fasta_ahead.h - threads that read a plain FASTA file ahead, a block of it each.
 *
 * A block begins and ends where a line begins with '>'. What is in it is read by the reader of
 * fasta.c itself, up to the first record that is not sound or has no id, since what is said of
 * those names lines and numbers of the whole file. That record, and whatever lies between two
 * blocks, is left to the caller, who reads on one by one: records, messages and their order are
 * those of one thread. */
#ifndef BI_FASTA_AHEAD_H
#define BI_FASTA_AHEAD_H

#include "../base/file.h"
#include "records.h"

/* A reader reports these at the end of a file. */
struct bi_fasta_counts {
    uint64_t lower, lower_records, gaps, stops;
};

/* Sound records of bytes [start, end) of the file. */
struct bi_fasta_block {
    uint64_t start, end;
    uint64_t n_lines;
    struct bi_fasta_counts counts;
    struct bi_records *records; /* not finished; NULL: there are none */
};

struct bi_fasta_ahead;

/* stream: of a regular file or memory, with `size` known; it stays the caller's, open until close.
 * start: where the first line begins. params: of the reader. alone: no thread is started, take()
 * reads each block. Fewer threads than n_threads will do. Nothing is read ahead with *out NULL, for
 * want of threads or memory, or of two whole blocks in the file. */
void bi_fasta_ahead_open(struct bi_fasta_ahead **out, const struct bi_env *env,
                         const struct bi_stream *stream, uint64_t start,
                         const struct bioinfer_reader_params *params, size_t block_size, bool alone,
                         struct bi_records_pool *pool);
/* The block that begins at byte `at`, whose records are the caller's to finish and free; false:
 * there is none, *block is untouched, and the record there is for the caller to read. `at` goes up
 * from call to call: blocks in front of it are dropped. It waits for a thread. */
bool bi_fasta_ahead_take(struct bi_fasta_ahead *ahead, uint64_t at, struct bi_fasta_block *block);
void bi_fasta_ahead_close(struct bi_fasta_ahead **ahead); /* NULL-safe */

/* fasta.c: a reader of bytes that begin with a record and end with a line; bi_fasta_close() closes
 * it, and *out is NULL after a failure. read() appends sound records to block->records, up to the
 * first that is not sound, has no id or finds no memory, and sets end (from the caller's start on),
 * n_lines and counts to what is in front of that one; end is start where there is none. */
int bi_fasta_part_open(struct bioinfer_reader **out, const struct bi_env *env,
                       const struct bioinfer_reader_params *params);
void bi_fasta_part_read(struct bioinfer_reader *part, const char *bytes, size_t n,
                        struct bi_fasta_block *block);

#endif
