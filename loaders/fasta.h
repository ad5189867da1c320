/* fasta.h - FASTA records from plain text, gzip or BGZF, streaming in constant memory.
 *
 * struct bioinfer_reader is the public handle itself; lib/readers.c forwards to these.
 *
 * A record that cannot be used comes with its status and a message, its sequence empty, and the
 * reader goes on behind it: EMPTY (no residues), TOO_LONG (beyond max_length), BAD_RESIDUE (a
 * character that is no residue under the policy), LIMIT (a header line of more than BI_FASTA_HEADER
 * bytes), FORMAT (a control byte in the header, given as '_'). The first of these that is met
 * stays. What makes the whole input unusable is returned instead, and again by every later call:
 * FORMAT (not FASTA, no records, damaged or cut gzip), UNSUPPORTED (FASTQ, zstd, bzip2, xz, zip,
 * UTF-16), LIMIT (compression ratio), IO, NOMEM; records before it were handed out. */
#ifndef BI_FASTA_H
#define BI_FASTA_H

#include "../base/base.h"

enum { BI_FASTA_HEADER = 65536 };         /* bytes of a header line, '>' included */
enum { BI_FASTA_MAX_LENGTH = 100000000 }; /* residues of a record unless told otherwise */

/* As bioinfer_reader_open(), params may be NULL. After a failure *out is NULL. Nothing is
 * read yet: an empty or a wrong file is found by bi_fasta_next(). INVALID as below. */
int bi_fasta_open(struct bioinfer_reader **out, const struct bi_env *env, const char *path,
                  const struct bioinfer_reader_params *params, struct bioinfer_error *err);
/* The same of bytes in memory, which must outlive the reader; `name` is for messages. INVALID:
 * params->residues or n_threads is out of range (struct_size is not looked at). Whatever is wrong
 * with the bytes, none of them included, is said by bi_fasta_next(). */
int bi_fasta_open_memory(struct bioinfer_reader **out, const struct bi_env *env, const char *name,
                         const void *bytes, size_t size,
                         const struct bioinfer_reader_params *params, struct bioinfer_error *err);
/* As bioinfer_reader_next(): 1 record, valid until the next call, 0 end (again and again), < 0
 * status; but for 1 *record is untouched. A record without an id gets one, "seq_" and its ordinal;
 * its message is "" where its status is 0. */
int bi_fasta_next(struct bioinfer_reader *reader, struct bioinfer_record *record,
                  struct bioinfer_error *err);
/* As bioinfer_reader_next_many() and bioinfer_records_free(): 1 = *records is a block of at least
 * one record, 0 = end, < 0 = status, and *records is NULL but for 1. A failure behind records that
 * were read is that of the next call, though *err may have its words. Records may have a status of
 * their own. free: also after the reader was closed; accepts a pointer to NULL. */
int bi_fasta_next_many(struct bioinfer_reader *reader, struct bioinfer_records **records,
                       struct bioinfer_error *err);
void bi_fasta_many_free(struct bioinfer_records **records);
/* As bioinfer_reader_progress(): bytes as stored, of compressed files *done is an estimate; *total
 * is 0 where the size is not known, as of a pipe. */
void bi_fasta_progress(const struct bioinfer_reader *reader, uint64_t *done, uint64_t *total);
/* Closes the reader. Blocks that bi_fasta_next_many() gave stay valid, until they are freed. */
void bi_fasta_close(struct bioinfer_reader **reader);

/* Tests only: most bytes of one read, and the compression ratio that is refused (0 =
 * none). Before the first bi_fasta_next(). */
void bi_fasta_tune(struct bioinfer_reader *reader, size_t chunk, uint64_t ratio);
/* Sets the bytes that a thread takes at a time; before the first bi_fasta_next(), as the next. */
void bi_fasta_tune_blocks(struct bioinfer_reader *reader, size_t size);
/* The same, but the caller itself reads the blocks of the threads, whatever n_threads says: a
 * fuzzer that starts threads for each input tries few inputs. */
void bi_fasta_tune_alone(struct bioinfer_reader *reader, size_t size);

#endif
