/* lines.c - text files line by line, and the fields of a line. */
#include "lines.h"

#include <string.h>

#include "../base/buf.h"
#include "gunzip.h"

enum { MAX_LINE = 16 << 20, PIECE = 1 << 16 };

struct lines {
    const char *path;
    struct bi_gunzip g;
    struct bi_buf text; /* bytes that are not yet handed out */
    uint64_t number;
};

/* Hands out the whole lines of the text, and at the end what is behind the last one. */
static int take_lines(struct lines *l, bool at_end, bi_line_take take, void *user,
                      struct bioinfer_error *err)
{
    size_t at = 0;
    int st = 0;
    while (!st && at < l->text.size) {
        char *line = l->text.data + at, *end = memchr(line, '\n', l->text.size - at);
        size_t n = end ? (size_t)(end - line) : l->text.size - at;
        if (!end && !at_end)
            break;
        at += n + (end != NULL);
        if (!l->number++) {
            const size_t mark = bi_text_mark(line, n);
            line += mark;
            n -= mark;
        }
        if (n && line[n - 1] == '\r')
            n--;
        line[n] = '\0'; /* there is room for it behind the last line, too */
        if (memchr(line, 0, n))
            return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: a NUL byte, expected text",
                           l->path, (unsigned long long)l->number);
        st = take(user, line, n, l->number, err);
    }
    if (at)
        memmove(l->text.data, l->text.data + at, l->text.size - at);
    l->text.size -= at;
    return st;
}

int bi_lines_of_stream(const struct bi_env *env, const char *path, struct bi_stream *stream,
                       bi_line_take take, void *user, struct bioinfer_error *err)
{
    struct lines l = {.path = path, .text = {.env = env}};
    size_t got = 1;
    int st = bi_gunzip_open(&l.g, stream, err);
    if (st)
        goto out;
    while (!st && got) {
        char *room = bi_buf_reserve(&l.text, PIECE + 1);
        if (!room) {
            st = bi_fail(err, BIOINFER_NOMEM, "%s: a line", path);
            break;
        }
        if ((st = bi_gunzip_read(&l.g, room, PIECE, &got, err)))
            break;
        l.text.size += got;
        st = take_lines(&l, !got, take, user, err);
        if (!st && l.text.size > MAX_LINE)
            st = bi_fail(err, BIOINFER_LIMIT, "%s: line %llu has more than %d bytes", path,
                         (unsigned long long)l.number + 1, MAX_LINE);
    }
out:
    bi_gunzip_close(&l.g);
    bi_buf_free(&l.text);
    return st > 0 ? 0 : st;
}

int bi_lines_each(const struct bi_env *env, const char *path, bi_line_take take, void *user,
                  struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    const int st = bi_stream_open(&stream, env, path, err);
    return st ? st : bi_lines_of_stream(env, path, &stream, take, user, err);
}

/* Takes a field in quotes in place, "" inside as one; gives what stands behind it. */
static char *unquote(char *field)
{
    char *to = field, *from = field + 1;
    for (; *from; *to++ = *from++)
        if (*from == '"' && *++from != '"')
            break;
    *to = '\0'; /* to < from */
    return from;
}

size_t bi_fields(char *line, char separator, char **fields, size_t most)
{
    size_t n = 0;
    for (char *at = line;;) {
        char *behind = separator == ',' && *at == '"' ? unquote(at) : at, *end;
        if (n < most)
            fields[n] = at;
        n++;
        if (!(end = strchr(behind, separator)))
            return n;
        *end = '\0';
        at = end + 1;
    }
}
