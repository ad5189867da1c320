/* safetensors.c - tensors of float32 or float16 by key in one safetensors file.
 *
 * The header stands in front of the data and names every tensor, so it is only known at
 * the end: put() appends data to a temporary file and text to a buffer; finish() writes
 * header and data to a second one, which takes the final name. __metadata__ holds
 * "format", "bioinfer", "model" and "fingerprint". */
#include <stdio.h>
#include <string.h>

#include "rows.h"
#include "text.h"
#include "writer.h"

enum { MAX_ID = 900 };           /* bytes: readers allow keys of 1,024 */
enum { MAX_HEADER = 100000000 }; /* bytes: what readers accept */
enum { COPY_SIZE = 1 << 20 };

struct safetensors {
    struct bi_out data;
    struct bi_buf header, key;
    struct bi_rows matrix; /* used by the layout matrix */
};

static void st_rename(const struct bioinfer_writer *w, struct bi_buf *out,
                      const struct bioinfer_result *r)
{
    (void)w;
    bi_put_utf8(out, r->id);
    if (!out->size || out->size > MAX_ID || !strcmp(r->id, "__metadata__")) {
        out->size = 0;
        bi_buf_printf(out, "seq_%llu", (unsigned long long)r->ordinal);
    }
}

static int too_many(const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_LIMIT,
                   "%s: more tensors than a safetensors header of %d bytes can name; "
                   "npz has no such limit, nor has the layout matrix",
                   w->path, MAX_HEADER);
}

/* The header's words about one tensor, behind its name. */
#define BEFORE_SHAPE ":{\"dtype\":\"%s\",\"shape\":["
#define BEFORE_OFFSETS "],\"data_offsets\":[%llu,%llu]}"

enum {
    /* a comma and the name's quotes; "F32" instead of %s; no offsets yet */
    ENTRY_SIZE = 3 + (sizeof BEFORE_SHAPE - 1) + 1 + (sizeof BEFORE_OFFSETS - 1) - 8,
    MAX_SPECIAL = 8,    /* tokens of a sequence that are no residues */
    METADATA_SIZE = 256 /* that is left for it in the header; longer names of models are rare */
};

static uint64_t n_digits(uint64_t x)
{
    uint64_t n = 1;
    for (; x > 9; x /= 10)
        n++;
    return n;
}

/* Gives the digits of first, first + step, ... of n numbers together. */
static uint64_t sum_digits(uint64_t first, uint64_t step, uint64_t n)
{
    uint64_t sum = n;
    for (uint64_t limit = 10; n && limit <= first + step * (n - 1); limit *= 10)
        sum += limit > first ? n - (limit - first + step - 1) / step : n;
    return sum;
}

/* A dimension that differs from record to record, as it counts residues or tokens. */
static bool varies(const struct bioinfer_result *r, int64_t dim)
{
    return dim >= r->length && dim <= r->length + MAX_SPECIAL;
}

/* Gives the bytes that an array has at least; *text grows by those of its shape in the header. */
static uint64_t least_array(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                            const struct bioinfer_array *a, uint64_t *text)
{
    uint64_t size = w->half ? 2 : 4;
    for (int k = 0; k < a->n_dims; k++) {
        const uint64_t dim = varies(r, a->shape[k]) ? 1 : (uint64_t)a->shape[k];
        size *= dim;
        *text += (k > 0) + n_digits(dim);
    }
    return size;
}

/* Gives the bytes of the names of one kind of array, of all records that were reserved. */
static uint64_t names_size(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                           const struct bioinfer_array *a)
{
    const bool layers = r->n_layers_kept > 1;
    int n = layers && a->has_layer ? snprintf(NULL, 0, "/layer_%d", a->layer) : 0;
    n += layers || r->n_kinds > 1 ? snprintf(NULL, 0, "/%s", a->kind) : 0;
    return w->reserved_size + w->n_reserved * (uint64_t)n;
}

/* Gives the fewest bytes that the header has if each of the records that were reserved gets such a
 * result. It has as many where all records have results of one shape. */
static uint64_t least_header(const struct bioinfer_writer *w, const struct bioinfer_result *r)
{
    const uint64_t n = w->n_reserved;
    uint64_t size = 0, text = 0, at = 0, all = 0;
    for (int i = 0; i < r->n_arrays; i++) {
        size += names_size(w, r, &r->arrays[i]);
        all += least_array(w, r, &r->arrays[i], &text);
    }
    for (int i = 0; i < r->n_arrays; i++) {
        size += sum_digits(at, all, n);
        at += least_array(w, r, &r->arrays[i], &(uint64_t){0});
        size += sum_digits(at, all, n);
    }
    return size + n * (text + (uint64_t)r->n_arrays * ENTRY_SIZE);
}

