/* csv.c - tables of text: the one reader of CSV and TSV. */
#include "csv.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../base/buf.h"
#include "gunzip.h"

enum { MAX_SIZE = 1 << 30, PIECE = 1 << 16 };

/* ---- bytes ---- */

static int read_all(struct bi_csv *t, struct bi_stream *stream, struct bioinfer_error *err)
{
    struct bi_gunzip g = {0};
    struct bi_buf buf = {.env = &t->env};
    size_t got = 1;
    int st = bi_gunzip_open(&g, stream, err);
    while (!st && got) {
        char *room = bi_buf_reserve(&buf, PIECE);
        if (!room)
            st = bi_fail(err, BIOINFER_NOMEM, "%s: a table of %zu bytes or more", t->path,
                         buf.size);
        else if (!(st = bi_gunzip_read(&g, room, PIECE, &got, err)))
            buf.size += got;
        if (!st && buf.size > MAX_SIZE)
            st = bi_fail(err, BIOINFER_LIMIT, "%s: a table of more than %d bytes", t->path,
                         MAX_SIZE);
    }
    if (!st && !bi_buf_text(&buf))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: a table of %zu bytes", t->path, buf.size);
    bi_gunzip_close(&g);
    t->text = buf.data; /* the table frees it */
    t->size = buf.size;
    return st;
}

/* ---- fields ---- */

/* The text that is left, and where values go: they are never longer than their fields. */
struct cursor {
    char *at, *end, *to;
    char separator;
    uint64_t line;
};

static bool at_line_end(const struct cursor *c)
{
    return c->at == c->end || *c->at == '\n' || *c->at == '\r';
}

static bool at_blank(const struct cursor *c)
{
    return c->at < c->end && (*c->at == ' ' || (*c->at == '\t' && c->separator != '\t'));
}

static void skip_blanks(struct cursor *c)
{
    while (at_blank(c))
        c->at++;
}

/* Takes what is in quotes, from behind the first one; false: there is no second. */
static bool take_quoted(struct cursor *c)
{
    for (; c->at < c->end; *c->to++ = *c->at++) {
        if (*c->at == '"' && (++c->at == c->end || *c->at != '"'))
            return true;
        c->line += *c->at == '\n' || (*c->at == '\r' && (c->at + 1 == c->end || c->at[1] != '\n'));
    }
    return false;
}

/* Takes a field and its separator, if one is behind it; gives whether another field follows. */
static bool take_field(struct cursor *c, struct bi_csv_row *row, bool *closed)
{
    char *value = c->to, *from;
    bool more;
    skip_blanks(c);
    if (c->at < c->end && *c->at == '"') {
        c->at++;
        *closed = take_quoted(c);
        skip_blanks(c);
        row->quote |= !at_line_end(c) && *c->at != c->separator;
    }
    while (!at_line_end(c) && *c->at != c->separator)
        *c->to++ = *c->at++;
    for (from = value; from < c->to && (*from == ' ' || *from == '\t'); from++)
        ;
    while (c->to > from && (c->to[-1] == ' ' || c->to[-1] == '\t'))
        c->to--;
    memmove(value, from, (size_t)(c->to - from));
    c->to -= from - value;
    *c->to++ = '\0';
    more = !at_line_end(c);
    c->at += more;
    row->n_fields++;
    return more;
}

/* Takes a row and its end; false: a quote of it is not closed. */
static bool take_row(struct cursor *c, struct bi_csv_row *row)
{
    bool closed = true;
    char *begin = c->at;
    *row = (struct bi_csv_row){.text = begin, .cells = c->to, .line = c->line, .end = ""};
    skip_blanks(c);
    if (!at_line_end(c)) {
        c->at = begin;
        while (closed && take_field(c, row, &closed))
            ;
    }
    row->len = (size_t)(c->at - begin);
    if (c->at < c->end) {
        const bool both = *c->at == '\r' && c->at + 1 < c->end && c->at[1] == '\n';
        row->end = both ? "\r\n" : *c->at == '\r' ? "\r" : "\n";
        c->at += strlen(row->end);
        c->line++;
    }
    return closed;
}

