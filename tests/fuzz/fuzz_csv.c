/* fuzz_csv.c - tables of text (CSV, TSV). What stands in front of the header, the header and the
 * rows must be the bytes of the table, a row that is not faulty has as many values as the header,
 * and these written in quotes must be read again as the same. */
#include "../../loaders/csv.h"
#include "fuzz.h"

#include <stdio.h>

/* Gives where the row ends. */
static const char *check_row(const struct bi_csv *t, const struct bi_csv_row *row)
{
    const char *cell = row->cells;
    const size_t n_end = strlen(row->end);
    if (row->text < t->text || row->text + row->len + n_end > t->text + t->size ||
        memcmp(row->text + row->len, row->end, n_end))
        abort();
    for (size_t i = 0; i < row->n_fields; i++, cell = bi_csv_cell_next(cell))
        if (cell < t->values || cell + strlen(cell) > t->values + t->size)
            abort();
    return row->text + row->len + n_end;
}

static void check_values(const struct bi_csv *t, const struct bi_csv_row *row)
{
    const struct bi_env env = bi_env_default();
    char *text = malloc(4 * (row->len + t->header.len) + 64), *to = text;
    const char *cell = row->cells, *column = t->header.cells;
    struct bioinfer_error err = {0};
    struct bi_csv again;
    if (!text)
        return;
    for (int header = 1; header >= 0; header--, *to++ = '\n') {
        const char *value = header ? column : cell;
        for (size_t i = 0; i < row->n_fields; i++, value = bi_csv_cell_next(value)) {
            to += sprintf(to, "%s\"", i ? "," : "");
            for (const char *p = value; *p; p++)
                to += sprintf(to, *p == '"' ? "\"\"" : "%c", *p);
            *to++ = '"';
        }
    }
    if (bi_csv_read_memory(&again, &env, "again", text, (size_t)(to - text), &err) ||
        again.n_rows != 1 || again.header.n_fields != row->n_fields)
        abort();
    for (int i = 0; i < (int)row->n_fields; i++)
        if (strcmp(bi_csv_cell(&again, &again.rows[0], i), bi_csv_cell(t, row, i)) != 0)
            abort();
    bi_csv_free(&again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct bi_env env = bi_env_default();
    struct bioinfer_error err = {0};
    const struct bi_csv_row *row;
    struct bi_csv t = {0};
    const char *at;
    size_t next = 0;
    int column, st;
    if (bi_csv_read_memory(&t, &env, "fuzz.csv", (const char *)data, size, &err)) {
        if (!err.text[0] || t.text)
            abort();
        return 0;
    }
    at = check_row(&t, &t.header);
    for (size_t i = 0; i < t.n_rows; i++) {
        if (t.rows[i].text != at)
            abort();
        at = check_row(&t, &t.rows[i]);
    }
    if (at != t.text + t.size)
        abort();
    for (int n = 0; (st = bi_csv_next(&t, &next, &row, &err)) && n < 16; n++)
        if (st > 0 && row->n_fields < 64)
            check_values(&t, row);
        else if (st < 0 && bi_csv_cell(&t, row, 0))
            abort();
    if (bi_csv_find(&t, "mutant", &column, &err) && column < 0)
        abort();
    bi_csv_free(&t);
    return 0;
}
