/* safetensors.c - reader of safetensors files, stricter than the reference parser.
 *
 *   offset 0    u64 LE N: bytes of the header text
 *   offset 8    N bytes:  one JSON object, name -> {dtype, shape, data_offsets}
 *   offset 8+N  tensor bytes, row-major, without holes or overlaps up to the end of
 * file
 *
 * Beyond the reference, refused: names that appear twice, are empty, hold a NUL or
 * exceed 1,024 bytes; more than 8 dimensions; entries given as arrays; a byte order
 * mark. Nothing is assumed about alignment. Source: huggingface/safetensors tensor.rs
 */
#include <string.h>

#include "reader.h"
#include "scan.h"

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4 };

struct header {
    struct bi_reader *r;
    struct bi_scan scan;
    const char *path;
    int file;
    uint64_t data_start, data_size;
    struct bi_span *spans; /* one per tensor; index = order in the header */
    size_t n_spans, span_cap;
    size_t n_unknown; /* keys nobody knows */
};

struct entry {
    const char *name;
    size_t name_len;
    unsigned has;
    struct bi_tensor tensor;
    uint64_t begin, end;
};

static int fail_entry(const struct header *h, const struct entry *e, int status,
                      struct bioinfer_error *err, const char *what)
{
    return bi_fail(err, status, "%s: tensor '%s': %s", h->path, bi_quote(e->name, e->name_len).text,
                   what);
}

static int fail_token(const struct header *h, const char *where, const char *expected,
                      struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_FORMAT, "%s: header byte %zu: %s: expected %s, got %s", h->path,
                   h->scan.at, where, expected, bi_token_name(h->scan.token));
}

/* Up to `max` non-negative whole numbers; the '[' was read. *n counts all of them. */
static int read_numbers(struct header *h, const char *where, uint64_t *out, size_t max, size_t *n,
                        struct bioinfer_error *err)
{
    int st;
    *n = 0;
    if (h->scan.token != BI_TOKEN_ARRAY)
        return fail_token(h, where, "an array", err);
    while (!(st = bi_scan_next(&h->scan, err)) && h->scan.token != BI_TOKEN_ARRAY_END) {
        uint64_t v;
        if (h->scan.token != BI_TOKEN_NUMBER)
            return fail_token(h, where, "a number", err);
        if (!bi_text_u64(h->scan.value, h->scan.value_len, &v))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: header byte %zu: %s: expected a whole number below 2^64, got %s",
                           h->path, h->scan.at, where,
                           bi_quote(h->scan.value, h->scan.value_len).text);
        if (*n < max)
            out[*n] = v;
        ++*n;
    }
    return st;
}

static int read_dtype(struct header *h, struct entry *e, struct bioinfer_error *err)
{
    if (h->scan.token != BI_TOKEN_STRING)
        return fail_token(h, "dtype", "a string", err);
    e->tensor.dtype = bi_dtype_from_safetensors(h->scan.value, h->scan.value_len);
    if (e->tensor.dtype == BI_DTYPE_COUNT)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': unknown dtype '%s'", h->path,
                       bi_quote(e->name, e->name_len).text,
                       bi_quote(h->scan.value, h->scan.value_len).text);
    return 0;
}

static int read_shape(struct header *h, struct entry *e, struct bioinfer_error *err)
{
    size_t n;
    int st = read_numbers(h, "shape", e->tensor.shape, BI_MAX_RANK, &n, err);
    if (!st && n > BI_MAX_RANK)
        return bi_fail(err, BIOINFER_LIMIT, "%s: tensor '%s': %zu dimensions, at most %d", h->path,
                       bi_quote(e->name, e->name_len).text, n, BI_MAX_RANK);
    e->tensor.rank = (int)n;
    return st;
}

static int read_offsets(struct header *h, struct entry *e, struct bioinfer_error *err)
{
    uint64_t v[2] = {0, 0};
    size_t n;
    int st = read_numbers(h, "data_offsets", v, 2, &n, err);
    if (!st && n != 2)
        return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': expected 2 data_offsets, got %zu",
                       h->path, bi_quote(e->name, e->name_len).text, n);
    e->begin = v[0];
    e->end = v[1];
    return st;
}

