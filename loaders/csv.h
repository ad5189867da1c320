/* csv.h - tables of text, CSV and TSV: one header line, and rows of as many fields.
 *
 * One rule for all of them. Text is UTF-8, plain or gzip. A byte order mark, empty lines and lines
 * that begin with '#' before the header are passed over. So is a first line that is one quoted
 * object of JSON, as files of the Observed Antibody Space have. A line ends with LF, CR LF or CR.
 * The separator is a tab where the header line has one outside quotes, else a comma. A field that
 * begins with a quote ends with the next one, and may hold separators and line ends; "" in it is
 * one quote (RFC 4180). Blanks around a value do not count. A row without a character but blanks
 * is empty, and is none of the rows that bi_csv_next() gives. A row with another number of fields
 * than the header, or with text behind a closing quote, is faulty: it has no values. */
#ifndef BI_CSV_H
#define BI_CSV_H

#include "../base/base.h"

/* A row, or the header. */
struct bi_csv_row {
    const char *text; /* as it stands, without its end; not NUL-terminated */
    size_t len;
    const char *end;   /* "\n", "\r\n", "\r", or "" at the end of the file */
    const char *cells; /* values, each with a NUL behind it */
    uint64_t line;     /* where it begins, from 1 */
    size_t n_fields;   /* 0: it is empty */
    bool quote;        /* there is text behind a closing quote */
};

struct bi_csv {
    struct bi_env env;
    char *path;   /* for messages */
    char *text;   /* all of it, as it stands */
    size_t size;  /* bytes of text; a NUL stands behind them */
    char *values; /* cells lie here */
    char separator;
    bool has_comments; /* before the header */
    struct bi_csv_row header;
    struct bi_csv_row *rows; /* [n_rows] all lines below the header, empty and faulty ones too */
    size_t n_rows, cap;
};

/* Reads a table of up to 1 GiB; "-" is standard input. FORMAT: no header, or no row below it that
 * is not empty; a NUL byte; a quote that is not closed. LIMIT: it is larger, or has more than
 * INT_MAX columns. Else the statuses of bi_stream_open() and bi_gunzip_read(). */
int bi_csv_read(struct bi_csv *t, const struct bi_env *env, const char *path,
                struct bioinfer_error *err);
/* The same of text in memory, which is copied. */
int bi_csv_read_memory(struct bi_csv *t, const struct bi_env *env, const char *name,
                       const char *text, size_t size, struct bioinfer_error *err);
/* Safe on a zeroed table, and leaves one. */
void bi_csv_free(struct bi_csv *t);

/* Finds the column of a name; *column is -1 where the header lacks it. FORMAT: it has two. */
int bi_csv_find(const struct bi_csv *t, const char *name, int *column, struct bioinfer_error *err);
/* The same, and FORMAT where there is none. */
int bi_csv_need(const struct bi_csv *t, const char *name, int *column, struct bioinfer_error *err);
/* FORMAT, with its line and fields, where the row is faulty. */
int bi_csv_check(const struct bi_csv *t, const struct bi_csv_row *row, struct bioinfer_error *err);
/* Gives the rows that are not empty, one after the other; *at begins as 0. 1, or 0 behind the last
 * one. FORMAT: the row is faulty; the next call goes on behind it. */
int bi_csv_next(const struct bi_csv *t, size_t *at, const struct bi_csv_row **row,
                struct bioinfer_error *err);
/* The value in a column, "" where it is empty. NULL: the column is below 0, or the row is empty or
 * faulty. */
const char *bi_csv_cell(const struct bi_csv *t, const struct bi_csv_row *row, int column);
/* The value behind one that is not the row's last. */
const char *bi_csv_cell_next(const char *cell);
/* bi_fail() with FORMAT, and begins with the table's path and the row's line. */
int bi_csv_fail(const struct bi_csv *t, const struct bi_csv_row *row, struct bioinfer_error *err,
                const char *fmt, ...) BI_PRINTF(4, 5);

#endif
