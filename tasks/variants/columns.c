/* columns.c - rows of a result as columns of one type each. */
#include "variants.h"

#include <string.h>

void bi_row_columns_add(const struct bi_env *env, struct bi_row_columns *c, const char *name,
                        int type)
{
    assert(c->n < BI_MOST_COLUMNS);
    c->of[c->n++] = (struct bi_row_column){
        .name = name, .type = type, .data = {.env = env}, .bytes = {.env = env}};
}

/* The column of the next cell. */
static struct bi_row_column *next_column(struct bi_row_columns *c, int type)
{
    struct bi_row_column *column = &c->of[c->at];
    assert(column->type == type);
    if (++c->at == c->n) {
        c->at = 0;
        c->n_rows++;
    }
    return column;
}

void bi_row_columns_text(struct bi_row_columns *c, const char *text, size_t n)
{
    struct bi_row_column *column = next_column(c, BIOINFER_TEXT);
    int64_t end = 0;
    if (!column->data.size)
        bi_buf_append(&column->data, &end, sizeof end);
    bi_buf_append(&column->bytes, text, n);
    end = (int64_t)column->bytes.size;
    bi_buf_append(&column->data, &end, sizeof end);
}

void bi_row_columns_i64(struct bi_row_columns *c, int64_t number)
{
    bi_buf_append(&next_column(c, BIOINFER_I64)->data, &number, sizeof number);
}

void bi_row_columns_f32(struct bi_row_columns *c, float number)
{
    bi_buf_append(&next_column(c, BIOINFER_F32)->data, &number, sizeof number);
}

void bi_row_columns_f64(struct bi_row_columns *c, double number)
{
    bi_buf_append(&next_column(c, BIOINFER_F64)->data, &number, sizeof number);
}

int bi_row_columns_give(struct bi_row_columns *c, struct bioinfer_result *r,
                        struct bioinfer_error *err)
{
    for (int i = 0; i < c->n; i++) {
        const struct bi_row_column *column = &c->of[i];
        const bool texts = column->type == BIOINFER_TEXT;
        if (column->data.failed || column->bytes.failed)
            return bi_fail(err, BIOINFER_NOMEM, "%s: rows", r->id);
        c->is[i] = (struct bioinfer_column){
            .name = column->name,
            .type = column->type,
            .data = column->data.data,
            .bytes = texts && !column->bytes.data ? "" : column->bytes.data};
    }
    r->n_rows = c->n_rows;
    r->n_columns = c->n;
    r->columns = c->is;
    return 0;
}

void bi_row_columns_clear(struct bi_row_columns *c)
{
    for (int i = 0; i < c->n; i++)
        c->of[i].data.size = c->of[i].bytes.size = 0;
    c->at = 0;
    c->n_rows = 0;
}

void bi_row_columns_free(struct bi_row_columns *c)
{
    for (int i = 0; i < c->n; i++) {
        bi_buf_free(&c->of[i].data);
        bi_buf_free(&c->of[i].bytes);
    }
    *c = (struct bi_row_columns){.n = 0};
}