/* The object of one tensor; its '{' was read. */
static int read_entry(struct header *h, struct entry *e, struct bioinfer_error *err)
{
    static const struct {
        const char *key;
        int (*read)(struct header *h, struct entry *e, struct bioinfer_error *err);
    } members[] = {{"dtype", read_dtype}, {"shape", read_shape}, {"data_offsets", read_offsets}};
    int st;
    while (!(st = bi_scan_next(&h->scan, err)) && h->scan.token != BI_TOKEN_OBJECT_END) {
        size_t i = 0;
        while (i < BI_COUNT(members) && (strlen(members[i].key) != h->scan.key_len ||
                                         memcmp(members[i].key, h->scan.key, h->scan.key_len)))
            i++;
        if (i == BI_COUNT(members)) {
            if (!h->n_unknown++)
                bi_log(h->r->cp->env, BIOINFER_LOG_WARNING, "%s: tensor '%s': unknown key '%s'",
                       h->path, bi_quote(e->name, e->name_len).text,
                       bi_quote(h->scan.key, h->scan.key_len).text);
            if ((st = bi_scan_skip(&h->scan, err)))
                return st;
            continue;
        }
        if (e->has & 1u << i)
            return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': key '%s' appears twice", h->path,
                           bi_quote(e->name, e->name_len).text, members[i].key);
        e->has |= 1u << i;
        if ((st = members[i].read(h, e, err)))
            return st;
    }
    if (st)
        return st;
    if (e->has != (HAS_DTYPE | HAS_SHAPE | HAS_OFFSETS))
        return fail_entry(h, e, BIOINFER_FORMAT, err,
                          !(e->has & HAS_DTYPE)   ? "no dtype"
                          : !(e->has & HAS_SHAPE) ? "no shape"
                                                  : "no data_offsets");
    return 0;
}

/* Rules 7 to 9 of the reference: the shape's bytes are exactly the range's. */
static int check_size(const struct header *h, struct entry *e, struct bioinfer_error *err)
{
    uint64_t bits;
    if (!bi_tensor_set_dense(&e->tensor) ||
        !bi_mul_size(e->tensor.n_elements, bi_dtype_bits(e->tensor.dtype), &bits))
        return fail_entry(h, e, BIOINFER_FORMAT, err, "size overflows 64 bits");
    if (bits % 8)
        return fail_entry(h, e, BIOINFER_FORMAT, err, "not a whole number of bytes");
    if (e->end < e->begin || e->end - e->begin != bits / 8)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: tensor '%s': expected %llu bytes by its shape, got data_offsets "
                       "[%llu, %llu]",
                       h->path, bi_quote(e->name, e->name_len).text, (unsigned long long)(bits / 8),
                       (unsigned long long)e->begin, (unsigned long long)e->end);
    return 0;
}

static int add_entry(struct header *h, struct entry *e, struct bioinfer_error *err)
{
    int st = check_size(h, e, err);
    if (st)
        return st;
    if (h->n_spans >= BI_MAX_TENSORS)
        return bi_fail(err, BIOINFER_LIMIT, "%s: more than %d tensors", h->path, BI_MAX_TENSORS);
    if (!bi_grow(h->r->cp->env, &h->spans, &h->span_cap, h->n_spans + 1, sizeof *h->spans))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tensor ranges", h->path);
    h->spans[h->n_spans] = (struct bi_span){e->begin, e->end, h->n_spans};
    h->n_spans++;
    e->tensor.file = h->file;
    /* the sum may wrap here only for a range that check_ranges() refuses */
    e->tensor.offset = h->data_start + e->begin;
    return bi_reader_add_tensor(h->r, &e->tensor, e->name, e->name_len, err);
}

static int read_metadata(struct header *h, struct bioinfer_error *err)
{
    struct bi_arena *arena = &h->r->cp->arena;
    size_t n_before = h->r->cp->n_meta;
    struct bi_map seen = {.env = h->r->cp->env};
    int st = 0;
    if (h->scan.token != BI_TOKEN_OBJECT)
        return fail_token(h, "__metadata__", "an object", err);
    while (!st && !(st = bi_scan_next(&h->scan, err)) && h->scan.token != BI_TOKEN_OBJECT_END) {
        struct bi_meta meta = {.type = BI_META_STRING};
        if (h->scan.token != BI_TOKEN_STRING) {
            st = fail_token(h, "__metadata__", "a string", err);
            break;
        }
        if ((st = bi_map_add(&seen, h->scan.key, h->scan.key_len, 0, NULL)) <= 0) {
            st = st ? bi_fail(err, BIOINFER_NOMEM, "%s: metadata", h->path)
                    : bi_fail(err, BIOINFER_FORMAT, "%s: __metadata__: key '%s' appears twice",
                              h->path, bi_quote(h->scan.key, h->scan.key_len).text);
            break;
        }
        st = 0;
        if (h->r->cp->n_meta - n_before >= BI_MAX_META)
            continue;
        if (!(meta.key = bi_arena_printf(arena, "metadata.%s", h->scan.key)) ||
            !(meta.text = bi_arena_strndup(arena, h->scan.value, h->scan.value_len)))
            st = bi_fail(err, BIOINFER_NOMEM, "%s: metadata", h->path);
        else
            st = bi_reader_add_meta(h->r, &meta, err);
    }
    bi_map_free(&seen);
    return st;
}

