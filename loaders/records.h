/* records.h - blocks of records: what bioinfer_reader_next_many() gives, and where their memory
 * goes when they are freed. */
#ifndef BI_RECORDS_H
#define BI_RECORDS_H

#include "../base/base.h"

struct bi_records_pool;

/* A block. Records are added, then finished: only then their pointers are set. */
struct bi_records {
    struct bioinfer_records shown; /* first: what the caller sees */
    struct bi_records_pool *pool;
    struct bi_records *next; /* in the pool */
    struct bioinfer_record *items;
    size_t cap;
    char *text; /* ids, descriptions, residues and messages, each with a NUL behind it */
    size_t text_size, text_cap;
};

/* Memory of blocks for one reader; it lasts until the last block is freed. NOMEM, with *out NULL,
 * also where the mutex cannot be made. */
int bi_records_pool_new(struct bi_records_pool **out, const struct bi_env *env);
/* Ends the pool; blocks that are out stay valid, and its memory goes with the last of them.
 * NULL-safe. */
void bi_records_pool_close(struct bi_records_pool **pool);

/* An empty block, NULL without memory. Any thread, like all below. */
struct bi_records *bi_records_new(struct bi_records_pool *pool);
/* Appends a copy of id, description, sequence and message, of which none may be NULL (the sequence
 * not with a length of 0 either), length and status; all else of a record is zero. False without
 * memory: the block is as before. Not behind bi_records_finish(). */
bool bi_records_add(struct bi_records *block, const struct bioinfer_record *record);
/* Sets the pointers, and the ordinals from first_ordinal on: shown is complete then. Once for a
 * block. */
void bi_records_finish(struct bi_records *block, uint64_t first_ordinal);
void bi_records_free(struct bi_records **block); /* NULL-safe */

#endif
