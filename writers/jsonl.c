/* jsonl.c - one JSON object per record and line, in input order:
 *
 *   {"ordinal":0,"id":"P1","length":3,"status":"ok","arrays":[{"kind":"mean","layer":6,
 *    "dtype":"f4","shape":[320],"data":"<base64 of little-endian float32>"}]}
 *   {"ordinal":1,"id":"P2","length":0,"status":"empty","message":"in.fa: record 'P2' (line 3):
 *    no residues"}
 *
 * "layer" is absent from arrays of no layer; "id_b64" follows an id that is no UTF-8
 * and holds its bytes. With json_floats "data" is nested arrays of shortest decimals.
 */
#include <stdio.h>
#include <string.h>

#include "place.h"
#include "text.h"
#include "units.h"
#include "writer.h"

struct jsonl {
    struct bi_out out;
    struct bi_buf line;
};

static int jsonl_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct jsonl *s = bi_zalloc(w->env, sizeof *s);
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->out = BI_OUT_NONE;
    s->line.env = w->env;
    return bi_writer_create(w, &s->out, w->path, err);
}

/* Puts where array `index` lies on a genome, if the result says so. */
static void put_place(struct bi_buf *line, const struct bioinfer_result *r, int index)
{
    struct bi_window_place p;
    bool last;
    char contig[256];
    if (!bi_read_place(r, index, &p, &last))
        return;
    snprintf(contig, sizeof contig, "%.*s", (int)p.n_contig, p.contig);
    bi_buf_puts(line, ",\"contig\":");
    bi_put_json(line, contig);
    bi_buf_printf(line, ",\"start\":%lld,\"bin_size\":%lld", p.start, p.bin_size);
}

static int put_array(struct bioinfer_writer *w, const struct bioinfer_result *r, int index,
                     struct bioinfer_error *err)
{
    const struct bioinfer_array *a = &r->arrays[index];
    struct bi_buf *line = &((struct jsonl *)w->state)->line;
    uint64_t n, size;
    int st = bi_array_size(w, r, a, &n, &size, err);
    if (st)
        return st;
    bi_buf_puts(line, "{\"kind\":");
    bi_put_json(line, a->kind);
    if (bi_unit_of_kind(a->kind)) {
        bi_buf_puts(line, ",\"unit\":");
        bi_put_json(line, bi_unit_of_kind(a->kind));
    }
    if (a->has_layer)
        bi_buf_printf(line, ",\"layer\":%d", a->layer);
    bi_buf_puts(line, ",\"dtype\":\"f4\",\"shape\":[");
    for (int k = 0; k < a->n_dims; k++) {
        bi_buf_puts(line, k ? "," : "");
        bi_put_u64(line, (uint64_t)a->shape[k]);
    }
    bi_buf_putc(line, ']');
    put_place(line, r, index);
    bi_buf_puts(line, ",\"data\":");
    if (w->params.json_floats) {
        bi_put_json_nested(line, a);
    } else {
        bi_buf_putc(line, '"');
        bi_put_base64(line, a->data, (size_t)size);
        bi_buf_putc(line, '"');
    }
    bi_buf_putc(line, '}');
    return 0;
}

static int jsonl_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                     struct bioinfer_error *err)
{
    struct jsonl *s = w->state;
    struct bi_buf *line = &s->line;
    int st;
    line->size = 0;
    bi_buf_puts(line, "{\"ordinal\":");
    /* beyond 2^53 numbers are not exact to most readers */
    bi_buf_puts(line, r->ordinal >> 53 ? "\"" : "");
    bi_put_u64(line, r->ordinal);
    bi_buf_puts(line, r->ordinal >> 53 ? "\"" : "");
    bi_buf_puts(line, ",\"id\":");
    bi_put_json(line, name);
    if (!bi_utf8_valid(name)) {
        bi_buf_puts(line, ",\"id_b64\":\"");
        bi_put_base64(line, name, strlen(name));
        bi_buf_putc(line, '"');
    }
    bi_buf_puts(line, ",\"length\":");
    bi_put_u64(line, r->length > 0 ? (uint64_t)r->length : 0);
    bi_buf_printf(line, ",\"status\":\"%s\"", bi_status_name(r->status));
    if (r->status) {
        bi_buf_puts(line, ",\"message\":");
        bi_put_json(line, r->message ? r->message : "");
    } else {
        if (r->labels) {
            bi_buf_puts(line, ",\"labels\":");
            bi_put_json(line, r->labels);
        }
        bi_buf_puts(line, ",\"arrays\":[");
        for (int i = 0; i < r->n_arrays; i++) {
            bi_buf_puts(line, i ? "," : "");
            if ((st = put_array(w, r, i, err)))
                return st;
        }
        bi_buf_putc(line, ']');
    }
    bi_buf_puts(line, "}\n");
    if ((st = bi_writer_check(w, line, err)))
        return st;
    return bi_out_write(&s->out, line->data, line->size, err);
}

static int jsonl_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    return bi_out_finish(&((struct jsonl *)w->state)->out, err);
}

static void jsonl_close(struct bioinfer_writer *w)
{
    struct jsonl *s = w->state;
    if (!s)
        return;
    bi_out_close(&s->out);
    bi_buf_free(&s->line);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_jsonl = {
    .name = "jsonl",
    .suffix = ".jsonl",
    .suffix2 = ".ndjson",
    .to_stdout = true,
    .has_failed_rows = true,
    .open = jsonl_open,
    .put = jsonl_put,
    .finish = jsonl_finish,
    .close = jsonl_close,
};
