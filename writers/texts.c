/* texts.c - an output of finished text: a head, of each result its rows as lines and its texts as
 * they stand, a tail. */
#include <string.h>

#include "text.h"
#include "writer.h"

static int texts_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct bi_out *out = bi_zalloc(w->env, sizeof *out);
    int st;
    if (!out)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    *out = BI_OUT_NONE;
    w->state = out;
    st = bi_writer_create(w, out, w->path, err);
    return st ? st : bi_out_write(out, w->text_head, strlen(w->text_head), err);
}

static int texts_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    if (!r->n_arrays || r->n_columns)
        return 0;
    return bi_fail(err, BIOINFER_INVALID, "%s: record '%.60s' has arrays, expected texts", w->path,
                   r->id);
}

static int texts_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                     struct bioinfer_error *err)
{
    struct bi_buf rows = {.env = w->env};
    int st = 0;
    (void)name;
    if (r->n_rows) {
        bi_put_lines(&rows, r, bi_count_cells(w->text_head));
        st = rows.failed ? bi_fail(err, BIOINFER_NOMEM, "%s: rows", w->path)
                         : bi_out_write(w->state, rows.data, rows.size, err);
        bi_buf_free(&rows);
    }
    for (int i = 0; i < r->n_texts && !st; i++)
        st = bi_out_write(w->state, r->texts[i].text, r->texts[i].length, err);
    return st;
}

static int texts_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    const int st = bi_out_write(w->state, w->text_tail, strlen(w->text_tail), err);
    return st ? st : bi_out_finish(w->state, err);
}

static void texts_close(struct bioinfer_writer *w)
{
    if (!w->state)
        return;
    bi_out_close(w->state);
    bi_free(w->env, w->state);
}

const struct bi_writer_ops bi_writer_texts = {
    .name = "text",
    .has_failed_rows = true, /* where a record has a text that says so */
    .check = texts_check,
    .open = texts_open,
    .put = texts_put,
    .finish = texts_finish,
    .close = texts_close,
};