/* Has the line that begins here a tab outside quotes? */
static bool has_tab(struct cursor c)
{
    bool quoted = false;
    for (; c.at < c.end && (quoted || !at_line_end(&c)); c.at++) {
        quoted ^= *c.at == '"';
        if (*c.at == '\t' && !quoted)
            return true;
    }
    return false;
}

static int unclosed(const struct bi_csv *t, const struct bi_csv_row *row,
                    struct bioinfer_error *err)
{
    return bi_csv_fail(t, row, err, "a quote begins here that is not closed");
}

/* Is a row one field in quotes that holds an object of JSON? */
static bool is_about(const struct bi_csv_row *row)
{
    return row->n_fields == 1 && row->text[0] == '"' && row->cells[0] == '{' && !row->quote;
}

static int take_header(struct bi_csv *t, struct cursor *c, struct bioinfer_error *err)
{
    do {
        while (c->at < c->end && *c->at == '#') {
            t->has_comments = true;
            for (; !at_line_end(c); c->at++)
                ;
            c->line++;
            c->at += c->at < c->end ? 1 + (*c->at == '\r' && c->at[1] == '\n') : 0;
        }
        c->separator = t->separator = has_tab(*c) ? '\t' : ',';
        if (c->at == c->end)
            return bi_fail(err, BIOINFER_FORMAT, "%s: the table is empty", t->path);
        if (!take_row(c, &t->header))
            return unclosed(t, &t->header, err);
    } while (!t->header.n_fields || is_about(&t->header));
    if (t->header.quote)
        return bi_csv_check(t, &t->header, err);
    if (t->header.n_fields > INT_MAX)
        return bi_fail(err, BIOINFER_LIMIT, "%s: %zu columns", t->path, t->header.n_fields);
    return 0;
}

