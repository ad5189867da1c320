/* complex_list.h - a file of jobs of complexes as records, each the text of one job. */
#ifndef BI_COMPLEX_LIST_H
#define BI_COMPLEX_LIST_H

#include "../base/base.h"

struct bi_complex_list;

/* Reads a file of JSON: a list of jobs. A job itself is looked at by who takes the record. FORMAT:
 * no JSON, no list, or an item that is no object; EMPTY: no items; LIMIT: more than 256 MiB; NOMEM;
 * else what reading a file gives. After a failure *out is untouched. */
int bi_complex_list_open(struct bi_complex_list **out, const struct bi_env *env, const char *path,
                         struct bioinfer_error *err);
/* Sets the next job as a record: its name as the id, or job_N, its text as the sequence; 0 = end.
 * The record is valid until the list is closed. */
int bi_complex_list_next(struct bi_complex_list *list, struct bioinfer_record *record);
/* Accepts NULL. */
void bi_complex_list_close(struct bi_complex_list **list);

#endif
