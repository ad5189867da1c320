/* arrays.c - the named arrays of an output: where each lies, and its values.
 *
 *   1  entries    2  npz and npy    3  safetensors    4  jsonl    5  HDF5    6  open and read */
#include "arrays.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "../loaders/checkpoint.h"
#include "../loaders/gunzip.h"
#include "../loaders/json.h"
#include "../loaders/npy.h"
#include "../loaders/zip.h"
#include "../writers/hdf5_read.h"

/* ---- 1 entries -------------------------------------------------------------------- */

enum { MAX_LINE = 256 << 20 }; /* bytes of a line of jsonl */

static struct bi_array_entry *add_entry(struct bi_arrays *a, const char *name, size_t name_len)
{
    struct bi_array_entry *e;
    if (!bi_grow(a->arena.env, &a->entries, &a->cap, a->n + 1, sizeof *a->entries))
        return NULL;
    e = &a->entries[a->n];
    *e = (struct bi_array_entry){.dtype = BI_DTYPE_COUNT};
    if (!(e->name = bi_arena_strndup(&a->arena, name, name_len)))
        return NULL;
    a->n++;
    return e;
}

static int no_memory(const struct bi_arrays *a, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: list of arrays", a->file.path);
}

/* Takes the shape and sets the number of elements; false where it overflows. */
static bool set_shape(struct bi_array_entry *e, int rank, const uint64_t *shape)
{
    uint64_t n = 1, size;
    e->rank = rank;
    for (int k = 0; k < rank; k++) {
        if (k < BI_ARRAY_RANK)
            e->shape[k] = shape[k];
        if (!bi_mul_size(n, shape[k], &n))
            return false;
    }
    e->n = n;
    return bi_mul_size(n, e->width ? e->width : 1, &size);
}

/* ---- 2 npz and npy ------------------------------------------------------------------ */

static void set_npy_type(struct bi_array_entry *e, const char *dtype)
{
    static const struct {
        const char *name;
        enum bi_dtype dtype;
    } types[] = {{"<f4", BI_F32}, {"<f2", BI_F16}, {"<f8", BI_F64}, {"<i4", BI_I32},
                 {"<i8", BI_I64}, {"|u1", BI_U8},  {"|b1", BI_BOOL}};
    for (size_t k = 0; k < BI_COUNT(types); k++)
        if (!strcmp(types[k].name, dtype)) {
            e->dtype = types[k].dtype;
            e->width = bi_dtype_bits(e->dtype) / 8;
        }
    if (dtype[0] == '|' && dtype[1] == 'S' && dtype[2])
        for (const char *c = dtype + 2; *c >= '0' && *c <= '9' && e->width < 1u << 20; c++)
            e->width = 10 * e->width + (uint64_t)(*c - '0');
}

/* Refuses an array whose first axis is the fastest. */
static int check_order(const struct bi_arrays *a, const struct bi_npy *npy, const char *name,
                       struct bioinfer_error *err)
{
    if (!npy->fortran || npy->rank < 2)
        return 0;
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "%s: array '%.200s' is in Fortran's order: save numpy.ascontiguousarray() of it",
                   a->file.path, name ? name : "");
}

static int add_npy(struct bi_arrays *a, uint64_t at, uint64_t size, const char *name, size_t n,
                   struct bioinfer_error *err)
{
    struct bi_array_entry *e;
    struct bi_npy npy;
    uint8_t head[12];
    uint64_t start;
    int st = bi_npy_read(&npy, &a->file, at, size, name, err);
    if (st || (st = check_order(a, &npy, name, err)) ||
        (st = bi_file_read(&a->file, at, head, sizeof head, err)))
        return st;
    start = head[6] == 1 ? 10u + bi_le16(head + 8) : 12u + bi_le32(head + 8);
    if (!(e = add_entry(a, name ? name : "", n)))
        return no_memory(a, err);
    set_npy_type(e, npy.dtype);
    if (!set_shape(e, npy.rank, npy.shape) || !bi_range_ok(start, e->n * e->width, size))
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: array '%.200s': its shape needs more than the %llu bytes it has",
                       a->file.path, name ? name : "", (unsigned long long)(size - start));
    e->at = at + start;
    return 0;
}

