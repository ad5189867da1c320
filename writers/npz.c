/* npz.c - arrays by key in a ZIP of stored NPY members, as numpy.load reads it. The
 * archive's comment names bioinfer, the model and its fingerprint, and in a second line the kinds
 * of its arrays, in a third their units. Where arrays of windows lie on a
 * genome stands in a member "windows.tsv" behind them, units of arrays in "units.tsv". */
#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "place.h"
#include "rows.h"
#include "text.h"
#include "writer.h"
#include "zip_out.h"

enum { MAX_ID = 60000 }; /* bytes; a member name has at most 65,535 */

struct npz {
    struct bi_zip_out zip;
    struct bi_buf header, key;
    struct bi_buf windows; /* lines of windows.tsv */
    struct bi_rows matrix; /* used by the layout matrix */
    struct bi_columns columns;
};

/* Member names are paths to whoever unpacks the file: none may lead out of a folder.
 * NumPy takes "x.npy" for the member of key "x". */
static void npz_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                       const struct bioinfer_result *r)
{
    const char *id = r->id;
    size_t n = strlen(id), start = 0;
    (void)w;
    if (!n || n > MAX_ID) {
        bi_buf_printf(out, "seq_%llu", (unsigned long long)r->ordinal);
        return;
    }
    for (size_t i = 0; i <= n; i++) {
        if (i < n && id[i] != '/' && id[i] != '\\')
            continue;
        if (i - start == 2 && id[start] == '.' && id[start + 1] == '.')
            bi_buf_putc(out, '_');
        else
            for (size_t k = start; k < i; k++) {
                unsigned char c = (unsigned char)id[k];
                bi_buf_putc(out, c < 0x20 || c == 0x7F ? '_' : id[k]);
            }
        if (i < n)
            bi_buf_putc(out, i ? id[i] : '_');
        start = i + 1;
    }
    if (!out->failed && out->size >= 4 && !memcmp(out->data + out->size - 4, ".npy", 4))
        out->data[out->size - 4] = '_';
}

static int npz_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = bi_zalloc(w->env, sizeof *s);
    int st;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->header.env = s->key.env = s->windows.env = w->env;
    st = bi_zip_out_open(&s->zip, w->env, w->path, err);
    s->zip.out.sync = w->moved_later ? BI_SYNC_CONTENTS : BI_SYNC_ALL;
    return st;
}

/* Adds a line to windows.tsv that says where an array lies. */
static void put_place(struct npz *s, const char *name, const struct bioinfer_array *a,
                      const struct bi_window_place *p)
{
    if (!s->windows.size)
        bi_buf_puts(&s->windows, "id\tarray\tcontig\tstart\tbin_size\n");
    bi_buf_printf(&s->windows, "%s\t%s\t%.*s\t%lld\t%lld\n", name, a->kind, (int)p->n_contig,
                  p->contig, p->start, p->bin_size);
}

static int npz_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                   struct bioinfer_error *err)
{
    struct npz *s = w->state;
    s->zip.n_threads = w->n_threads;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        struct bi_window_place place;
        const void *bytes;
        size_t size;
        bool last;
        int st = bi_array_bytes(w, r, a, &bytes, &size, err);
        if (st)
            return st;
        if (bi_array_key(&s->key, name, r, a))
            return bi_writer_check(w, &s->key, err);
        bi_buf_puts(&s->key, ".npy");
        bi_buf_text(&s->key);
        s->header.size = 0;
        bi_npy_header(&s->header, bi_npy_type(w), a->n_dims, a->shape);
        if ((st = bi_writer_check(w, &s->key, err)) || (st = bi_writer_check(w, &s->header, err)) ||
            (st = bi_zip_out_put(&s->zip, s->key.data, s->header.data, s->header.size, bytes, size,
                                 err)))
            return st;
        if (bi_read_place(r, i, &place, &last))
            put_place(s, name, a, &place);
    }
    return bi_writer_check(w, &s->windows, err);
}

static int npz_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    int st = s->windows.size ? bi_zip_out_put(&s->zip, "windows.tsv", "", 0, s->windows.data,
                                              s->windows.size, err)
                             : 0;
    if (st)
        return st;
    s->key.size = 0;
    bi_buf_printf(&s->key, "bioinfer %d.%d.%d %.200s %.64s", BIOINFER_VERSION_MAJOR,
                  BIOINFER_VERSION_MINOR, BIOINFER_VERSION_PATCH, w->params.model,
                  w->params.fingerprint);
    if (w->kinds.size)
        bi_buf_printf(&s->key, "\nkinds %s", w->kinds.data);
    if (w->units.size)
        bi_buf_printf(&s->key, "\nunits %s", w->units.data);
    bi_buf_text(&s->key);
    st = bi_writer_check(w, &s->key, err);
    return st ? st : bi_zip_out_finish(&s->zip, s->key.data, err);
}

static void npz_close(struct bioinfer_writer *w)
{
    struct npz *s = w->state;
    if (!s)
        return;
    bi_zip_out_close(&s->zip);
    bi_rows_close(&s->matrix);
    bi_columns_close(&s->columns);
    bi_buf_free(&s->header);
    bi_buf_free(&s->key);
    bi_buf_free(&s->windows);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_npz = {
    .name = "npz",
    .suffix = ".npz",
    .keyed_by_id = true,
    .has_half = true,
    .matrix = &bi_writer_npz_matrix,
    .columns = &bi_writer_npz_columns,
    .open = npz_open,
    .rename = npz_rename,
    .put = npz_put,
    .finish = npz_finish,
    .close = npz_close,
};

/* ---- the layout matrix: two members, embeddings and ids ---- */

static int matrix_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    int st = npz_open(w, err);
    struct npz *s = w->state;
    return st ? st : bi_rows_open(&s->matrix, w, err);
}

