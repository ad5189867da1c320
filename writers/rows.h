/* rows.h - what the formats of `--layout matrix` share: one array [N, D] with a row for each
 * record that has a result, in input order, and the ids of its rows.
 *
 * Rows are streamed; how many there will be is known at the end. Ids wait in a file beside the
 * output and are handed out as N texts of equal size, filled up with zero bytes: what NumPy calls
 * S12, and tensors uint8 [N, 12]. Repeated ids stay as they are. */
#ifndef BI_ROWS_H
#define BI_ROWS_H

#include "writer.h"

/* The names of the two arrays: that of values unless the writer has another one, and of ids. */
#define BI_ROWS_VALUES "embeddings"
#define BI_ROWS_IDS "ids"

struct bi_rows {
    struct bi_out ids;  /* for each row one byte, the size of its id, and the id */
    struct bi_buf text; /* a piece of ids that is read, and the texts made of it */
    int64_t n, width;   /* rows; values of each, -1 = there is no row yet */
    size_t longest;     /* bytes of the longest id, at least 1 */
};

/* 0 where a record has one array and that is a vector, of any width; INVALID in words for anything
 * else, no array included. */
int bi_rows_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                  struct bioinfer_error *err);
/* The row of this record has `width` values, or INVALID says how many it has. */
int bi_rows_same_width(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                       int64_t width, struct bioinfer_error *err);
/* Puts an id as UTF-8 into an empty buffer; seq_N, N the ordinal, where it is empty or would have
 * more than 255 bytes. out->failed is set where there is no memory. */
void bi_rows_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                    const struct bioinfer_result *r);
/* Makes the file in which ids wait. Zero-initialise before. To be closed after a failure, too. */
int bi_rows_open(struct bi_rows *m, const struct bioinfer_writer *w, struct bioinfer_error *err);
/* Takes the name of a row; LIMIT when it has more than 255 bytes. */
int bi_rows_add_id(struct bi_rows *m, const struct bioinfer_writer *w, const char *name,
                   struct bioinfer_error *err);
/* Takes the name of a row and gives the bytes of its values, as bi_array_bytes() does; the first
 * row decides the width. INVALID: this one has another, and its name is not taken; LIMIT: its name
 * has more than 255 bytes. bi_rows_check() has passed the result. */
int bi_rows_add(struct bi_rows *m, struct bioinfer_writer *w, const struct bioinfer_result *r,
                const char *name, const void **bytes, size_t *size, struct bioinfer_error *err);
/* The width of all rows, 0 without any. */
int64_t bi_rows_width(const struct bi_rows *m);
/* Hands out all ids in order, each in `longest` bytes, in pieces of n bytes that hold whole ids;
 * without a row `take` is not called. What `take` returns ends it where it is not 0. */
int bi_rows_ids(struct bi_rows *m, const struct bioinfer_writer *w,
                int (*take)(void *user, const void *bytes, size_t n, struct bioinfer_error *err),
                void *user, struct bioinfer_error *err);
void bi_rows_close(struct bi_rows *m); /* accepts a zeroed one */

#endif