/* Inflates the first n bytes of an entry of `stored` bytes at `at`. */
static int inflate_some(const struct bi_arrays *a, const char *name, uint64_t at, uint64_t stored,
                        uint8_t *out, uint64_t n, struct bioinfer_error *err)
{
    enum { PIECE = 1 << 16, MOST = 1 << 30 };
    z_stream z = {BI_Z_ENV(a->arena.env), .next_out = out};
    uint8_t *piece = bi_alloc(a->arena.env, PIECE);
    int end = Z_OK, st = 0;
    if (!piece || inflateInit2(&z, -MAX_WBITS) != Z_OK) {
        bi_free(a->arena.env, piece);
        return no_memory(a, err);
    }
    while (!st && end == Z_OK && (uint64_t)(z.next_out - out) < n) {
        const uint64_t left = n - (uint64_t)(z.next_out - out);
        if (!z.avail_in && stored) {
            const size_t k = stored < PIECE ? (size_t)stored : PIECE;
            if ((st = bi_file_read(&a->file, at, piece, k, err)))
                break;
            z.next_in = piece;
            z.avail_in = (uInt)k;
            at += k;
            stored -= k;
        }
        z.avail_out = left < MOST ? (uInt)left : MOST;
        end = inflate(&z, Z_NO_FLUSH);
    }
    if (!st && (uint64_t)(z.next_out - out) < n)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: array '%.200s' is damaged: it does not inflate",
                     a->file.path, name);
    inflateEnd(&z);
    bi_free(a->arena.env, piece);
    return st;
}

/* Lists an array that is deflated, as numpy.savez_compressed() writes it. */
static int add_packed(struct bi_arrays *a, const struct bi_zip_entry *z, struct bioinfer_error *err)
{
    enum { HEAD = 1 << 16 };
    const uint64_t n = z->size < HEAD ? z->size : HEAD;
    struct bi_file memory = BI_FILE_NONE;
    struct bi_array_entry *e;
    struct bi_npy npy;
    uint8_t *head = bi_alloc(a->arena.env, (size_t)n + 1);
    uint64_t start, bytes;
    int st = head ? inflate_some(a, z->name, z->data, z->stored_size, head, n, err)
                  : no_memory(a, err);
    if (!st)
        st = bi_file_from_memory(&memory, a->arena.env, a->file.path, head, (size_t)n, err);
    if (!st && !(st = bi_npy_read(&npy, &memory, 0, n, z->name, err)) &&
        !(st = check_order(a, &npy, z->name, err))) {
        start = head[6] == 1 ? 10u + bi_le16(head + 8) : 12u + bi_le32(head + 8);
        if (!(e = add_entry(a, z->name, z->name_len - 4)))
            st = no_memory(a, err);
        else {
            set_npy_type(e, npy.dtype);
            *e = (struct bi_array_entry){.name = e->name,
                                         .dtype = e->dtype,
                                         .width = e->width,
                                         .at = z->data,
                                         .size = z->stored_size,
                                         .number = (size_t)start,
                                         .packed = true};
            if (!set_shape(e, npy.rank, npy.shape) || !bi_mul_size(e->n, e->width, &bytes) ||
                !bi_range_ok(start, bytes, z->size))
                st = bi_fail(err, BIOINFER_FORMAT,
                             "%s: array '%.200s': its shape needs more than its %llu bytes",
                             a->file.path, z->name, (unsigned long long)z->size);
        }
    }
    bi_file_close(&memory);
    bi_free(a->arena.env, head);
    return st;
}

