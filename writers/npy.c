/* npy.c - one matrix [n, D] of float32 or float16, a row per record in input order, and the ids of
 * the rows, one a line, in <path without .npy>.ids.txt. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rows.h"
#include "text.h"
#include "writer.h"

struct npy {
    struct bi_out out, ids;
    struct bi_buf text;
    int64_t n, width; /* width -1: no row yet */
};

void bi_npy_header(struct bi_buf *out, const char *type, int n_dims, const int64_t *shape)
{
    size_t start = out->size, n;
    bi_buf_append(out, "\x93NUMPY\x01\x00\x00\x00", 10);
    bi_buf_printf(out, "{'descr': '%s', 'fortran_order': False, 'shape': (", type);
    for (int i = 0; i < n_dims; i++) {
        bi_buf_puts(out, i ? ", " : "");
        bi_put_u64(out, (uint64_t)shape[i]);
    }
    bi_buf_puts(out, n_dims == 1 ? ",), }" : "), }");
    if (n_dims) /* NumPy leaves room for shape[0] to grow to 21 digits in place */
        bi_buf_printf(out, "%*s", 21 - snprintf(NULL, 0, "%lld", (long long)shape[0]), "");
    n = out->size - start; /* an already aligned header gets 64 bytes more, as NumPy's does */
    bi_buf_printf(out, "%*s\n", (int)(64 - (n + 1) % 64), "");
    if (!out->failed) {
        n = out->size - start - 10;
        out->data[start + 8] = (char)(n & 255);
        out->data[start + 9] = (char)(n >> 8);
    }
}

static int npy_side_path(struct bi_buf *out, const char *path)
{
    size_t n = strlen(path);
    if (n > 4 && !strcmp(path + n - 4, ".npy"))
        n -= 4;
    bi_buf_append(out, path, n);
    bi_buf_puts(out, ".ids.txt");
    return bi_buf_text(out) ? 0 : BIOINFER_NOMEM;
}

static int npy_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npy *s = bi_zalloc(w->env, sizeof *s);
    struct bi_buf path = {.env = w->env};
    int st;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->out = s->ids = BI_OUT_NONE;
    s->text.env = w->env;
    s->width = -1;
    npy_side_path(&path, w->path);
    if (!(st = bi_writer_check(w, &path, err)) &&
        !(st = bi_writer_create(w, &s->out, w->path, err)))
        st = bi_writer_create(w, &s->ids, path.data, err);
    bi_buf_free(&path);
    return st;
}

static int put_header(struct bioinfer_writer *w, bool patch, struct bioinfer_error *err)
{
    struct npy *s = w->state;
    int64_t shape[2] = {s->n, s->width < 0 ? 0 : s->width};
    int st;
    s->text.size = 0;
    bi_npy_header(&s->text, bi_npy_type(w), 2, shape);
    if ((st = bi_writer_check(w, &s->text, err)))
        return st;
    return patch ? bi_out_patch(&s->out, 0, s->text.data, s->text.size, err)
                 : bi_out_write(&s->out, s->text.data, s->text.size, err);
}

static int npy_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                     struct bioinfer_error *err)
{
    int st = bi_writer_vectors_only(w, r, err);
    if (!st && r->n_arrays != 1)
        st = bi_fail(err, BIOINFER_INVALID,
                     "%s: npy holds one array per record, got %d (several kinds or layers); "
                     "npz, safetensors, jsonl and tsv hold more",
                     w->path, r->n_arrays);
    return st;
}

static int npy_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                   struct bioinfer_error *err)
{
    struct npy *s = w->state;
    const struct bioinfer_array *a = r->arrays;
    const void *bytes;
    size_t size;
    int st = bi_array_bytes(w, r, a, &bytes, &size, err);
    if (st)
        return st;
    if (s->width < 0) {
        s->width = a->shape[0];
        if ((st = put_header(w, false, err)))
            return st;
    }
    if ((st = bi_rows_same_width(w, r, s->width, err)))
        return st;
    s->text.size = 0;
    bi_put_field(&s->text, name);
    bi_buf_putc(&s->text, '\n');
    if ((st = bi_writer_check(w, &s->text, err)) || (st = bi_out_write(&s->out, bytes, size, err)))
        return st;
    s->n++;
    return bi_out_write(&s->ids, s->text.data, s->text.size, err);
}

static int npy_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npy *s = w->state;
    int st = put_header(w, s->width >= 0, err);
    if (st || (st = bi_out_finish(&s->ids, err)))
        return st;
    if ((st = bi_out_finish(&s->out, err)))
        unlink(s->ids.path);
    return st;
}

static void npy_close(struct bioinfer_writer *w)
{
    struct npy *s = w->state;
    if (!s)
        return;
    bi_out_close(&s->out);
    bi_out_close(&s->ids);
    bi_buf_free(&s->text);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_npy = {
    .name = "npy",
    .suffix = ".npy",
    .has_half = true,
    .matrix = &bi_writer_npy,
    .side_path = npy_side_path,
    .check = npy_check,
    .open = npy_open,
    .put = npy_put,
    .finish = npy_finish,
    .close = npy_close,
};
