/* lines.h - text line by line, plain, gzip or BGZF, and the fields of a line. */
#ifndef BI_LINES_H
#define BI_LINES_H

#include "../base/file.h"

/* Takes a line without its end, NUL-terminated, its own to change. 0: go on, > 0: stop, < 0: a
 * status. */
typedef int (*bi_line_take)(void *user, char *line, size_t n, uint64_t number,
                            struct bioinfer_error *err);
/* Hands out all lines, numbered from 1, without LF or CR LF; the last one needs no end. 0 also
 * where `take` says stop, else its status. LIMIT for a line of more than 16 MiB, FORMAT for a NUL
 * byte, and what the file gives: NOT_FOUND, IO, FORMAT (damaged gzip), LIMIT (its ratio). Lines in
 * front of a failure were handed out. */
int bi_lines_each(const struct bi_env *env, const char *path, bi_line_take take, void *user,
                  struct bioinfer_error *err);
/* The same for a stream that is open, which is closed in any case; path names it. */
int bi_lines_of_stream(const struct bi_env *env, const char *path, struct bi_stream *stream,
                       bi_line_take take, void *user, struct bioinfer_error *err);
/* Cuts a line into fields at the separator, in place; where it is a comma a field may stand in
 * quotes, "" inside is one quote, and what stands behind the last quote is dropped. Gives the
 * number of fields, also where it is above `most`, of which no more are set; an empty line has
 * one. */
size_t bi_fields(char *line, char separator, char **fields, size_t most);

#endif