/* Inflates the whole of an array, which is then held. */
static int unpack(const struct bi_arrays *a, const struct bi_array_entry *e,
                  struct bioinfer_error *err)
{
    const uint64_t n = e->number + e->n * e->width; /* within the entry: no overflow */
    int st;
    if (a->held->of == e)
        return 0;
    a->held->of = NULL;
    bi_free(a->arena.env, a->held->bytes);
    if (!(a->held->bytes = n < SIZE_MAX ? bi_alloc(a->arena.env, (size_t)n + 1) : NULL))
        return no_memory(a, err);
    if (!(st = inflate_some(a, e->name, e->at, e->size, a->held->bytes, n, err)))
        a->held->of = e;
    return st;
}

/* The comment "bioinfer VERSION MODEL FINGERPRINT" at the end of an archive, and maybe a line
 * "kinds KIND,KIND" after it. Units are in a further line, for other programs. */
static int read_comment(struct bi_arrays *a, struct bioinfer_error *err)
{
    enum { END = 22, MOST = 2048 };
    char tail[MOST + 1], *at, *model, *last, *line;
    const size_t n = a->file.size < MOST ? (size_t)a->file.size : MOST;
    int st = bi_file_read(&a->file, a->file.size - n, tail, n, err);
    tail[n] = '\0';
    if (st)
        return st;
    for (size_t i = n < END ? 0 : n - END + 1; i-- > 0;) {
        if (memcmp(tail + i, "PK\5\6", 4))
            continue;
        at = tail + i + END;
        if ((line = strchr(at, '\n'))) {
            *line++ = '\0';
            if (!strncmp(line, "kinds ", 6))
                a->kinds = bi_arena_strndup(&a->arena, line + 6, strcspn(line + 6, "\n"));
        }
        if (strncmp(at, "bioinfer ", 9) || !(model = strchr(at + 9, ' ')) ||
            (last = strrchr(at, ' ')) == model)
            return 0;
        a->version = bi_arena_strndup(&a->arena, at + 9, (size_t)(model - at) - 9);
        a->model = bi_arena_strndup(&a->arena, model + 1, (size_t)(last - model) - 1);
        a->signature = bi_arena_strndup(&a->arena, last + 1, strlen(last + 1));
        return 0;
    }
    return 0;
}

static bool is_named(const struct bi_zip_entry *e, const char *name)
{
    return e->name_len == strlen(name) && !memcmp(e->name, name, e->name_len);
}

static int open_npz(struct bi_arrays *a, struct bioinfer_error *err)
{
    struct bi_zip zip = {.env = a->arena.env, .deflated = true, .any_name = true};
    int st = bi_zip_open(&zip, &a->file, err);
    a->format = "npz";
    if (!(a->held = bi_arena_calloc(&a->arena, 1, sizeof *a->held)) && !st)
        st = no_memory(a, err);
    if (!st)
        st = bi_zip_check(&zip, err);
    for (size_t k = 0; k < zip.n_entries && !st; k++) {
        const struct bi_zip_entry *e = &zip.entries[k];
        if (is_named(e, "windows.tsv") || is_named(e, "units.tsv")) /* see writers/npz.c */
            continue;
        if (e->name_len < 4 || memcmp(e->name + e->name_len - 4, ".npy", 4))
            st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: '%.200s' in this archive is no array",
                         a->file.path, e->name);
        else
            st = e->method ? add_packed(a, e, err)
                           : add_npy(a, e->data, e->size, e->name, e->name_len - 4, err);
    }
    bi_zip_close(&zip);
    return st ? st : read_comment(a, err);
}

/* ---- 3 safetensors ------------------------------------------------------------------ */