/* The header has at least this of the records so far: a tensor of one number each, by its id. */
static int st_reserve(struct bioinfer_writer *w, const struct bioinfer_result *r,
                      struct bioinfer_error *err)
{
    const struct bioinfer_array one = {.n_dims = 1, .shape = {1}};
    const struct bioinfer_result least = {.length = 1, .n_arrays = 1, .arrays = &one};
    const size_t n = strlen(r->id);
    w->reserved_size += n && n <= MAX_ID ? n : 1;
    w->n_reserved++;
    /* as the sum over all records takes a while */
    return w->n_reserved % 1024 || least_header(w, &least) <= MAX_HEADER ? 0 : too_many(w, err);
}

/* Shapes are known with the first result: whether the header will do is said then, and not when all
 * has been computed. */
static int st_check(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                    struct bioinfer_error *err)
{
    return least_header(w, r) > MAX_HEADER ? too_many(w, err) : 0;
}

/* Begins the text of the header; the fingerprint may have come after the first result. */
static void put_metadata(const struct bioinfer_writer *w, struct bi_buf *out)
{
    bi_buf_puts(out, "{\"__metadata__\":{\"format\":\"pt\",\"bioinfer\":");
    bi_buf_printf(out, "\"%d.%d.%d\",\"model\":", BIOINFER_VERSION_MAJOR, BIOINFER_VERSION_MINOR,
                  BIOINFER_VERSION_PATCH);
    bi_put_json(out, w->params.model);
    bi_buf_puts(out, ",\"fingerprint\":");
    bi_put_json(out, w->params.fingerprint);
    if (w->kinds.size) {
        bi_buf_puts(out, ",\"kinds\":");
        bi_put_json(out, w->kinds.data);
    }
    if (w->units.size) {
        bi_buf_puts(out, ",\"units\":");
        bi_put_json(out, w->units.data);
    }
    bi_buf_putc(out, '}');
}

static int st_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct safetensors *s = bi_zalloc(w->env, sizeof *s);
    struct bi_buf path = {.env = w->env};
    int st;
    if (!s)
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", w->path);
    w->state = s;
    s->data = BI_OUT_NONE;
    s->header.env = s->key.env = w->env;
    bi_buf_printf(&path, "%s.data", w->path);
    if (!(st = bi_writer_check(w, &path, err)) && !(st = bi_path_replaceable(w->path, err)))
        st = bi_out_open(&s->data, w->env, path.data, err);
    bi_buf_free(&path);
    return st;
}

static int st_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                  struct bioinfer_error *err)
{
    struct safetensors *s = w->state;
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        const uint64_t start = s->data.size;
        const void *bytes;
        size_t size;
        int st = bi_array_bytes(w, r, a, &bytes, &size, err);
        if (st)
            return st;
        if (bi_array_key(&s->key, name, r, a))
            return bi_writer_check(w, &s->key, err);
        bi_buf_putc(&s->header, ',');
        bi_put_json(&s->header, s->key.data);
        bi_buf_printf(&s->header, BEFORE_SHAPE, w->half ? "F16" : "F32");
        for (int k = 0; k < a->n_dims; k++) {
            bi_buf_puts(&s->header, k ? "," : "");
            bi_put_u64(&s->header, (uint64_t)a->shape[k]);
        }
        bi_buf_printf(&s->header, BEFORE_OFFSETS, (unsigned long long)start,
                      (unsigned long long)(start + size));
        if ((st = bi_writer_check(w, &s->header, err)))
            return st;
        if (s->header.size > MAX_HEADER - METADATA_SIZE)
            return too_many(w, err);
        if ((st = bi_out_write(&s->data, bytes, size, err)))
            return st;
    }
    return 0;
}

