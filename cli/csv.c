/* csv.c - tables of mutants. Rows are kept byte for byte: a column is added behind them
 * and nothing else changes. Quoting as in RFC 4180; the separator is a tab when the
 * header line holds one outside quotes, else a comma. */
#include "cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_SIZE ((size_t)1 << 30) /* the largest table: 1 GiB */

static int fail(struct bioinfer_error *err, int code, int status, const char *path, long line,
                const char *what)
{
    err->status = status;
    if (line)
        snprintf(err->text, sizeof err->text, "%s:%ld: %s", path, line, what);
    else
        snprintf(err->text, sizeof err->text, "%s: %s", path, what);
    return code;
}

/* The bytes of a file, from a pipe as well; one NUL behind them. */
static int read_all(struct cli_csv *csv, const char *path, struct bioinfer_error *err)
{
    struct stat st;
    FILE *file = fopen(path, "rb");
    size_t cap = 0, n;
    int code = CLI_EXIT_OK;

    if (!file || (!fstat(fileno(file), &st) && S_ISDIR(st.st_mode))) {
        code = fail(err, CLI_EXIT_NO_INPUT, BIOINFER_NOT_FOUND, path, 0,
                    strerror(file ? EISDIR : errno));
        goto out;
    }
    do {
        if (cap - csv->size < 2) {
            char *grown = cap < MAX_SIZE ? realloc(csv->data, cap ? 2 * cap : 65536) : NULL;
            if (!grown) {
                code = fail(err, CLI_EXIT_NO_MEMORY, BIOINFER_NOMEM, path, 0,
                            cap < MAX_SIZE ? "out of memory" : "the table is too large");
                goto out;
            }
            csv->data = grown;
            cap = cap ? 2 * cap : 65536;
        }
        n = fread(csv->data + csv->size, 1, cap - csv->size - 1, file);
        csv->size += n;
    } while (n);
    csv->data[csv->size] = 0;
    if (ferror(file))
        code = fail(err, CLI_EXIT_IO, BIOINFER_IO, path, 0, strerror(errno));
out:
    if (file)
        fclose(file);
    return code;
}

/* The end of the row that starts at p: its line feed, or the end of the text. Counts
 * the lines inside quoted cells. */
static char *row_end(char *p, const char *end, long *lines)
{
    bool quoted = false;

    for (; p < end && (quoted || *p != '\n'); p++) {
        if (*p == '"')
            quoted = !quoted;
        if (*p == '\n')
            ++*lines;
    }
    return p;
}

/* Column number `index` of a row as a new string, outer quotes taken off, doubled
 * quotes single; false: no memory. NULL when the row is shorter. */
static bool cell(const struct cli_csv_row *row, char separator, int index, char **text)
{
    const char *p = row->text, *end = p + row->len;
    char *out, *w;
    bool quoted = false;

    *text = NULL;
    for (; index > 0; index--) {
        for (; p < end && (quoted || *p != separator); p++)
            if (*p == '"')
                quoted = !quoted;
        if (p++ >= end)
            return true;
    }
    if (!(out = w = malloc((size_t)(end - p) + 1)))
        return false;
    for (; p < end && (quoted || *p != separator); p++) {
        if (*p == '"') {
            if (quoted && p + 1 < end && p[1] == '"')
                *w++ = *p++;
            else
                quoted = !quoted;
        } else {
            *w++ = *p;
        }
    }
    while (w > out && (w[-1] == ' ' || w[-1] == '\t'))
        w--;
    *w = 0;
    for (p = out; *p == ' '; p++)
        ;
    memmove(out, p, (size_t)(w - p) + 1);
    *text = out;
    return true;
}

static bool add_row(struct cli_csv *csv, const struct cli_csv_row *row)
{
    if (csv->n_rows == csv->cap) {
        size_t cap = csv->cap ? 2 * csv->cap : 256;
        struct cli_csv_row *rows = realloc(csv->rows, cap * sizeof *rows);
        if (!rows)
            return false;
        csv->rows = rows;
        csv->cap = cap;
    }
    csv->rows[csv->n_rows++] = *row;
    return true;
}

static int find_column(struct cli_csv *csv, const char *path, const char *column,
                       struct bioinfer_error *err, int *index)
{
    char *name, what[160];

    for (*index = 0;; ++*index) {
        bool found;
        if (!cell(&csv->header, csv->separator, *index, &name))
            return fail(err, CLI_EXIT_NO_MEMORY, BIOINFER_NOMEM, path, 1, "out of memory");
        if (!name)
            break;
        found = !strcmp(name, column);
        free(name);
        if (found)
            return CLI_EXIT_OK;
    }
    snprintf(what, sizeof what, "no column '%.60s' in the header line '%.*s'", column,
             csv->header.len > 60 ? 60 : (int)csv->header.len, csv->header.text);
    return fail(err, CLI_EXIT_DATA, BIOINFER_FORMAT, path, 1, what);
}

/* Finds the rows of csv->data, behind which a NUL stands. */
static int find_rows(struct cli_csv *csv, const char *path, const char *column,
                     struct bioinfer_error *err)
{
    int index = 0, code;
    long line = 1;
    char *p, *end;

    if (memchr(csv->data, 0, csv->size))
        return fail(err, CLI_EXIT_DATA, BIOINFER_FORMAT, path, 0, "not a text table");
    p = csv->data;
    end = p + csv->size;
    if (csv->size >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3))
        p += 3;
    for (bool header = true; p < end; header = false) {
        struct cli_csv_row row = {.text = p, .end = "", .line = line};
        char *stop = row_end(p, end, &line);

        row.len = (size_t)(stop - p);
        if (stop < end)
            row.end = "\n";
        if (row.len && stop[-1] == '\r') {
            row.len--;
            row.end = stop < end ? "\r\n" : "\r";
        }
        line++;
        p = stop + (stop < end);
        if (header) {
            if (memchr(row.text, '\t', row.len))
                csv->separator = '\t';
            csv->header = row;
            if ((code = find_column(csv, path, column, err, &index)))
                return code;
            continue;
        }
        /* a short row has no value: reported with its line by the caller */
        if ((row.len && !cell(&row, csv->separator, index, &row.value)) || !add_row(csv, &row)) {
            free(row.value);
            return fail(err, CLI_EXIT_NO_MEMORY, BIOINFER_NOMEM, path, row.line, "out of memory");
        }
    }
    if (!csv->header.text)
        return fail(err, CLI_EXIT_DATA, BIOINFER_FORMAT, path, 0, "the table is empty");
    return CLI_EXIT_OK;
}

int cli_csv_read(struct cli_csv *csv, const char *path, const char *column,
                 struct bioinfer_error *err)
{
    int code;

    *csv = (struct cli_csv){.separator = ','};
    code = read_all(csv, path, err);
    return code ? code : find_rows(csv, path, column, err);
}

void cli_csv_free(struct cli_csv *csv)
{
    for (size_t i = 0; i < csv->n_rows; i++)
        free(csv->rows[i].value);
    free(csv->rows);
    free(csv->data);
    *csv = (struct cli_csv){0};
}

void cli_csv_cell(struct cli_output *out, char separator, const char *text)
{
    if (separator == '\t' || !strpbrk(text, ",\"\r\n")) {
        cli_output_field(out, text);
        return;
    }
    cli_output_write(out, "\"", 1);
    for (; *text; text++)
        cli_output_write(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    cli_output_write(out, "\"", 1);
}
