/* columns.h - what the formats share that write arrays over all records, of which some have a row
 * for each record (an energy) and others a row for each of its items (the force on an atom).
 *
 * bioinfer_writer_params.columns lists them. Rows come as the bytes of a text and wait in a file
 * beside the output for each array, as how many there will be is known at the end. Records without
 * a result are left out. Behind the listed arrays are
 *   offsets  int64 [records + 1]: items of record i are rows offsets[i] to offsets[i + 1]
 *   ids      names of the records, as rows.h hands them out */
#ifndef BI_COLUMNS_H
#define BI_COLUMNS_H

#include "rows.h"

enum { BI_COLUMNS_MOST = 16 };

struct bi_column {
    char name[32], unit[48]; /* unit: "" = none */
    char type[4];            /* as NumPy names it: "<f8" */
    bool per_item;
    int n_dims;
    int64_t shape[3]; /* [0]: rows so far */
    size_t size;      /* bytes of a row */
    struct bi_out rows;
};

struct bi_columns {
    struct bi_column of[BI_COLUMNS_MOST + 1]; /* the list, then offsets */
    int n;
    int64_t n_items;
    struct bi_rows ids;
    struct bi_buf text; /* a piece of rows */
};

/* Reads the list of w; INVALID names the line that is wrong, has a name a second time, or is one
 * too many, or says that the list is empty. Zero-initialise before; it takes no memory. */
int bi_columns_parse(struct bi_columns *c, const struct bioinfer_writer *w,
                     struct bioinfer_error *err);
/* Parses the list, and makes the files in which rows wait. To be closed after a failure, too. */
int bi_columns_open(struct bi_columns *c, const struct bioinfer_writer *w,
                    struct bioinfer_error *err);
/* 0 where the result has one text and no array, else INVALID in words. The text is not looked
 * at. */
int bi_columns_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                     struct bioinfer_error *err);
/* Takes the rows of a record: its text holds the number of items (int64), then the rows of each
 * array in turn. FORMAT: it has another size than that number says; LIMIT: the name has more than
 * 255 bytes. In both cases nothing is taken. bi_columns_check() has passed the result. */
int bi_columns_put(struct bi_columns *c, const struct bioinfer_writer *w,
                   const struct bioinfer_result *r, const char *name, struct bioinfer_error *err);
/* Hands out all rows of an array, whole rows at a time; n counts bytes. column: its place in the
 * list, c->n of offsets. Without a row `take` is not called. What `take` returns ends it where it
 * is not 0. */
int bi_columns_rows(struct bi_columns *c, const struct bioinfer_writer *w, int column,
                    int (*take)(void *user, const void *bytes, size_t n,
                                struct bioinfer_error *err),
                    void *user, struct bioinfer_error *err);
void bi_columns_close(struct bi_columns *c); /* accepts a zeroed one */

#endif