static int open_safetensors(struct bi_arrays *a, const char *path, struct bioinfer_error *err)
{
    const struct bi_checkpoint_options options = {0};
    struct bi_checkpoint *cp = NULL;
    const struct bi_meta *meta;
    int st = bi_checkpoint_open(&cp, a->arena.env, path, &options, err);
    a->format = "safetensors";
    if (st)
        return st;
    for (size_t k = 0; k < cp->n_tensors; k++) {
        const struct bi_tensor *t = &cp->tensors[k];
        struct bi_array_entry *e = add_entry(a, t->name, strlen(t->name));
        if (!e) {
            st = no_memory(a, err);
            break;
        }
        e->dtype = bi_dtype_is_loadable(t->dtype) ? t->dtype : BI_DTYPE_COUNT;
        e->width = bi_dtype_bits(t->dtype) / 8;
        e->at = t->offset;
        if (!set_shape(e, t->rank, t->shape)) {
            st = bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%.200s' is too large", path, t->name);
            break;
        }
    }
    if ((meta = bi_checkpoint_meta(cp, "metadata.bioinfer")))
        a->version = bi_arena_strndup(&a->arena, meta->text, strlen(meta->text));
    if ((meta = bi_checkpoint_meta(cp, "metadata.model")))
        a->model = bi_arena_strndup(&a->arena, meta->text, strlen(meta->text));
    if ((meta = bi_checkpoint_meta(cp, "metadata.kinds")))
        a->kinds = bi_arena_strndup(&a->arena, meta->text, strlen(meta->text));
    if ((meta = bi_checkpoint_meta(cp, "metadata.fingerprint")))
        a->signature = bi_arena_strndup(&a->arena, meta->text, strlen(meta->text));
    bi_checkpoint_close(&cp);
    return st;
}

/* ---- 4 jsonl ------------------------------------------------------------------------ */

/* Lists the arrays of one line. */
static int add_line(struct bi_arrays *a, const struct bi_json *line, uint64_t at, uint64_t size,
                    struct bioinfer_error *err)
{
    const struct bi_json *arrays = bi_json_get(line, "arrays"), *id = bi_json_get(line, "id");
    size_t number = 0;
    if (!bi_json_string(id))
        return bi_fail(err, BIOINFER_FORMAT, "%s: byte %llu: a line without an id", a->file.path,
                       (unsigned long long)at);
    for (const struct bi_json *j = arrays ? arrays->first : NULL; j; j = j->next, number++) {
        const struct bi_json *shape = bi_json_get(j, "shape");
        const char *kind = bi_json_string(bi_json_get(j, "kind"));
        uint64_t layer, dims[BI_ARRAY_RANK] = {0};
        struct bi_array_entry *e;
        char *name = bi_json_u64(bi_json_get(j, "layer"), &layer) && arrays->n > 1
                         ? bi_arena_printf(&a->arena, "%s/layer_%llu/%s", id->text,
                                           (unsigned long long)layer, kind ? kind : "")
                         : bi_arena_printf(&a->arena, "%s/%s", id->text, kind ? kind : "");
        int rank = 0;
        if (!name || !(e = add_entry(a, name, strlen(name))))
            return no_memory(a, err);
        e->dtype = BI_F32;
        e->width = 4;
        e->at = at;
        e->size = size;
        e->number = number;
        for (const struct bi_json *d = shape ? shape->first : NULL; d; d = d->next, rank++)
            if (rank >= BI_ARRAY_RANK || !bi_json_u64(d, &dims[rank]))
                break;
        if (!shape || (size_t)rank != shape->n || !set_shape(e, rank, dims) || e->n > size)
            return bi_fail(err, BIOINFER_FORMAT, "%s: record '%.100s': a shape that no array has",
                           a->file.path, id->text);
    }
    return 0;
}

static int read_line(const struct bi_arrays *a, uint64_t at, uint64_t size, char *text,
                     struct bi_arena *arena, struct bi_json **line, struct bioinfer_error *err)
{
    int st = bi_file_read(&a->file, at, text, (size_t)size, err);
    return st ? st : bi_json_parse(line, arena, a->file.path, text, (size_t)size, err);
}

/* Finds the end of the line that begins at `at`. */
static int line_end(const struct bi_arrays *a, uint64_t at, uint64_t *end,
                    struct bioinfer_error *err)
{
    char piece[8192];
    for (*end = at; *end < a->file.size;) {
        const uint64_t left = a->file.size - *end;
        const size_t n = left < sizeof piece ? (size_t)left : sizeof piece;
        const char *found;
        int st = bi_file_read(&a->file, *end, piece, n, err);
        if (st)
            return st;
        if ((found = memchr(piece, '\n', n))) {
            *end += (uint64_t)(found - piece);
            return 0;
        }
        *end += n;
    }
    return 0;
}

