/* a3m.h - alignments to a query in the A3M format. */
#ifndef BI_A3M_H
#define BI_A3M_H

#include "../base/base.h"

enum { BI_A3M_ROWS = 65536 };    /* the most rows of a file that are read */
enum { BI_A3M_COLUMNS = 65536 }; /* the most columns */

/* Rows over the columns of the query, which is the first one. */
struct bi_a3m {
    int32_t columns, depth;
    char *letters;    /* [depth, columns] upper case, or '-' */
    int32_t *deleted; /* [depth, columns] lower case letters and dots before each */
    int64_t *key;     /* [depth] N of "key=N" in the header, -1 = there is none */
    size_t *header;   /* [depth] places in headers, texts without '>', each with a NUL */
    char *headers;
    size_t cap_letters, cap_deleted, cap_keys, cap_header, cap_headers;
};

/* Reads a file, plain or in gzip. Lower case letters after the last column are left out, and so are
 * lines that begin with '#' before the first row. FORMAT: a row of another number of columns than
 * the first one, a first row with a gap, a character that is no letter, '-' or '.', or text before
 * the first header. EMPTY: no rows, or none with a column. LIMIT: more columns than BI_A3M_COLUMNS.
 * NOMEM, and what bi_lines_each() gives. After a failure, too, *a is to be freed. */
int bi_a3m_read(struct bi_a3m *a, const struct bi_env *env, const char *path,
                struct bioinfer_error *err);
/* The same of a text of n bytes, which `name` names. */
int bi_a3m_read_text(struct bi_a3m *a, const struct bi_env *env, const char *name, const char *text,
                     size_t n, struct bioinfer_error *err);
/* Accepts zeros, and leaves them. */
void bi_a3m_free(const struct bi_env *env, struct bi_a3m *a);

#endif