/* Rules 6 and 10: in order of their offsets the ranges touch, from 0 to the end of
 * file. */
static int check_ranges(struct header *h, struct bioinfer_error *err)
{
    uint64_t at = 0;
    bi_span_sort(h->spans, h->n_spans);
    for (size_t i = 0; i < h->n_spans; i++) {
        const struct bi_span *s = &h->spans[i];
        if (s->begin != at)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: invalid offset: tensor %zu of the header begins at %llu, expected "
                           "%llu (%s)",
                           h->path, s->index, (unsigned long long)s->begin, (unsigned long long)at,
                           s->begin < at ? "overlap" : "hole");
        at = s->end;
    }
    if (at != h->data_size)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: incomplete buffer: tensors end at byte %llu of the data, the file has "
                       "%llu bytes of data",
                       h->path, (unsigned long long)at, (unsigned long long)h->data_size);
    return 0;
}

static int read_header(struct header *h, struct bioinfer_error *err)
{
    bool metadata = false;
    int st = bi_scan_next(&h->scan, err);
    if (st)
        return st;
    if (h->scan.token != BI_TOKEN_OBJECT)
        return fail_token(h, "header", "an object", err);
    while (!(st = bi_scan_next(&h->scan, err)) && h->scan.token != BI_TOKEN_OBJECT_END) {
        struct entry e = {.name = h->scan.key, .name_len = h->scan.key_len};
        if (e.name_len == 12 && !memcmp(e.name, "__metadata__", 12)) {
            if (metadata)
                return bi_fail(err, BIOINFER_FORMAT, "%s: __metadata__ appears twice", h->path);
            metadata = true;
            st = read_metadata(h, err);
        } else if (h->scan.token != BI_TOKEN_OBJECT) {
            return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s': expected an object, got %s",
                           h->path, bi_quote(e.name, e.name_len).text,
                           bi_token_name(h->scan.token));
        } else if (!(st = read_entry(h, &e, err))) {
            st = add_entry(h, &e, err);
        }
        if (st)
            return st;
    }
    return st ? st : bi_scan_next(&h->scan, err); /* only white space may follow */
}

int bi_safetensors_read(struct bi_reader *r, int file, struct bioinfer_error *err)
{
    const struct bi_file *f = &r->cp->files[file];
    struct header h = {.r = r, .path = f->path, .file = file};
    char *text = NULL, *name = NULL;
    uint8_t start[8];
    uint64_t n;
    int st;
    if (f->size < 8)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: header too small: expected 8 bytes of length, file has %llu", f->path,
                       (unsigned long long)f->size);
    if ((st = bi_file_read(f, 0, start, sizeof start, err)))
        return st;
    n = bi_le64(start);
    if (n > BI_MAX_HEADER)
        return bi_fail(err, BIOINFER_LIMIT, "%s: header too large: %llu bytes, at most %d", f->path,
                       (unsigned long long)n, BI_MAX_HEADER);
    if (!bi_range_ok(8, n, f->size))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: invalid header length: %llu bytes, file has %llu after the length",
                       f->path, (unsigned long long)n, (unsigned long long)(f->size - 8));
    h.data_start = 8 + n;
    h.data_size = f->size - h.data_start;
    if (!(text = bi_alloc(r->cp->env, (size_t)n + 2)) ||
        !(name = bi_arena_printf(&r->cp->arena, "%s: header", f->path))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: header of %llu bytes", f->path,
                     (unsigned long long)n);
        goto out;
    }
    if ((st = bi_file_read(f, 8, text + 1, (size_t)n, err)) ||
        (st = bi_scan_start(&h.scan, name, text + 1, (size_t)n, err)) ||
        (st = read_header(&h, err)))
        goto out;
    st = check_ranges(&h, err);
out:
    bi_free(r->cp->env, h.spans);
    bi_free(r->cp->env, text);
    return st;
}