static int open_jsonl(struct bi_arrays *a, struct bioinfer_error *err)
{
    uint64_t end;
    int st = 0;
    a->format = "jsonl";
    if (!(a->held = bi_arena_calloc(&a->arena, 1, sizeof *a->held)))
        return no_memory(a, err);
    for (uint64_t at = 0; at < a->file.size && !st; at = end + 1) {
        struct bi_arena arena = {.env = a->arena.env};
        struct bi_json *line;
        char *text = NULL;
        if ((st = line_end(a, at, &end, err)))
            break;
        if (end - at > MAX_LINE)
            return bi_fail(err, BIOINFER_LIMIT, "%s: byte %llu: a line of %llu bytes, at most %d",
                           a->file.path, (unsigned long long)at, (unsigned long long)(end - at),
                           MAX_LINE);
        if (end == at)
            continue;
        if (!(text = bi_alloc(a->arena.env, (size_t)(end - at) + 1)))
            st = no_memory(a, err);
        if (!st && !(st = read_line(a, at, end - at, text, &arena, &line, err)))
            st = add_line(a, line, at, end - at, err);
        bi_free(a->arena.env, text);
        bi_arena_reset(&arena);
    }
    return st;
}

static int base64_digit(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Decodes n values; false where the text is not base64 of n of them. */
static bool decode_base64(const struct bi_json *data, uint64_t n, float *dst)
{
    uint64_t at = 0;
    uint32_t bits = 0;
    int held = 0;
    if ((uint64_t)data->text_len != (4 * n + 2) / 3 * 4)
        return false;
    for (uint32_t i = 0; i < data->text_len && at < 4 * n; i++) {
        const int digit = base64_digit(data->text[i]);
        if (digit < 0)
            return false;
        bits = bits << 6 | (uint32_t)digit;
        held += 6;
        if (held < 8)
            continue;
        held -= 8;
        ((uint8_t *)dst)[at++] = (uint8_t)(bits >> held);
    }
    return at == 4 * n;
}

/* Takes the numbers of nested arrays in order, n at most; *at counts all there are. */
static void take_nested(const struct bi_json *j, uint64_t n, uint64_t *at, float *dst)
{
    for (j = j->first; j; j = j->next) {
        double x = (double)NAN;
        if (j->type == BI_JSON_ARRAY) {
            take_nested(j, n, at, dst);
            continue;
        }
        bi_json_double(j, &x);
        if (*at < n)
            dst[*at] = (float)x;
        ++*at;
    }
}

/* Decodes the whole of an array, which is then held. */
static int decode(const struct bi_arrays *a, const struct bi_array_entry *e,
                  struct bioinfer_error *err)
{
    struct bi_arena arena = {.env = a->arena.env};
    struct bi_json *line = NULL;
    const struct bi_json *j, *data;
    char *text = bi_alloc(a->arena.env, (size_t)e->size + 1);
    size_t number = e->number;
    uint64_t found = 0;
    int st = text ? read_line(a, e->at, e->size, text, &arena, &line, err) : no_memory(a, err);
    bi_free(a->arena.env, a->held->values);
    a->held->of = NULL;
    if (!(a->held->values = bi_calloc(a->arena.env, (size_t)e->n, sizeof(float))) && !st)
        st = no_memory(a, err);
    if (!st) {
        j = bi_json_get(line, "arrays");
        for (j = j ? j->first : NULL; j && number; j = j->next)
            number--;
        data = bi_json_get(j, "data");
        if (data && data->type == BI_JSON_ARRAY)
            take_nested(data, e->n, &found, a->held->values);
        if (!data || (data->type == BI_JSON_STRING ? !decode_base64(data, e->n, a->held->values)
                                                   : found != e->n))
            st = bi_fail(err, BIOINFER_FORMAT,
                         "%s: array '%.200s': data is not the %llu values of its shape",
                         a->file.path, e->name, (unsigned long long)e->n);
        else
            a->held->of = e;
    }
    bi_free(a->arena.env, text);
    bi_arena_reset(&arena);
    return st;
}

/* ---- 5 HDF5 ------------------------------------------------------------------------- */

/* A bi_hdf5_take. */
static int add_set(void *user, const struct bi_hdf5_set *s)
{
    struct bi_arrays *a = user;
    struct bi_array_entry *e = add_entry(a, s->name, strlen(s->name));
    const bool number = (s->class == 0 || s->class == 1) && s->rank >= 0;
    if (!e)
        return BIOINFER_NOMEM;
    e->dtype = number ? BI_F32 : BI_DTYPE_COUNT;
    e->width = number ? 4 : 0;
    return s->rank < 0 || set_shape(e, s->rank, s->shape) ? 0 : BIOINFER_FORMAT;
}

struct about {
    struct bi_arrays *a;
    const char **to;
};

static int take_about(void *user, size_t i, const char *text)
{
    const struct about *about = user;
    (void)i;
    *about->to = bi_arena_strndup(&about->a->arena, text, strlen(text));
    return 0;
}

static int open_hdf5(struct bi_arrays *a, const char *path, struct bioinfer_error *err)
{
    const struct {
        const char *name;
        const char **to;
    } texts[] = {{"bioinfer", &a->version},
                 {"model", &a->model},
                 {"kinds", &a->kinds},
                 {"fingerprint", &a->signature}};
    bool cut;
    int st = bi_hdf5_open(&a->h5, a->arena.env, path, err);
    a->format = "HDF5";
    if (!st && (st = bi_hdf5_each(a->h5, add_set, a, &cut, err)))
        st = st == BIOINFER_NOMEM
                 ? no_memory(a, err)
                 : bi_fail(err, BIOINFER_FORMAT, "%s: a dataset is too large", path);
    for (size_t k = 0; !st && k < BI_COUNT(texts); k++)
        bi_hdf5_about(a->h5, texts[k].name, take_about, &(struct about){a, texts[k].to});
    return st;
}

static struct bi_hdf5_set set_of(const struct bi_array_entry *e)
{
    struct bi_hdf5_set s = {.name = e->name, .rank = e->rank};
    memcpy(s.shape, e->shape, sizeof e->shape);
    return s;
}

/* ---- 6 open and read ---------------------------------------------------------------- */

/* Refuses arrays over all records and their items (writers/columns.h): one has a row for
 * each frame, another for each atom. */
static int refuse_columns(const struct bi_arrays *a, struct bioinfer_error *err)
{
    const struct bi_array_entry *offsets = NULL, *ids = NULL;
    for (size_t k = 0; k < a->n; k++) {
        const struct bi_array_entry *e = &a->entries[k];
        if (e->rank == 1 && !strcmp(e->name, "offsets"))
            offsets = e;
        if (e->rank == 1 && !strcmp(e->name, "ids") && e->dtype == BI_DTYPE_COUNT)
            ids = e;
    }
    return !offsets || !ids || offsets->n != ids->n + 1
               ? 0
               : bi_fail(err, BIOINFER_UNSUPPORTED,
                         "%s: arrays over all records, as of energies: a report reads their table "
                         "(-o FILE.tsv)",
                         a->file.path);
}

int bi_arrays_open(struct bi_arrays *a, const char *path, bool *is_one, struct bioinfer_error *err)
{
    uint8_t head[16] = {0};
    int st;
    a->file = BI_FILE_NONE;
    *is_one = true;
    if ((st = bi_file_open(&a->file, a->arena.env, path, err)) ||
        (st = bi_file_read(&a->file, 0, head,
                           a->file.size < sizeof head ? (size_t)a->file.size : sizeof head, err)))
        return st;
    if (!memcmp(head, "\x93NUMPY", 6)) {
        a->format = "npy";
        return add_npy(a, 0, a->file.size, NULL, 0, err);
    }
    if (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4))
        return (st = open_npz(a, err)) ? st : refuse_columns(a, err);
    if (!memcmp(head, "{\"ordinal\":", 11))
        return open_jsonl(a, err);
    if (head[8] == '{' && bi_le64(head) < a->file.size)
        return open_safetensors(a, path, err);
    if (!memcmp(head, "\x89HDF\r\n\x1A\n", 8))
        return (st = open_hdf5(a, path, err)) ? st : refuse_columns(a, err);
    *is_one = false;
    bi_file_close(&a->file);
    return 0;
}

