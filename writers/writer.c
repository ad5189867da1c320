/* writer.c - what all output formats share.
 *
 * Sections: 1 formats  2 shared pieces  3 names of records  4 open, put, finish, close */
#include "writer.h"

#include <string.h>

#include "rows.h"
#include "text.h"
#include "units.h"

#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are written as they lie in memory, which must be little-endian"
#endif

/* ---- 1 formats --------------------------------------------------------------- */

static const struct bi_writer_ops *const formats[] = {
    &bi_writer_npz,   &bi_writer_npy, &bi_writer_safetensors,
#if BI_HDF5
    &bi_writer_h5,
#endif
    &bi_writer_jsonl, &bi_writer_tsv, &bi_writer_esm_pt,
};

/* These take tracks of windows alone, so bi_writer_format() does not name them. */
static const struct bi_writer_ops *const coverage_formats[] = {&bi_writer_bedgraph,
                                                               &bi_writer_bigwig};

#if BI_HDF5
#define FORMAT_LIST "npz, npy, safetensors, h5, jsonl, tsv, esm-pt"
#define ARRAY_FORMATS "npz, safetensors, h5 and jsonl"
#define NUMBER_FORMATS "npz, npy, safetensors and h5"
#define COLUMN_FORMATS "npz and h5 do"
#else
#define FORMAT_LIST "npz, npy, safetensors, jsonl, tsv, esm-pt"
#define ARRAY_FORMATS "npz, safetensors and jsonl"
#define NUMBER_FORMATS "npz, npy and safetensors"
#define COLUMN_FORMATS "npz does"
#endif

const char *bi_writer_format(int index)
{
    return index >= 0 && index < (int)BI_COUNT(formats) ? formats[index]->name : NULL;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && !strcmp(text + n - m, end);
}

