/* columns.c - rows of arrays over all records; see columns.h. */
#include "columns.h"

#include <string.h>

enum { PIECE = 1 << 18, HEAD = 8 }; /* bytes that are read at once; of the number of items */

/* ---- the list ---- */

/* Takes the next field of a line into `out`; false: `end` does not end it, or it does not fit. */
static bool next_field(const char **at, char end, char *out, size_t size)
{
    const size_t n = strcspn(*at, "\t\n");
    if (n >= size || (*at)[n] != end)
        return false;
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n + 1;
    return true;
}

static bool is_name(const char *text)
{
    return *text && !text[strspn(text, "abcdefghijklmnopqrstuvwxyz_")];
}

/* The shape of a row, as "3,3", behind the rows; "-" is one number. */
static bool set_shape(struct bi_column *c, const char *text)
{
    c->n_dims = 1;
    if (!strcmp(text, "-"))
        return true;
    for (;; text += 2) {
        if (*text < '1' || *text > '9' || c->n_dims == (int)BI_COUNT(c->shape))
            return false;
        c->shape[c->n_dims++] = *text - '0';
        c->size *= (size_t)(*text - '0');
        if (text[1] != ',')
            return !text[1];
    }
}

/* Reads a line of the list, *at moved behind it. */
static bool parse_line(struct bi_column *c, const char **at)
{
    char type[8], of[8], shape[16];
    *c = (struct bi_column){.rows = BI_OUT_NONE};
    if (!next_field(at, '\t', c->name, sizeof c->name) ||
        !next_field(at, '\t', type, sizeof type) || !next_field(at, '\t', of, sizeof of) ||
        !next_field(at, '\t', shape, sizeof shape) ||
        !next_field(at, '\n', c->unit, sizeof c->unit))
        return false;
    c->per_item = !strcmp(of, "item");
    if (!is_name(c->name) || (!c->per_item && strcmp(of, "record")) ||
        (strcmp(type, "<f4") && strcmp(type, "<f8") && strcmp(type, "<i4") && strcmp(type, "<i8")))
        return false;
    memcpy(c->type, type, sizeof c->type);
    c->size = (size_t)(type[2] - '0');
    return set_shape(c, shape);
}

int bi_columns_parse(struct bi_columns *c, const struct bioinfer_writer *w,
                     struct bioinfer_error *err)
{
    const char *at = w->params.columns;
    int line = 1;
    c->n = 0;
    for (; *at; line++, c->n++) {
        struct bi_column *column = &c->of[c->n];
        bool ok = c->n < BI_COLUMNS_MOST && parse_line(column, &at) &&
                  strcmp(column->name, "offsets") && strcmp(column->name, BI_ROWS_IDS);
        for (int k = 0; ok && k < c->n; k++)
            ok = strcmp(column->name, c->of[k].name) != 0;
        if (!ok)
            return bi_fail(err, BIOINFER_INVALID, "%s: line %d of the list of arrays is wrong",
                           w->path, line);
    }
    if (!c->n)
        return bi_fail(err, BIOINFER_INVALID, "%s: the list of arrays is empty", w->path);
    c->of[c->n] = (struct bi_column){
        .name = "offsets", .type = "<i8", .n_dims = 1, .size = 8, .rows = BI_OUT_NONE};
    return 0;
}

/* ---- rows ---- */

int bi_columns_open(struct bi_columns *c, const struct bioinfer_writer *w,
                    struct bioinfer_error *err)
{
    struct bi_buf path = {.env = w->env};
    struct bi_column *offsets;
    int st = bi_columns_parse(c, w, err);
    c->text.env = w->env;
    for (int i = 0; i <= c->n && !st; i++) {
        path.size = 0;
        bi_buf_printf(&path, "%s.%s", w->path, c->of[i].name);
        st = bi_buf_text(&path) ? bi_out_open(&c->of[i].rows, w->env, path.data, err)
                                : bi_writer_check(w, &path, err);
    }
    bi_buf_free(&path);
    if (st || (st = bi_rows_open(&c->ids, w, err)))
        return st;
    offsets = &c->of[c->n];
    offsets->shape[0] = 1;
    return bi_out_write(&offsets->rows, &c->n_items, sizeof c->n_items, err);
}

int bi_columns_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                     struct bioinfer_error *err)
{
    if (r->n_arrays || r->n_texts != 1)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: record '%.60s' has %d arrays and %d texts, expected one text of rows",
                       w->path, r->id, r->n_arrays, r->n_texts);
    return 0;
}

/* The number of items that a text begins with, and whether the text has the bytes of so many. */
static bool find_items(const struct bi_columns *c, const struct bioinfer_text *text, int64_t *items)
{
    uint64_t size = HEAD, n;
    if (text->length < HEAD)
        return false;
    memcpy(items, text->text, sizeof *items);
    if (*items < 0)
        return false;
    for (int i = 0; i < c->n; i++)
        if (!bi_mul_size(c->of[i].size, c->of[i].per_item ? (uint64_t)*items : 1, &n) ||
            !bi_add_size(size, n, &size))
            return false;
    return size == text->length;
}

int bi_columns_put(struct bi_columns *c, const struct bioinfer_writer *w,
                   const struct bioinfer_result *r, const char *name, struct bioinfer_error *err)
{
    const char *at = r->texts[0].text + HEAD;
    struct bi_column *column = c->of;
    int64_t items = 0;
    int st;
    if (!find_items(c, &r->texts[0], &items))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: record '%.60s': its rows of %zu bytes differ from the arrays", w->path,
                       r->id, r->texts[0].length);
    if ((st = bi_rows_add_id(&c->ids, w, name, err)))
        return st;
    for (; column < c->of + c->n && !st; column++) {
        const int64_t n = column->per_item ? items : 1;
        st = bi_out_write(&column->rows, at, (size_t)n * column->size, err);
        column->shape[0] += n;
        at += (size_t)n * column->size;
    }
    c->n_items += items;
    c->of[c->n].shape[0]++;
    return st ? st : bi_out_write(&c->of[c->n].rows, &c->n_items, sizeof c->n_items, err);
}

int bi_columns_rows(struct bi_columns *c, const struct bioinfer_writer *w, int column,
                    int (*take)(void *user, const void *bytes, size_t n,
                                struct bioinfer_error *err),
                    void *user, struct bioinfer_error *err)
{
    struct bi_out *rows = &c->of[column].rows;
    const size_t piece = PIECE / c->of[column].size * c->of[column].size;
    int st = 0;
    c->text.size = 0;
    if (!bi_buf_reserve(&c->text, piece))
        return bi_writer_check(w, &c->text, err);
    for (uint64_t at = 0; at < rows->size && !st;) {
        const size_t n = rows->size - at < piece ? (size_t)(rows->size - at) : piece;
        if (!(st = bi_out_read(rows, at, c->text.data, n, err)))
            st = take(user, c->text.data, n, err);
        at += n;
    }
    return st;
}

void bi_columns_close(struct bi_columns *c)
{
    for (int i = 0; i < (int)BI_COUNT(c->of); i++)
        if (c->of[i].rows.env)
            bi_out_close(&c->of[i].rows);
    bi_rows_close(&c->ids);
    bi_buf_free(&c->text);
}