/* Finds the rows of t->text. */
static int find_rows(struct bi_csv *t, struct bioinfer_error *err)
{
    struct cursor c = {.line = 1};
    struct bi_csv_row row;
    size_t n = 0;
    int st;
    if (memchr(t->text, 0, t->size))
        return bi_fail(err, BIOINFER_FORMAT, "%s: a NUL byte, expected a table of text", t->path);
    /* a field has its end of one byte or more behind it, but for the last one */
    if (!(t->values = bi_alloc(&t->env, t->size + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a table of %zu bytes", t->path, t->size);
    c.at = t->text + bi_text_mark(t->text, t->size);
    c.end = t->text + t->size;
    c.to = t->values;
    if ((st = take_header(t, &c, err)))
        return st;
    while (c.at < c.end) {
        if (!take_row(&c, &row))
            return unclosed(t, &row, err);
        if (!bi_grow(&t->env, &t->rows, &t->cap, t->n_rows + 1, sizeof *t->rows))
            return bi_fail(err, BIOINFER_NOMEM, "%s: %zu rows", t->path, t->n_rows + 1);
        t->rows[t->n_rows++] = row;
        n += row.n_fields != 0;
    }
    return n ? 0 : bi_fail(err, BIOINFER_FORMAT, "%s: no row below the header", t->path);
}

static int begin(struct bi_csv *t, const struct bi_env *env, const char *path,
                 struct bioinfer_error *err)
{
    *t = (struct bi_csv){.env = *env, .path = bi_strdup(env, path)};
    return t->path ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: a table", path);
}

/* Reads the stream, which it closes. */
static int read_table(struct bi_csv *t, struct bi_stream *stream, struct bioinfer_error *err)
{
    int st = read_all(t, stream, err);
    if (!st)
        st = find_rows(t, err);
    if (st)
        bi_csv_free(t);
    return st;
}

int bi_csv_read(struct bi_csv *t, const struct bi_env *env, const char *path,
                struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = begin(t, env, path, err);
    if (!st && !(st = bi_stream_open(&stream, &t->env, path, err)))
        return read_table(t, &stream, err);
    bi_csv_free(t);
    return st;
}

int bi_csv_read_memory(struct bi_csv *t, const struct bi_env *env, const char *name,
                       const char *text, size_t size, struct bioinfer_error *err)
{
    struct bi_stream stream = BI_STREAM_NONE;
    int st = begin(t, env, name, err);
    if (!st && !(st = bi_stream_from_memory(&stream, &t->env, name, text, size, err)))
        return read_table(t, &stream, err);
    bi_csv_free(t);
    return st;
}

void bi_csv_free(struct bi_csv *t)
{
    if (t->path) { /* else there is no environment */
        bi_free(&t->env, t->path);
        bi_free(&t->env, t->text);
        bi_free(&t->env, t->values);
        bi_free(&t->env, t->rows);
    }
    *t = (struct bi_csv){0};
}

/* ---- what is asked of it ---- */

int bi_csv_fail(const struct bi_csv *t, const struct bi_csv_row *row, struct bioinfer_error *err,
                const char *fmt, ...)
{
    char words[sizeof err->text];
    va_list args;
    va_start(args, fmt);
    vsnprintf(words, sizeof words, fmt, args);
    va_end(args);
    return bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: %s", t->path,
                   (unsigned long long)row->line, words);
}

int bi_csv_find(const struct bi_csv *t, const char *name, int *column, struct bioinfer_error *err)
{
    const char *cell = t->header.cells;
    *column = -1;
    for (size_t i = 0; i < t->header.n_fields; i++, cell = bi_csv_cell_next(cell)) {
        if (strcmp(cell, name) != 0)
            continue;
        if (*column >= 0)
            return bi_csv_fail(t, &t->header, err, "two columns '%.60s', number %d and %zu", name,
                               *column + 1, i + 1);
        *column = (int)i;
    }
    return 0;
}

int bi_csv_need(const struct bi_csv *t, const char *name, int *column, struct bioinfer_error *err)
{
    const size_t len = t->header.len;
    const int st = bi_csv_find(t, name, column, err);
    if (st || *column >= 0)
        return st;
    return bi_csv_fail(t, &t->header, err, "the header has no column '%.60s': '%.*s'%s%s", name,
                       len > 60 ? 60 : (int)len, t->header.text, len > 60 ? "..." : "",
                       t->has_comments ? " (lines before it that begin with # are comments)" : "");
}

int bi_csv_check(const struct bi_csv *t, const struct bi_csv_row *row, struct bioinfer_error *err)
{
    if (row->quote)
        return bi_csv_fail(t, row, err,
                           "text after a closing quote (a quote inside quotes is written twice)");
    if (row->n_fields && row->n_fields != t->header.n_fields)
        return bi_csv_fail(t, row, err, "%zu fields, the header has %zu%s", row->n_fields,
                           t->header.n_fields,
                           t->separator == ',' && row->n_fields > t->header.n_fields
                               ? " (a value with a comma stands in quotes)"
                               : "");
    return 0;
}

int bi_csv_next(const struct bi_csv *t, size_t *at, const struct bi_csv_row **row,
                struct bioinfer_error *err)
{
    while (*at < t->n_rows && !t->rows[*at].n_fields)
        ++*at;
    if (*at >= t->n_rows)
        return 0;
    *row = &t->rows[(*at)++];
    return bi_csv_check(t, *row, err) ? BIOINFER_FORMAT : 1;
}

const char *bi_csv_cell(const struct bi_csv *t, const struct bi_csv_row *row, int column)
{
    const char *cell = row->cells;
    if (column < 0 || row->quote || row->n_fields != t->header.n_fields)
        return NULL;
    for (; column; column--)
        cell = bi_csv_cell_next(cell);
    return cell;
}

const char *bi_csv_cell_next(const char *cell)
{
    return cell + strlen(cell) + 1;
}
