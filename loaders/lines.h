/* lines.h - text line by line, plain, gzip or BGZF, and the fields of a line. */
#ifndef BI_LINES_H
#define BI_LINES_H

#include "../base/file.h"

/* Takes a line without its end, NUL-terminated, its own to change. 0: go on, > 0: stop, < 0: a
 * status. */
typedef int (*bi_line_take)(void *user, char *line, size_t n, uint64_t number,
                            struct bioinfer_error *err);
/* Hands out all lines; 0 also where `take` says stop, else its status. LIMIT for a line of more
 * than 16 MiB, FORMAT for a NUL byte, and what the file gives: NOT_FOUND, IO, FORMAT (damaged
 * gzip). */
int bi_lines_each(const struct bi_env *env, const char *path, bi_line_take take, void *user,
                  struct bioinfer_error *err);
/* The same for a stream that is open, which is closed also when this fails; path names it. */
int bi_lines_of_stream(const struct bi_env *env, const char *path, struct bi_stream *stream,
                       bi_line_take take, void *user, struct bioinfer_error *err);
/* Cuts a line into fields at the separator, in place; a field of a table with commas may stand in
 * quotes. Gives the number of fields, of which at most `most` are set. */
size_t bi_fields(char *line, char separator, char **fields, size_t most);

#endif
