/* a3m.c - alignments to a query in the A3M format. */
#include "a3m.h"

#include <stdio.h>
#include <string.h>

#include "lines.h"

struct reading {
    const struct bi_env *env;
    const char *path;
    struct bi_a3m *a;
    size_t at;       /* letters so far, of all rows */
    size_t begun;    /* where this row begins */
    size_t n_header; /* bytes of headers so far */
    int32_t deleted; /* letters since its last column */
    uint64_t header; /* the line of its header; 0: there was none */
};

/* N of the first "key=N" of a header; -1: there is none. Of a number the first 18 digits
 * count. */
static int64_t find_key(const char *header)
{
    static const char name[] = "key=";
    for (const char *at = header; (at = strstr(at, name)); at++) {
        const char *digit = at + sizeof name - 1;
        const bool negative = *digit == '-';
        int64_t n = 0;
        int count = 0;
        digit += negative;
        for (; digit[count] >= '0' && digit[count] <= '9' && count < 18; count++)
            n = 10 * n + (digit[count] - '0');
        if (count)
            return negative ? -n : n;
    }
    return -1;
}

/* Ends the row at hand, if there is one. */
static int end_row(struct reading *r, struct bioinfer_error *err)
{
    const size_t n = r->at - r->begun;
    struct bi_a3m *a = r->a;
    if (!r->header)
        return 0;
    if (!n && !a->depth)
        return bi_fail(err, BIOINFER_EMPTY,
                       "%s: line %llu: the first row has no residues in upper case", r->path,
                       (unsigned long long)r->header);
    if (!a->depth && memchr(a->letters, '-', n))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: the first row has a gap in column %zu, expected the query",
                       r->path, (unsigned long long)r->header,
                       (size_t)((char *)memchr(a->letters, '-', n) - a->letters) + 1);
    if (a->depth && n != (size_t)a->columns)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: row %d has %zu columns, expected %d as the first row has",
                       r->path, (unsigned long long)r->header, a->depth + 1, n, a->columns);
    if (!a->depth)
        a->columns = (int32_t)n;
    a->depth++;
    return 0;
}

static int begin_row(struct reading *r, const char *header, uint64_t line,
                     struct bioinfer_error *err)
{
    const size_t n = strlen(header) + 1;
    struct bi_a3m *a = r->a;
    const int st = end_row(r, err);
    if (st)
        return st;
    r->header = 0;
    if (a->depth == BI_A3M_ROWS)
        return 1;
    if (!bi_grow(r->env, &a->key, &a->cap_keys, (size_t)a->depth + 1, sizeof *a->key) ||
        !bi_grow(r->env, &a->header, &a->cap_header, (size_t)a->depth + 1, sizeof *a->header) ||
        !bi_grow(r->env, &a->headers, &a->cap_headers, r->n_header + n, 1))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %d rows", r->path, a->depth + 1);
    a->key[a->depth] = find_key(header);
    a->header[a->depth] = r->n_header;
    memcpy(a->headers + r->n_header, header, n);
    r->n_header += n;
    r->header = line;
    r->begun = r->at;
    r->deleted = 0;
    return 0;
}

static int refuse(const struct reading *r, unsigned char c, size_t place, uint64_t line,
                  struct bioinfer_error *err)
{
    char shown[8];
    snprintf(shown, sizeof shown, c > ' ' && c < 0x7F ? "'%c'" : "0x%02X", c);
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s: line %llu: character %zu is %s, expected a letter, '-' or '.'", r->path,
                   (unsigned long long)line, place + 1, shown);
}

/* Takes a line of the row at hand. */
static int add_letters(struct reading *r, const char *line, size_t n, uint64_t number,
                       struct bioinfer_error *err)
{
    struct bi_a3m *a = r->a;
    if (!bi_grow(r->env, &a->letters, &a->cap_letters, r->at + n + 1, 1) ||
        !bi_grow(r->env, &a->deleted, &a->cap_deleted, r->at + n + 1, sizeof *a->deleted))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %zu letters", r->path, r->at + n);
    for (size_t i = 0; i < n; i++) {
        const char c = line[i];
        if (c == '.' || (c >= 'a' && c <= 'z')) {
            r->deleted += r->deleted < INT32_MAX;
            continue;
        }
        if (c != '-' && !(c >= 'A' && c <= 'Z'))
            return refuse(r, (unsigned char)c, i, number, err);
        a->letters[r->at] = c;
        a->deleted[r->at++] = r->deleted;
        r->deleted = 0;
    }
    if (r->at - r->begun > BI_A3M_COLUMNS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: line %llu: more than %d columns", r->path,
                       (unsigned long long)number, BI_A3M_COLUMNS);
    return 0;
}

static int take(void *user, char *line, size_t n, uint64_t number, struct bioinfer_error *err)
{
    struct reading *r = user;
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    if (n && line[0] == '>')
        return begin_row(r, line + 1, number, err);
    if (!n || (line[0] == '#' && !r->header))
        return 0;
    if (!r->header)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: line %llu: expected a header, which begins with "
                       "'>'",
                       r->path, (unsigned long long)number);
    return add_letters(r, line, n, number, err);
}

/* Ends an alignment whose lines were taken with this status. */
static int end(struct reading *r, int st, struct bioinfer_error *err)
{
    if (st || (st = end_row(r, err)))
        return st;
    return r->a->depth
               ? 0
               : bi_fail(err, BIOINFER_EMPTY, "%s: no rows, expected an alignment", r->path);
}

int bi_a3m_read(struct bi_a3m *a, const struct bi_env *env, const char *path,
                struct bioinfer_error *err)
{
    struct reading r = {.env = env, .path = path, .a = a};
    *a = (struct bi_a3m){0};
    return end(&r, bi_lines_each(env, path, take, &r, err), err);
}

int bi_a3m_read_text(struct bi_a3m *a, const struct bi_env *env, const char *name, const char *text,
                     size_t n, struct bioinfer_error *err)
{
    struct reading r = {.env = env, .path = name, .a = a};
    struct bi_stream stream;
    int st;
    *a = (struct bi_a3m){0};
    if ((st = bi_stream_from_memory(&stream, env, name, text, n, err)))
        return st;
    return end(&r, bi_lines_of_stream(env, name, &stream, take, &r, err), err);
}

void bi_a3m_free(const struct bi_env *env, struct bi_a3m *a)
{
    bi_free(env, a->letters);
    bi_free(env, a->deleted);
    bi_free(env, a->key);
    bi_free(env, a->header);
    bi_free(env, a->headers);
    *a = (struct bi_a3m){0};
}