int bi_arrays_read(const struct bi_arrays *a, const struct bi_array_entry *e, uint64_t first,
                   uint64_t n, float *dst, struct bioinfer_error *err)
{
    enum { PIECE = 1024 };
    uint8_t piece[PIECE * 8];
    if (e->dtype == BI_DTYPE_COUNT || !bi_range_ok(first, n, e->n))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: array '%.200s' holds no numbers to show",
                       a->file.path, e->name);
    if (a->h5) {
        const struct bi_hdf5_set s = set_of(e);
        return e->rank > BI_ARRAY_RANK
                   ? bi_fail(err, BIOINFER_UNSUPPORTED, "%s: array '%.200s' has %d dimensions",
                             a->file.path, e->name, e->rank)
                   : bi_hdf5_read(a->h5, &s, first, n, dst, err);
    }
    if (e->packed) {
        const int st = unpack(a, e, err);
        if (!st)
            bi_dtype_to_f32(e->dtype, a->held->bytes + e->number + first * e->width, (size_t)n,
                            dst);
        return st;
    }
    if (a->held && e->size) {
        const int st = a->held->of == e ? 0 : decode(a, e, err);
        if (!st)
            memcpy(dst, a->held->values + first, (size_t)n * sizeof *dst);
        return st;
    }
    while (n) {
        const uint64_t k = n < PIECE ? n : PIECE;
        int st = bi_file_read(&a->file, e->at + first * e->width, piece, (size_t)(k * e->width),
                              err);
        if (st)
            return st;
        bi_dtype_to_f32(e->dtype, piece, (size_t)k, dst);
        first += k;
        dst += k;
        n -= k;
    }
    return 0;
}