static int find_format(const struct bi_writer_ops **out, const char *path, const char *format,
                       struct bioinfer_error *err)
{
    for (size_t i = 0; i < BI_COUNT(formats); i++) {
        const struct bi_writer_ops *ops = formats[i];
        if (format ? !strcmp(format, ops->name)
                   : (ops->suffix && ends_with(path, ops->suffix)) ||
                         (ops->suffix2 && ends_with(path, ops->suffix2))) {
            *out = ops;
            return 0;
        }
    }
    for (size_t i = 0; format && i < BI_COUNT(coverage_formats); i++)
        if (!strcmp(format, coverage_formats[i]->name)) {
            *out = coverage_formats[i];
            return 0;
        }
    if (format ? !strcmp(format, "h5") : ends_with(path, ".h5") || ends_with(path, ".hdf5"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: this build writes no HDF5 (configure it with -Dhdf5=enabled)", path);
    if (format)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: unknown output format '%s', expected one of %s, and of tracks bedgraph "
                       "and bigwig",
                       path, format, FORMAT_LIST);
    if (!strcmp(path, "-"))
        return bi_fail(err, BIOINFER_INVALID, "standard output: name its format, jsonl or tsv");
    return bi_fail(err, BIOINFER_INVALID,
                   "%s: no output format has this suffix, expected one of %s", path, FORMAT_LIST);
}

/* ---- 2 shared pieces --------------------------------------------------------- */

int bi_writer_create(const struct bioinfer_writer *w, struct bi_out *out, const char *path,
                     struct bioinfer_error *err)
{
    int st = bi_out_open(out, w->env, path, err);
    out->sync = w->moved_later ? BI_SYNC_CONTENTS : BI_SYNC_ALL;
    return st;
}

int bi_array_key(struct bi_buf *out, const char *id, const struct bioinfer_result *r,
                 const struct bioinfer_array *a)
{
    out->size = 0;
    bi_buf_puts(out, id);
    if (r->n_layers_kept > 1 && a->has_layer)
        bi_buf_printf(out, "/layer_%d", a->layer);
    if (r->n_layers_kept > 1 || r->n_kinds > 1) {
        bi_buf_putc(out, '/');
        bi_buf_puts(out, a->kind);
    }
    return bi_buf_text(out) ? 0 : BIOINFER_NOMEM;
}

int bi_array_size(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                  const struct bioinfer_array *a, uint64_t *n, uint64_t *size,
                  struct bioinfer_error *err)
{
    bool ok = a->n_dims >= 0 && a->n_dims <= 4;
    *n = 1;
    for (int i = 0; ok && i < a->n_dims; i++)
        ok = a->shape[i] >= 0 && bi_mul_size(*n, (uint64_t)a->shape[i], n);
    if (!ok || !bi_mul_size(*n, sizeof(float), size) || *size > SIZE_MAX / 2)
        return bi_fail(err, BIOINFER_INVALID, "%s: record '%.60s': %s: impossible shape", w->path,
                       r->id, a->kind);
    return 0;
}

/* Gives n values as bi_f32_to_f16() does; without branches, so several are made at a time. */
static void to_half(const float *x, size_t n, uint16_t *h)
{
    for (size_t i = 0; i < n; i++) {
        union {
            float f;
            uint32_t u;
        } v = {.f = x[i]}, small;
        const uint32_t sign = v.u >> 16 & 0x8000, abs = v.u & 0x7FFFFFFF;
        const uint32_t is_small = -(uint32_t)(abs < 0x38800000); /* below 2^-14 */
        const uint32_t is_huge = -(uint32_t)(abs >= 0x477FF000); /* rounds to infinity, or NaN */
        const uint32_t is_nan = -(uint32_t)(abs > 0x7F800000);
        const uint32_t normal = (abs + 0xFFF + (abs >> 13 & 1) - 0x38000000) >> 13;
        const uint32_t huge = 0x7C00 | (is_nan & (0x200 | (abs >> 13 & 0x3FF)));
        small.u = abs & is_small;
        small.f += 0.5f; /* whose last bit is 2^-24, as that of the small halves */
        h[i] = (uint16_t)(sign | (is_small & (small.u - 0x3F000000)) | (is_huge & huge) |
                          (~(is_small | is_huge) & normal));
    }
}

int bi_array_bytes(struct bioinfer_writer *w, const struct bioinfer_result *r,
                   const struct bioinfer_array *a, const void **bytes, size_t *size,
                   struct bioinfer_error *err)
{
    uint64_t n, all;
    int st = bi_array_size(w, r, a, &n, &all, err);
    if (st)
        return st;
    *bytes = a->data;
    *size = (size_t)all;
    if (!w->half)
        return 0;
    *size /= 2;
    w->halves.size = 0;
    if (!bi_buf_reserve(&w->halves, *size))
        return bi_writer_check(w, &w->halves, err);
    to_half(a->data, (size_t)n, (uint16_t *)(void *)w->halves.data);
    *bytes = w->halves.data;
    return 0;
}

int bi_result_fits_half(const struct bioinfer_result *r, struct bioinfer_error *err)
{
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        const uint32_t first = 0x477FF000, end = 0x7F800000; /* bits of 65520 and of infinity */
        uint64_t n = 1, n_beyond = 0;
        for (int k = 0; k < a->n_dims; k++)
            n *= (uint64_t)a->shape[k];
        for (uint64_t k = 0; k < n; k++) {
            union {
                float f;
                uint32_t u;
            } v = {.f = a->data[k]};
            n_beyond += (v.u & 0x7FFFFFFF) - first < end - first;
        }
        for (uint64_t k = 0; n_beyond && k < n; k++) {
            union {
                float f;
                uint32_t u;
            } v = {.f = a->data[k]};
            if ((v.u & 0x7FFFFFFF) - first < end - first)
                return bi_fail(err, BIOINFER_OUT_OF_RANGE,
                               "%s: value %g at place %llu is beyond 65504, the largest of float16 "
                               "(%llu of %llu values are)",
                               a->kind, (double)v.f, (unsigned long long)k,
                               (unsigned long long)n_beyond, (unsigned long long)n);
        }
    }
    return 0;
}

const char *bi_npy_type(const struct bioinfer_writer *w)
{
    return w->half ? "<f2" : "<f4";
}

int bi_writer_check(const struct bioinfer_writer *w, const struct bi_buf *buf,
                    struct bioinfer_error *err)
{
    return buf->failed ? bi_fail(err, BIOINFER_NOMEM, "%s: output buffer", w->path) : 0;
}

int bi_writer_vectors_only(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                           struct bioinfer_error *err)
{
    for (int i = 0; i < r->n_arrays; i++)
        if (r->arrays[i].n_dims != 1)
            return bi_fail(err, BIOINFER_INVALID,
                           "%s: %s holds one vector per record, got '%s' of %d dimensions; "
                           "formats that hold it: %s",
                           w->path, w->ops->name, r->arrays[i].kind, r->arrays[i].n_dims,
                           ARRAY_FORMATS);
    return 0;
}

/* ---- 3 names of records ------------------------------------------------------ */

/* Finds w->name for a record: the id as the format can hold it, suffixed if it must be.
 */
