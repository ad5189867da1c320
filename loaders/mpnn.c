/* mpnn.c - the .mpnn container: a JSON header and one block of tensors.
 *
 *     "MPNN", u32 version = 1, u32 header length H, H bytes of JSON (zeros behind it), payload
 *     {"dtype": "float16", "k_neighbors": 48, "noise_level": 0.2, ...,
 *      "tensors": {name: {"shape": [128, 384], "offset": bytes in the payload, "n": elements}}}
 *
 * Little-endian. Every other member of the header that is a number or a string becomes metadata
 * "metadata.<key>". Tensors may not overlap each other and must lie in the file. */
#include <string.h>

#include "reader.h"

enum { MPNN_START = 12 };

static int add_tensor(struct bi_reader *r, int file, const struct bi_json *t, enum bi_dtype dtype,
                      uint64_t payload, struct bi_span *span, struct bioinfer_error *err)
{
    const struct bi_file *f = &r->cp->files[file];
    const struct bi_json *shape = bi_json_get(t, "shape");
    struct bi_tensor v = {.dtype = dtype, .file = file};
    uint64_t offset = 0, n = 0, size;
    if (t->type != BI_JSON_OBJECT || !shape || shape->type != BI_JSON_ARRAY ||
        shape->n > BI_MAX_RANK || !bi_json_u64(bi_json_get(t, "offset"), &offset) ||
        !bi_json_u64(bi_json_get(t, "n"), &n))
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': expected shape, offset and n",
                       f->path, bi_quote(t->key, t->key_len).text);
    for (const struct bi_json *d = shape->first; d; d = d->next)
        if (!bi_json_u64(d, &v.shape[v.rank++]))
            return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': bad shape", f->path,
                           bi_quote(t->key, t->key_len).text);
    if (!bi_tensor_set_dense(&v) || v.n_elements != n)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': n is %llu, its shape says %llu",
                       f->path, bi_quote(t->key, t->key_len).text, (unsigned long long)n,
                       (unsigned long long)v.n_elements);
    if (!bi_mul_size(n, bi_dtype_bits(dtype) / 8, &size) ||
        !bi_range_ok(offset, size, f->size - payload))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: tensor '%s': %llu elements at byte %llu of %llu bytes of data", f->path,
                       bi_quote(t->key, t->key_len).text, (unsigned long long)n,
                       (unsigned long long)offset, (unsigned long long)(f->size - payload));
    v.offset = payload + offset;
    *span = (struct bi_span){offset, offset + size, 0};
    return bi_reader_add_tensor(r, &v, t->key, t->key_len, err);
}

static int add_tensors(struct bi_reader *r, int file, const struct bi_json *tensors,
                       enum bi_dtype dtype, uint64_t payload, struct bioinfer_error *err)
{
    const struct bi_file *f = &r->cp->files[file];
    struct bi_span *spans;
    size_t n = 0;
    int st = 0;
    if (tensors->n > BI_MAX_TENSORS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d tensors", f->path, BI_MAX_TENSORS);
    if (!(spans = bi_calloc(r->cp->env, tensors->n + 1, sizeof *spans)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tensor ranges", f->path);
    for (const struct bi_json *t = tensors->first; !st && t; t = t->next)
        st = add_tensor(r, file, t, dtype, payload, &spans[n++], err);
    bi_span_sort(spans, n);
    for (size_t i = 1; !st && i < n; i++)
        if (spans[i].begin < spans[i - 1].end)
            st = bi_fail(err, BIOINFER_FORMAT, "%s: tensors overlap at byte %llu of the data",
                         f->path, (unsigned long long)spans[i].begin);
    bi_free(r->cp->env, spans);
    return st;
}

static int add_header(struct bi_reader *r, const struct bi_json *header, struct bioinfer_error *err)
{
    struct bi_arena *arena = &r->cp->arena;
    int st = 0;
    for (const struct bi_json *j = header->first; !st && j; j = j->next) {
        struct bi_meta meta = {.text = j->text};
        uint64_t whole;
        if (bi_json_u64(j, &whole) && whole <= INT64_MAX) {
            meta.type = BI_META_INT;
            meta.i = (int64_t)whole;
        } else if (bi_json_double(j, &meta.f)) {
            meta.type = BI_META_FLOAT;
        } else if (j->type == BI_JSON_STRING) {
            meta.type = BI_META_STRING;
        } else {
            continue;
        }
        if (!(meta.key = bi_arena_printf(arena, "metadata.%s", j->key)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: metadata", r->cp->path);
        st = bi_reader_add_meta(r, &meta, err);
    }
    return st;
}

int bi_mpnn_read(struct bi_reader *r, int file, struct bioinfer_error *err)
{
    static const struct {
        const char *name;
        enum bi_dtype dtype;
    } dtypes[] = {{"float16", BI_F16}, {"bfloat16", BI_BF16}, {"float32", BI_F32}};
    const struct bi_file *f = &r->cp->files[file];
    const struct bi_json *tensors;
    struct bi_json *header = NULL;
    const char *name;
    uint8_t start[MPNN_START];
    char *text = NULL;
    size_t d = 0;
    uint64_t n;
    int st;
    if (f->size < MPNN_START)
        return bi_fail(err, BIOINFER_FORMAT, "%s: expected 12 bytes of header, file has %llu",
                       f->path, (unsigned long long)f->size);
    if ((st = bi_file_read(f, 0, start, sizeof start, err)))
        return st;
    n = bi_le32(start + 8);
    if (bi_le32(start + 4) != 1)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: version %lu of the .mpnn container, "
                       "expected 1",
                       f->path, (unsigned long)bi_le32(start + 4));
    if (n > BI_MAX_HEADER || !bi_range_ok(MPNN_START, n, f->size))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: a header of %llu bytes, file has %llu after "
                       "its length",
                       f->path, (unsigned long long)n, (unsigned long long)(f->size - MPNN_START));
    if (!(text = bi_alloc(r->cp->env, (size_t)n + 1)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: header of %llu bytes", f->path,
                       (unsigned long long)n);
    if ((st = bi_file_read(f, MPNN_START, text, (size_t)n, err)))
        goto out;
    for (d = (size_t)n; d && !text[d - 1];)
        d--;
    if ((st = bi_json_parse(&header, &r->cp->arena, f->path, text, d, err)))
        goto out;
    name = bi_json_string(bi_json_get(header, "dtype"));
    for (d = 0; d < BI_COUNT(dtypes) && (!name || strcmp(name, dtypes[d].name)); d++)
        ;
    tensors = bi_json_get(header, "tensors");
    if (d == BI_COUNT(dtypes) || !tensors || tensors->type != BI_JSON_OBJECT) {
        st = bi_fail(err, BIOINFER_FORMAT,
                     "%s: header: expected a dtype (float16, bfloat16, "
                     "float32) and tensors",
                     f->path);
        goto out;
    }
    if (!(st = add_header(r, header, err)))
        st = add_tensors(r, file, tensors, dtypes[d].dtype, MPNN_START + n, err);
out:
    bi_free(r->cp->env, text);
    return st;
}