/* Makes s->header that of the matrix. */
static int make_header(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    const int64_t shape[2] = {s->matrix.n, bi_rows_width(&s->matrix)};
    s->header.size = 0;
    bi_npy_header(&s->header, bi_npy_type(w), 2, shape);
    return bi_writer_check(w, &s->header, err);
}

static int begin_rows(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    int st = make_header(w, err);
    char name[64];
    if (snprintf(name, sizeof name, "%s.npy", w->params.matrix_name) >= (int)sizeof name)
        return bi_fail(err, BIOINFER_INVALID, "%s: the name of a matrix has at most 59 characters",
                       w->path);
    return st ? st : bi_zip_out_begin(&s->zip, name, s->header.data, s->header.size, err);
}

static int matrix_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                      struct bioinfer_error *err)
{
    struct npz *s = w->state;
    const void *bytes;
    size_t size;
    int st = bi_rows_add(&s->matrix, w, r, name, &bytes, &size, err);
    if (!st && s->matrix.n == 1)
        st = begin_rows(w, err);
    return st ? st : bi_zip_out_append(&s->zip, bytes, size, err);
}

static int take_bytes(void *user, const void *bytes, size_t n, struct bioinfer_error *err)
{
    struct npz *s = user;
    return bi_zip_out_append(&s->zip, bytes, n, err);
}

/* Writes the member of ids. */
static int put_ids(struct bioinfer_writer *w, struct bi_rows *ids, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    char type[32];
    int st;
    snprintf(type, sizeof type, "|S%zu", ids->longest);
    s->header.size = 0;
    bi_npy_header(&s->header, type, 1, &ids->n);
    if ((st = bi_writer_check(w, &s->header, err)) ||
        (st = bi_zip_out_begin(&s->zip, BI_ROWS_IDS ".npy", s->header.data, s->header.size, err)) ||
        (st = bi_rows_ids(ids, w, take_bytes, s, err)))
        return st;
    return bi_zip_out_end(&s->zip, s->header.data, s->header.size, err);
}

static int matrix_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    int st = s->matrix.n ? 0 : begin_rows(w, err);
    if (st || (st = make_header(w, err)) ||
        (st = bi_zip_out_end(&s->zip, s->header.data, s->header.size, err)) ||
        (st = put_ids(w, &s->matrix, err)))
        return st;
    return npz_finish(w, err);
}

const struct bi_writer_ops bi_writer_npz_matrix = {
    .name = "npz",
    .suffix = ".npz",
    .has_half = true,
    .matrix = &bi_writer_npz_matrix,
    .check = bi_rows_check,
    .open = matrix_open,
    .rename = bi_rows_rename,
    .put = matrix_put,
    .finish = matrix_finish,
    .close = npz_close,
};

/* ---- arrays of all records: a member for each, offsets, ids, and units ---- */

static int columns_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    int st = npz_open(w, err);
    struct npz *s = w->state;
    return st ? st : bi_columns_open(&s->columns, w, err);
}

static int columns_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                       struct bioinfer_error *err)
{
    struct npz *s = w->state;
    return bi_columns_put(&s->columns, w, r, name, err);
}

/* Writes the member of an array. */
static int put_column(struct bioinfer_writer *w, int i, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    const struct bi_column *c = &s->columns.of[i];
    int st;
    s->key.size = s->header.size = 0;
    bi_buf_printf(&s->key, "%s.npy", c->name);
    bi_buf_text(&s->key);
    bi_npy_header(&s->header, c->type, c->n_dims, c->shape);
    if ((st = bi_writer_check(w, &s->key, err)) || (st = bi_writer_check(w, &s->header, err)) ||
        (st = bi_zip_out_begin(&s->zip, s->key.data, s->header.data, s->header.size, err)) ||
        (st = bi_columns_rows(&s->columns, w, i, take_bytes, s, err)))
        return st;
    return bi_zip_out_end(&s->zip, s->header.data, s->header.size, err);
}

/* A line for each array that has a unit. */
static int put_units(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    int st;
    s->key.size = 0;
    bi_buf_puts(&s->key, "array\tunit\n");
    for (int i = 0; i < s->columns.n; i++)
        if (*s->columns.of[i].unit)
            bi_buf_printf(&s->key, "%s\t%s\n", s->columns.of[i].name, s->columns.of[i].unit);
    st = bi_writer_check(w, &s->key, err);
    return st ? st : bi_zip_out_put(&s->zip, "units.tsv", "", 0, s->key.data, s->key.size, err);
}

static int columns_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct npz *s = w->state;
    int st = 0;
    for (int i = 0; i <= s->columns.n && !st; i++)
        st = put_column(w, i, err);
    if (st || (st = put_ids(w, &s->columns.ids, err)) || (st = put_units(w, err)))
        return st;
    return npz_finish(w, err);
}

const struct bi_writer_ops bi_writer_npz_columns = {
    .name = "npz",
    .suffix = ".npz",
    .columns = &bi_writer_npz_columns,
    .check = bi_columns_check,
    .open = columns_open,
    .rename = bi_rows_rename,
    .put = columns_put,
    .finish = columns_finish,
    .close = npz_close,
};