static int name_record(struct bioinfer_writer *w, const struct bioinfer_result *r,
                       struct bioinfer_error *err)
{
    struct bi_seen_slot *slot, *first;
    size_t n;
    int st;
    if (r->piece && w->ops->of_pieces && w->name.size)
        return 0;
    w->name.size = 0;
    if (w->ops->rename)
        w->ops->rename(w, &w->name, r);
    else
        bi_buf_puts(&w->name, r->id);
    if (!bi_buf_text(&w->name))
        goto no_memory;
    if (strcmp(w->name.data, r->id) && !w->params.prottrans_names && !w->n_renamed++ &&
        w->started && !w->ops->is_folder)
        bi_log(w->env, BIOINFER_LOG_WARNING, "%s: id '%.80s' is stored as '%.80s'", w->path, r->id,
               w->name.data);
    if (!w->ops->keyed_by_id && !w->params.suffix_duplicates)
        return 0;
    n = w->name.size;
    while ((st = bi_seen_add(&w->names, w->name.data, w->name.size, &slot)) == 0) {
        if (!w->params.suffix_duplicates)
            return bi_fail(err, BIOINFER_DUPLICATE_ID,
                           "%s: id '%.60s' of record %llu and the id of record %llu are both "
                           "stored as '%.60s'",
                           w->path, r->id, (unsigned long long)r->ordinal,
                           (unsigned long long)slot->a, w->name.data);
        /* counted at the name without a suffix, so that n equal ids cost n steps */
        if ((first = bi_seen_find(&w->names, w->name.data, n)))
            slot = first;
        slot->b += slot->b ? 1 : 2;
        w->name.size = n;
        bi_buf_putc(&w->name, '_');
        bi_put_u64(&w->name, slot->b);
        if (!bi_buf_text(&w->name))
            goto no_memory;
    }
    if (st < 0)
        goto no_memory;
    slot->a = (uint32_t)r->ordinal;
    return 0;
no_memory:
    return bi_fail(err, BIOINFER_NOMEM, "%s: name of record %llu", w->path,
                   (unsigned long long)r->ordinal);
}

int bi_writer_reserve(struct bioinfer_writer *w, const struct bioinfer_result *record,
                      struct bioinfer_error *err)
{
    int st = w->ops->reserve ? w->ops->reserve(w, record, err) : 0;
    if (st || !w->ops->keyed_by_id || w->params.suffix_duplicates)
        return st;
    return name_record(w, record, err);
}

/* ---- 4 open, put, finish, close ---------------------------------------------- */

static bool copy_text(struct bi_arena *arena, const char **text)
{
    if (*text)
        *text = bi_arena_strndup(arena, *text, strlen(*text));
    else
        *text = "";
    return *text != NULL;
}

/* Whether `dtype` asks for float16, which the format must be able to hold. */
static int find_dtype(bool *half, const struct bi_writer_ops *ops, const char *path,
                      const char *dtype, struct bioinfer_error *err)
{
    *half = dtype && !strcmp(dtype, "f16");
    if (dtype && !*half && strcmp(dtype, "f32"))
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: unknown type of numbers '%s', expected f32 or f16", path, dtype);
    if (*half && !ops->has_half)
        return bi_fail(err, BIOINFER_INVALID, "%s: %s holds no float16 (f16); %s do", path,
                       ops->name, NUMBER_FORMATS);
    return 0;
}

/* Whether `compression` asks for compressed arrays, which the format must be able to hold. */
static int find_compression(bool *gzip, const struct bi_writer_ops *ops, const char *path,
                            const char *compression, struct bioinfer_error *err)
{
    *gzip = compression && !strcmp(compression, "gzip");
    if (compression && !*gzip && strcmp(compression, "none"))
        return bi_fail(err, BIOINFER_INVALID, "%s: unknown compression '%s', expected none or gzip",
                       path, compression);
    if (*gzip && !ops->has_gzip)
        return bi_fail(err, BIOINFER_INVALID, "%s: %s holds no compressed arrays; h5 does", path,
                       ops->name);
    return 0;
}

/* Changes *ops into those that write the layout which is asked for. */
static int find_layout(const struct bi_writer_ops **ops, const char *path, const char *layout,
                       struct bioinfer_error *err)
{
    if (!layout || !strcmp(layout, "records"))
        return 0;
    if (strcmp(layout, "matrix"))
        return bi_fail(err, BIOINFER_INVALID, "%s: unknown layout '%s', expected records or matrix",
                       path, layout);
    if (!(*ops)->matrix)
        return bi_fail(err, BIOINFER_INVALID, "%s: %s has no layout matrix; %s have", path,
                       (*ops)->name, NUMBER_FORMATS);
    *ops = (*ops)->matrix;
    return 0;
}

