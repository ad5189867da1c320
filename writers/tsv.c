/* tsv.c - a table: a header line, then one row per record (per array where several
 * kinds or layers were asked for), in input order:
 *
 *   id  length  status  message  [layer]  [kind]  d0  d1 ... dN
 *   id  length  status  message  labels            of an annotation head alone
 *
 * Rows of failed records have empty cells behind message. Their number is only known once a
 * record has worked, so failed records in front of the first good one wait in memory.
 */
#include <string.h>

#include "text.h"
#include "writer.h"

struct tsv {
    struct bi_out out;
    struct bi_buf rows;
    int64_t width;              /* -1: the header line is not yet written */
    bool layers, kinds, labels; /* columns that are there */
    size_t n_waiting;           /* failed rows without their empty cells in `rows` */
};

static int tsv_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct tsv *s = bi_zalloc(w->env, sizeof *s);
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->out = BI_OUT_NONE;
    s->rows.env = w->env;
    s->width = -1;
    return bi_writer_create(w, &s->out, w->path, err);
}

static int write_rows(struct bioinfer_writer *w, struct bi_buf *rows, struct bioinfer_error *err)
{
    struct tsv *s = w->state;
    int st = bi_writer_check(w, rows, err);
    if (st || (st = bi_out_write(&s->out, rows->data, rows->size, err)))
        return st;
    rows->size = 0;
    return 0;
}

static void put_empty_cells(const struct tsv *s, struct bi_buf *out)
{
    for (int64_t i = s->layers + s->kinds + s->labels; i > 0; i--)
        bi_buf_putc(out, '\t');
    for (int64_t i = 0; i < s->width; i++)
        bi_buf_putc(out, '\t');
    bi_buf_putc(out, '\n');
}

/* Writes the header line and the failed rows that waited for it. */
static int start_table(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct tsv *s = w->state;
    struct bi_buf text = {.env = w->env};
    const char *row = s->rows.data;
    int st;
    bi_buf_puts(&text, "id\tlength\tstatus\tmessage");
    bi_buf_puts(&text, s->layers ? "\tlayer" : "");
    bi_buf_puts(&text, s->kinds ? "\tkind" : "");
    bi_buf_puts(&text, s->labels ? "\tlabels" : "");
    for (int64_t i = 0; i < s->width; i++) {
        bi_buf_puts(&text, "\td");
        bi_put_u64(&text, (uint64_t)i);
    }
    bi_buf_putc(&text, '\n');
    st = write_rows(w, &text, err);
    for (; !st && s->n_waiting; s->n_waiting--) {
        size_t n = strcspn(row, "\n");
        bi_buf_append(&text, row, n);
        put_empty_cells(s, &text);
        row += n + 1;
        st = write_rows(w, &text, err);
    }
    s->rows.size = 0;
    bi_buf_free(&text);
    return st;
}

static void put_record(struct bi_buf *rows, const struct bioinfer_result *r, const char *name)
{
    bi_put_field(rows, name);
    bi_buf_putc(rows, '\t');
    bi_put_u64(rows, r->length > 0 ? (uint64_t)r->length : 0);
    bi_buf_putc(rows, '\t');
    bi_buf_puts(rows, bi_status_name(r->status));
    bi_buf_putc(rows, '\t');
    if (r->status)
        bi_put_field(rows, r->message ? r->message : "");
}

static int put_failed(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                      struct bioinfer_error *err)
{
    struct tsv *s = w->state;
    put_record(&s->rows, r, name);
    if (s->width >= 0) {
        put_empty_cells(s, &s->rows);
        return write_rows(w, &s->rows, err);
    }
    s->n_waiting++;
    bi_buf_putc(&s->rows, '\n');
    bi_buf_text(&s->rows); /* start_table() reads it as lines */
    return bi_writer_check(w, &s->rows, err);
}

static int put_labels(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                      struct bioinfer_error *err)
{
    struct tsv *s = w->state;
    int st = 0;
    if (s->width < 0) {
        s->width = 0;
        s->labels = true;
        st = start_table(w, err);
    }
    if (st)
        return st;
    put_record(&s->rows, r, name);
    bi_buf_putc(&s->rows, '\t');
    bi_put_field(&s->rows, r->labels);
    bi_buf_putc(&s->rows, '\n');
    return write_rows(w, &s->rows, err);
}

/* Vectors, or a head alone, of which the labels are written. */
static int tsv_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                     struct bioinfer_error *err)
{
    return r->labels && r->n_arrays == 1 ? 0 : bi_writer_vectors_only(w, r, err);
}

static int tsv_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                   struct bioinfer_error *err)
{
    struct tsv *s = w->state;
    int st;
    if (r->status)
        return put_failed(w, r, name, err);
    if (r->labels && r->n_arrays == 1)
        return put_labels(w, r, name, err);
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        uint64_t n, size;
        if ((st = bi_array_size(w, r, a, &n, &size, err)))
            return st;
        if (s->width < 0) {
            s->layers = r->n_layers_kept > 1;
            s->kinds = r->n_kinds > 1;
            s->width = a->shape[0];
            if ((st = start_table(w, err)))
                return st;
        }
        if (a->shape[0] != s->width)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: record '%.60s' has %lld values, the ones before have %lld", w->path,
                           r->id, (long long)a->shape[0], (long long)s->width);
        put_record(&s->rows, r, name);
        if (s->layers) {
            bi_buf_putc(&s->rows, '\t');
            if (a->has_layer)
                bi_put_u64(&s->rows, (uint64_t)a->layer);
        }
        if (s->kinds) {
            bi_buf_putc(&s->rows, '\t');
            bi_put_field(&s->rows, a->kind);
        }
        for (uint64_t k = 0; k < n; k++) {
            bi_buf_putc(&s->rows, '\t');
            bi_put_f32(&s->rows, a->data[k]);
        }
        bi_buf_putc(&s->rows, '\n');
    }
    return write_rows(w, &s->rows, err);
}

static int tsv_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct tsv *s = w->state;
    int st = 0;
    if (s->width < 0) { /* no record has worked */
        s->width = 0;
        st = start_table(w, err);
    }
    return st ? st : bi_out_finish(&s->out, err);
}

static void tsv_close(struct bioinfer_writer *w)
{
    struct tsv *s = w->state;
    if (!s)
        return;
    bi_out_close(&s->out);
    bi_buf_free(&s->rows);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_tsv = {
    .name = "tsv",
    .suffix = ".tsv",
    .to_stdout = true,
    .has_failed_rows = true,
    .check = tsv_check,
    .open = tsv_open,
    .put = tsv_put,
    .finish = tsv_finish,
    .close = tsv_close,
};
