/* provenance.h - the file OUT.provenance.json beside an output (cli/provenance.h), as rows. */
#ifndef BI_REPORT_PROVENANCE_H
#define BI_REPORT_PROVENANCE_H

#include "../base/buf.h"

struct bi_show;

/* Takes a row, whose texts live during the call: 0 or a status, whose words are in *err. */
typedef int (*bi_provenance_take)(void *user, const char *name, const char *value,
                                  struct bioinfer_error *err);
/* Hands out what the file beside the output says, at most 200 rows; nothing where there is no such
 * file, and one row that says so where it is of an output of another size. FORMAT: it is no JSON;
 * LIMIT: it has more than 64 MiB. */
int bi_provenance_each(const struct bi_env *env, const char *path, bi_provenance_take take,
                       void *user, struct bioinfer_error *err);
/* The same of the units of a table's columns: name and unit. Nothing where there is no such file,
 * or it is of another output. */
int bi_provenance_units(const struct bi_env *env, const char *path, bi_provenance_take take,
                        void *user, struct bioinfer_error *err);
/* The same of the columns of arrays of a kind: an empty name, and the name of each column. */
int bi_provenance_columns(const struct bi_env *env, const char *path, const char *kind,
                          bi_provenance_take take, void *user, struct bioinfer_error *err);
/* Appends the rows as lines below "how it was made:". */
int bi_provenance_print(struct bi_buf *out, const char *path, struct bioinfer_error *err);
/* Adds them as a table to the view. */
int bi_provenance_show(struct bi_show *s, struct bioinfer_error *err);

#endif