/* Changes *ops into those that write the arrays which are listed: they have types of their own. */
static int find_columns(const struct bi_writer_ops **ops, const char *path,
                        const struct bioinfer_writer_params *params, struct bioinfer_error *err)
{
    if (!params || !params->columns || !*params->columns)
        return 0;
    if (!(*ops)->columns)
        return bi_fail(err, BIOINFER_INVALID, "%s: %s holds no arrays of all records; %s", path,
                       (*ops)->name, COLUMN_FORMATS);
    if ((params->layout && strcmp(params->layout, "records")) ||
        (params->dtype && strcmp(params->dtype, "f32")))
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: arrays of all records have one layout, and types of their own", path);
    *ops = (*ops)->columns;
    return 0;
}

static int make(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                const struct bi_writer_ops *ops, const struct bioinfer_writer_params *params,
                struct bioinfer_error *err)
{
    struct bioinfer_writer *w = NULL;
    bool half = false, gzip = false;
    int st = find_columns(&ops, path, params, err);
    if (st || (st = find_dtype(&half, ops, path, params ? params->dtype : NULL, err)) ||
        (st = find_compression(&gzip, ops, path, params ? params->compression : NULL, err)) ||
        (st = find_layout(&ops, path, params ? params->layout : NULL, err)))
        return st;
    if (!strcmp(path, "-") && !ops->to_stdout)
        return bi_fail(err, BIOINFER_INVALID,
                       "standard output: %s needs a file; jsonl and tsv can be piped", ops->name);
    if (!(w = bi_zalloc(env, sizeof *w)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: writer", path);
    w->env = env;
    w->ops = ops;
    w->arena.env = w->names.env = w->name.env = w->halves.env = w->kinds.env = w->units.env = env;
    w->half = half;
    w->gzip = gzip;
    if (params)
        w->params = *params;
    if (!(w->path = bi_strdup(env, path)) || !copy_text(&w->arena, &w->params.model) ||
        !copy_text(&w->arena, &w->params.fingerprint) || !copy_text(&w->arena, &w->params.tracks) ||
        !copy_text(&w->arena, &w->params.matrix_name) ||
        !copy_text(&w->arena, &w->params.columns) || !copy_text(&w->arena, &w->params.files)) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: writer", path);
        bi_writer_close(&w);
        return st;
    }
    w->params.format = ops->name;
    w->params.dtype = half ? "f16" : "f32";
    w->params.layout = ops == ops->matrix ? "matrix" : "records";
    w->params.compression = gzip ? "gzip" : "none";
    if (!*w->params.matrix_name)
        w->params.matrix_name = BI_ROWS_VALUES;
    *out = w;
    return 0;
}

int bi_writer_new(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                  const struct bioinfer_writer_params *params, struct bioinfer_error *err)
{
    const struct bi_writer_ops *ops = NULL;
    int st = 0;
    *out = NULL;
    if (params && params->files && *params->files)
        ops = &bi_writer_files;
    else
        st = find_format(&ops, path, params ? params->format : NULL, err);
    return st ? st : make(out, env, path, ops, params, err);
}

int bi_writer_of_texts(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                       const char *head, const char *tail, struct bioinfer_error *err)
{
    int st;
    *out = NULL;
    if ((st = make(out, env, path, &bi_writer_texts, NULL, err)))
        return st;
    (*out)->text_head = head;
    (*out)->text_tail = tail;
    if (copy_text(&(*out)->arena, &(*out)->text_head) &&
        copy_text(&(*out)->arena, &(*out)->text_tail))
        return 0;
    bi_writer_close(out);
    return bi_fail(err, BIOINFER_NOMEM, "%s: writer", path);
}

int bi_writer_ready(const struct bioinfer_writer *w, struct bioinfer_error *err)
{
    return w->ops->ready ? w->ops->ready(w, err) : 0;
}

int bi_writer_start(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    bi_seen_free(&w->names); /* names that were reserved come again */
    w->n_reserved = w->reserved_size = 0;
    w->n_renamed = 0;
    w->started = true;
    return w->ops->open(w, err);
}

int bi_writer_open(struct bioinfer_writer **out, const struct bi_env *env, const char *path,
                   const struct bioinfer_writer_params *params, struct bioinfer_error *err)
{
    int st = bi_writer_new(out, env, path, params, err);
    if (!st && (st = bi_writer_start(*out, err)))
        bi_writer_close(out);
    return st;
}

/* A writer that has failed or is finished takes nothing more. */
static int check_open(const struct bioinfer_writer *w, const char *what, struct bioinfer_error *err)
{
    if (w->failed && err)
        *err = w->why;
    return w->failed     ? w->why.status
           : w->finished ? bi_fail(err, BIOINFER_MISUSE, "%s: %s after finish", w->path, what)
                         : 0;
}

/* Keeps and tells why a writer has failed. */
static int end_with(struct bioinfer_writer *w, int st, const struct bioinfer_error *why,
                    struct bioinfer_error *err)
{
    w->failed = st != 0;
    w->why = *why;
    w->why.status = st;
    if (st && err)
        *err = w->why;
    return st;
}

/* Whether the format, and its numbers, can hold a result. */
static int check_result(const struct bioinfer_writer *w, const struct bioinfer_result *r,
                        struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st = w->ops->check ? w->ops->check(w, r, err) : 0;
    if (!st && w->half && (st = bi_result_fits_half(r, &why)))
        st = bi_fail(err, st, "%s: record '%.60s': %s", w->path, r->id, why.text);
    return st;
}

/* Adds the kinds of a result that are not in the list yet, of a long list the first KiB. */
static void note_kinds(struct bioinfer_writer *w, const struct bioinfer_result *r)
{
    enum { MOST = 1024 };
    for (int i = 0; i < r->n_arrays; i++) {
        const char *kind = r->arrays[i].kind;
        const size_t n = strlen(kind);
        size_t at = 0;
        bool known = w->kinds.size + n + 1 > MOST;
        while (at < w->kinds.size && !known) {
            const char *from = w->kinds.data + at;
            const char *comma = memchr(from, ',', w->kinds.size - at);
            const size_t length = comma ? (size_t)(comma - from) : w->kinds.size - at;
            known = length == n && !memcmp(from, kind, n);
            at += length + 1;
        }
        if (known)
            continue;
        if (w->kinds.size)
            bi_buf_putc(&w->kinds, ',');
        bi_buf_puts(&w->kinds, kind);
        bi_buf_text(&w->kinds);
        if (bi_unit_of_kind(kind)) {
            bi_buf_printf(&w->units, "%s%s=%s", w->units.size ? "," : "", kind,
                          bi_unit_of_kind(kind));
            bi_buf_text(&w->units);
        }
    }
}

int bi_writer_put(struct bioinfer_writer *w, const struct bioinfer_result *result,
                  struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st = check_open(w, "put", err);
    if (st)
        return st;
    if (result->status && w->ops->has_failed_rows)
        st = w->ops->put(w, result, result->id, &why);
    else if (!result->status && !(st = check_result(w, result, &why)) &&
             !(st = name_record(w, result, &why))) {
        note_kinds(w, result);
        w->kinds.failed |= w->units.failed;
        if (!(st = bi_writer_check(w, &w->kinds, &why)))
            st = w->ops->put(w, result, w->name.data, &why);
    }
    return st ? end_with(w, st, &why, err) : 0;
}

int bi_writer_set_fingerprint(struct bioinfer_writer *w, const char *text,
                              struct bioinfer_error *err)
{
    const char *copy = text;
    if (!copy_text(&w->arena, &copy))
        return bi_fail(err, BIOINFER_NOMEM, "%s: fingerprint", w->path);
    w->params.fingerprint = copy;
    return 0;
}

int bi_writer_finish(struct bioinfer_writer *w, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st = check_open(w, "finish", err);
    if (st)
        return st;
    if (w->n_renamed > 1 && !w->ops->is_folder)
        bi_log(w->env, BIOINFER_LOG_WARNING, "%s: %llu ids are stored under other names", w->path,
               (unsigned long long)w->n_renamed);
    if ((st = w->ops->finish(w, &why)))
        return end_with(w, st, &why, err);
    w->finished = true;
    return 0;
}

void bi_writer_close(struct bioinfer_writer **writer)
{
    struct bioinfer_writer *w = *writer;
    if (!w)
        return;
    if (w->started)
        w->ops->close(w);
    bi_seen_free(&w->names);
    bi_buf_free(&w->name);
    bi_buf_free(&w->halves);
    bi_buf_free(&w->kinds);
    bi_buf_free(&w->units);
    bi_arena_reset(&w->arena);
    bi_free(w->env, w->path);
    bi_free(w->env, w);
    *writer = NULL;
}