/* Begins the output: the header, filled up with spaces, and the data. */
static int put_all(struct bioinfer_writer *w, struct bi_out *out, struct bioinfer_error *err)
{
    struct safetensors *s = w->state;
    struct bi_buf start = {.env = w->env};
    char *chunk = NULL, prefix[8];
    uint64_t size = s->data.size, n;
    int st;
    put_metadata(w, &start);
    bi_buf_putc(&s->header, '}');
    while ((start.size + s->header.size) % 8 && !s->header.failed)
        bi_buf_putc(&s->header, ' ');
    if ((st = bi_writer_check(w, &s->header, err)) || (st = bi_writer_check(w, &start, err)))
        goto out;
    n = start.size + s->header.size;
    if (n > MAX_HEADER) {
        st = too_many(w, err);
        goto out;
    }
    for (int i = 0; i < 8; i++)
        prefix[i] = (char)(n >> 8 * i & 255);
    if (!(chunk = bi_alloc(w->env, COPY_SIZE))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: copy buffer", w->path);
        goto out;
    }
    if ((st = bi_writer_create(w, out, w->path, err)) || (st = bi_out_write(out, prefix, 8, err)) ||
        (st = bi_out_write(out, start.data, start.size, err)) ||
        (st = bi_out_write(out, s->header.data, s->header.size, err)))
        goto out;
    for (uint64_t at = 0; at < size; at += n) {
        n = size - at < COPY_SIZE ? size - at : COPY_SIZE;
        if ((st = bi_out_read(&s->data, at, chunk, (size_t)n, err)) ||
            (st = bi_out_write(out, chunk, (size_t)n, err)))
            goto out;
    }
out:
    bi_free(w->env, chunk);
    bi_buf_free(&start);
    return st;
}

static int st_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct safetensors *s = w->state;
    struct bi_out out = BI_OUT_NONE;
    int st = put_all(w, &out, err);
    if (!st)
        st = bi_out_finish(&out, err);
    bi_out_close(&out);
    bi_out_close(&s->data);
    return st;
}

static void st_close(struct bioinfer_writer *w)
{
    struct safetensors *s = w->state;
    if (!s)
        return;
    bi_out_close(&s->data);
    bi_rows_close(&s->matrix);
    bi_buf_free(&s->header);
    bi_buf_free(&s->key);
    bi_free(w->env, s);
}

const struct bi_writer_ops bi_writer_safetensors = {
    .name = "safetensors",
    .suffix = ".safetensors",
    .keyed_by_id = true,
    .has_half = true,
    .matrix = &bi_writer_safetensors_matrix,
    .check = st_check,
    .reserve = st_reserve,
    .open = st_open,
    .rename = st_rename,
    .put = st_put,
    .finish = st_finish,
    .close = st_close,
};

/* ---- the layout matrix: two tensors, embeddings and ids ---- */

static int matrix_open(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    int st = st_open(w, err);
    struct safetensors *s = w->state;
    return st ? st : bi_rows_open(&s->matrix, w, err);
}

static int matrix_put(struct bioinfer_writer *w, const struct bioinfer_result *r, const char *name,
                      struct bioinfer_error *err)
{
    struct safetensors *s = w->state;
    const void *bytes;
    size_t size;
    int st = bi_rows_add(&s->matrix, w, r, name, &bytes, &size, err);
    return st ? st : bi_out_write(&s->data, bytes, size, err);
}

static int take_ids(void *user, const void *bytes, size_t n, struct bioinfer_error *err)
{
    return bi_out_write(user, bytes, n, err);
}

static int matrix_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct safetensors *s = w->state;
    const unsigned long long n = (unsigned long long)s->matrix.n, rows = s->data.size;
    struct bi_out out = BI_OUT_NONE;
    int st;
    bi_buf_printf(&s->header,
                  ",\"%s\":{\"dtype\":\"%s\",\"shape\":[%llu,%lld],"
                  "\"data_offsets\":[0,%llu]}",
                  w->params.matrix_name, w->half ? "F16" : "F32", n,
                  (long long)bi_rows_width(&s->matrix), rows);
    bi_buf_printf(&s->header,
                  ",\"" BI_ROWS_IDS "\":{\"dtype\":\"U8\",\"shape\":[%llu,%zu],"
                  "\"data_offsets\":[%llu,%llu]}",
                  n, s->matrix.longest, rows, rows + n * s->matrix.longest);
    if (!(st = put_all(w, &out, err)) && !(st = bi_rows_ids(&s->matrix, w, take_ids, &out, err)))
        st = bi_out_finish(&out, err);
    bi_out_close(&out);
    bi_out_close(&s->data);
    return st;
}

const struct bi_writer_ops bi_writer_safetensors_matrix = {
    .name = "safetensors",
    .suffix = ".safetensors",
    .has_half = true,
    .matrix = &bi_writer_safetensors_matrix,
    .check = bi_rows_check,
    .open = matrix_open,
    .rename = bi_rows_rename,
    .put = matrix_put,
    .finish = matrix_finish,
    .close = st_close,
};