int bi_arrays_texts(const struct bi_arrays *a, const struct bi_array_entry *e, uint64_t n,
                    bi_array_take_text take, void *user, struct bioinfer_error *err)
{
    const bool bytes = e->rank == 2 && e->dtype == BI_U8;
    const uint64_t width = bytes ? e->shape[1] : e->width;
    char text[1024];
    int st = 0;
    if (!e->rank || e->shape[0] != n)
        return 0;
    if (a->h5)
        return e->rank == 1 ? bi_hdf5_texts(a->h5, e->name, n, take, user, err) : 0;
    if (!width || width >= sizeof text)
        return 0;
    for (uint64_t i = 0; i < n && !st; i++) {
        if (!e->packed)
            st = bi_file_read(&a->file, e->at + i * width, text, (size_t)width, err);
        else if (!(st = unpack(a, e, err)))
            memcpy(text, a->held->bytes + e->number + i * width, (size_t)width);
        text[width] = '\0';
        if (!st)
            st = take(user, (size_t)i, text);
    }
    return st;
}

void bi_arrays_close(struct bi_arrays *a)
{
    bi_hdf5_close(&a->h5);
    if (a->format || a->file.path)
        bi_file_close(&a->file);
    if (a->held) {
        bi_free(a->arena.env, a->held->values);
        bi_free(a->arena.env, a->held->bytes);
    }
    a->held = NULL;
    bi_free(a->arena.env, a->entries);
    a->entries = NULL;
    a->n = 0;
    bi_arena_reset(&a->arena);
}
