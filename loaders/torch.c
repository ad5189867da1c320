/* torch.c - PyTorch checkpoints: zip archives and legacy streams.
 *
 *   zip:     <p>/data.pkl (the objects), <p>/data/<key> (raw storages), <p>/byteorder,
 *            <p>/version
 *   legacy:  pickles of magic, protocol, system, the objects, a list of storage keys;
 *            then for each key an i64 count of elements and the raw elements
 *
 * Both give a pickle value and, for each storage, a place in the file. From there on
 * they are the same: find the state dict, report its tensors, flatten the rest into
 * metadata. Sections: storages · the state dict · metadata · zip · legacy */
#include <stdio.h>
#include <string.h>

#include "pickle.h"
#include "reader.h"
#include "scan.h"
#include "zip.h"

enum { MAX_PICKLE = 512 << 20 };

struct torch {
    struct bi_reader *r;
    int file;
    const char *path;
    struct bi_pickle pickle;
    struct bi_zip zip; /* zip only */
    const char *prefix;
    size_t prefix_len;
};

static int fail(const struct torch *t, struct bioinfer_error *err, int status, const char *what)
{
    return bi_fail(err, status, "%s: %s", t->path, what);
}

/* ---- storages ---- */

/* zip: the record of a storage; it must have exactly the bytes its id announces. */
static int place_storage(struct torch *t, struct bi_pickle_storage *s, struct bioinfer_error *err)
{
    const struct bi_zip_entry *e;
    char name[2 * BI_MAX_NAME + 16];
    int n;
    if (s->placed)
        return 0;
    n = snprintf(name, sizeof name, "%.*sdata/%s", (int)t->prefix_len, t->prefix, s->key);
    e = n > 0 && (size_t)n < sizeof name ? bi_zip_find(&t->zip, name, (size_t)n) : NULL;
    if (!e)
        return bi_fail(err, BIOINFER_FORMAT, "%s: no record 'data/%s' for a storage", t->path,
                       bi_quote(s->key, strlen(s->key)).text);
    if (e->size != s->n * s->element_size)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: record 'data/%s' has %llu bytes, expected %llu elements of %llu",
                       t->path, bi_quote(s->key, strlen(s->key)).text, (unsigned long long)e->size,
                       (unsigned long long)s->n, (unsigned long long)s->element_size);
    s->placed = true;
    s->offset = e->data;
    s->size = e->size;
    s->crc = e->crc;
    s->record = t->r->cp->n_records++;
    return 0;
}

/* ---- the state dict ---- */

static bool is_dense(const struct bi_tensor *tensor)
{
    uint64_t step = 1;
    for (int i = tensor->rank - 1; i >= 0; i--) {
        if (tensor->shape[i] != 1 && tensor->stride[i] != step)
            return false;
        step *= tensor->shape[i]; /* a factor of n_elements, which did not overflow */
    }
    return true;
}

static int add_tensor(struct torch *t, const char *name, size_t name_len,
                      const struct bi_pickle_tensor *from, struct bioinfer_error *err)
{
    struct bi_tensor tensor = {.dtype = from->dtype, .rank = from->rank, .file = t->file};
    uint64_t size = bi_dtype_bits(from->dtype) / 8;
    struct bi_pickle_storage *s = from->storage;
    int st;
    /* legacy storages were all placed when the stream was walked */
    if (!s->placed && (st = place_storage(t, s, err)))
        return st;
    tensor.n_elements = 1;
    for (int i = 0; i < from->rank; i++) {
        tensor.shape[i] = from->shape[i];
        tensor.stride[i] = from->stride[i];
        tensor.n_elements *= from->shape[i]; /* checked when the view was made */
    }
    tensor.offset = s->offset + from->offset * size; /* inside the storage, as the view is */
    tensor.contiguous = !tensor.n_elements || is_dense(&tensor);
    if (t->zip.n_entries) {
        tensor.crc = s->crc;
        tensor.record_offset = s->offset;
        tensor.record_size = s->size;
        tensor.record = s->record;
    }
    return bi_reader_add_tensor(t->r, &tensor, name, name_len, err);
}

static bool holds_tensor(const struct bi_pickle_value *v)
{
    const struct bi_pickle_value *key, *item;
    struct bi_pickle_iter it = {0};
    if (v->type != BI_PICKLE_DICT)
        return false;
    it.chunk = v->u.list->first;
    while ((key = bi_pickle_next(&it)) && (item = bi_pickle_next(&it)))
        if (key->type == BI_PICKLE_STRING && item->type == BI_PICKLE_TENSOR)
            return true;
    return false;
}

/* The dict that holds the tensors, and under which key of the top level it is ("" = it
 * is the top level itself). */
static int find_state(struct torch *t, const struct bi_pickle_value *top,
                      const struct bi_pickle_value **state, const char **where,
                      struct bioinfer_error *err)
{
    static const char *const keys[] = {"model", "state_dict", "model_state_dict"};
    const struct bi_pickle_value *v;
    char buffer[160];
    if (top->type != BI_PICKLE_DICT)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: top level is %s, expected a dict of tensors",
                       t->path, bi_pickle_describe(top, buffer, sizeof buffer));
    *state = top;
    *where = "";
    for (size_t i = 0; i < BI_COUNT(keys); i++)
        if ((v = bi_pickle_get(top, keys[i])) && holds_tensor(v)) {
            *state = v;
            *where = keys[i];
            return 0;
        }
    if (holds_tensor(top))
        return 0;
    for (size_t i = 0; i < BI_COUNT(keys); i++)
        if ((v = bi_pickle_get(top, keys[i])) && v->type == BI_PICKLE_OPAQUE)
            return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: checkpoint value '%s' is %s", t->path,
                           keys[i], bi_pickle_describe(v, buffer, sizeof buffer));
    return 0;
}

static int add_tensors(struct torch *t, const struct bi_pickle_value *state,
                       struct bioinfer_error *err)
{
    const struct bi_pickle_value *key, *v;
    struct bi_pickle_iter it = {.chunk = state->u.list->first};
    int st = 0;
    while (!st && (key = bi_pickle_next(&it)) && (v = bi_pickle_next(&it)))
        if (v->type == BI_PICKLE_TENSOR) {
            if (key->type == BI_PICKLE_STRING)
                st = add_tensor(t, key->u.text->data, key->u.text->n, v->u.tensor, err);
            else
                bi_log(t->r->cp->env, BIOINFER_LOG_WARNING,
                       "%s: a tensor whose name is no string: ignored", t->path);
        }
    return st;
}

/* ---- metadata ---- */

enum { MAX_META_DEPTH = 8, MAX_META_VISITS = 100000, MAX_META_LIST = 64 };

/* A dict on the way down. Sharing can make a small pickle a tree without end, so depth
 * and visits are both bounded. */
struct level {
    struct bi_pickle_iter it;
    const char *prefix;
    bool is_list; /* values have numbers instead of keys */
    int at;
};

/* *take = false: nothing to report for this value. */
static int make_meta(struct torch *t, const struct bi_pickle_value *v, struct bi_meta *meta,
                     bool *take, struct bioinfer_error *err)
{
    struct bi_arena *arena = &t->r->cp->arena;
    const char *text = NULL;
    size_t n = 0;
    *take = true;
    switch (v->type) {
    case BI_PICKLE_INT:
        meta->type = BI_META_INT;
        meta->i = v->u.i;
        return 0;
    case BI_PICKLE_BOOL:
        meta->type = BI_META_BOOL;
        meta->i = v->u.i;
        return 0;
    case BI_PICKLE_FLOAT:
        meta->type = BI_META_FLOAT;
        meta->f = v->u.f;
        return 0;
    case BI_PICKLE_STRING:
        meta->type = BI_META_STRING;
        text = v->u.text->data;
        n = v->u.text->n;
        if (memchr(text, '\0', n) || bi_utf8_check(text, n) < n)
            *take = false;
        break;
    case BI_PICKLE_DTYPE:
        meta->type = BI_META_STRING;
        text = bi_dtype_name(v->u.dtype);
        n = strlen(text);
        break;
    case BI_PICKLE_OPAQUE:
    case BI_PICKLE_SYMBOL:
        meta->type = BI_META_OPAQUE;
        text = v->u.symbol->name;
        n = strlen(text);
        break;
    default:
        *take = false;
    }
    if (*take && !(meta->text = bi_arena_strndup(arena, text, n)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: metadata", t->path);
    return 0;
}

/* A short list among what Lightning calls hyper_parameters: settings of a model. */
static bool is_setting(const struct bi_pickle_value *v, const char *key)
{
    return (v->type == BI_PICKLE_LIST || v->type == BI_PICKLE_TUPLE) &&
           v->u.list->n <= MAX_META_LIST && !strncmp(key, "hyper_parameters.", 17);
}

/* The next value of a level and the key to report it by, NULL for a key that is no plain text.
 * False behind the last one; *v = NULL: no memory. */
static bool next_key(struct torch *t, struct level *l, struct bi_meta *meta,
                     const struct bi_pickle_value **v, struct bioinfer_error *err)
{
    struct bi_arena *arena = &t->r->cp->arena;
    const struct bi_pickle_value *key = l->is_list ? NULL : bi_pickle_next(&l->it);
    if ((!l->is_list && !key) || !(*v = bi_pickle_next(&l->it)))
        return false;
    if (l->is_list) {
        meta->key = bi_arena_printf(arena, "%s.%d", l->prefix, l->at++);
    } else {
        if (key->type != BI_PICKLE_STRING || !key->u.text->n ||
            key->u.text->n + strlen(l->prefix) > BI_MAX_NAME ||
            memchr(key->u.text->data, '\0', key->u.text->n) ||
            bi_utf8_check(key->u.text->data, key->u.text->n) < key->u.text->n)
            return true;
        meta->key = bi_arena_printf(arena, "%s%s%s", l->prefix, *l->prefix ? "." : "",
                                    key->u.text->data);
    }
    if (!meta->key) {
        bi_fail(err, BIOINFER_NOMEM, "%s: metadata", t->path);
        *v = NULL;
    }
    return true;
}

static int add_metadata(struct torch *t, const struct bi_pickle_value *top,
                        struct bioinfer_error *err)
{
    struct level levels[MAX_META_DEPTH] = {{{top->u.list->first, 0}, "", false, 0}};
    size_t depth = 1;
    long visits = 0;
    int st = 0;
    while (depth && !st) {
        struct level *l = &levels[depth - 1];
        const struct bi_pickle_value *v = NULL;
        struct bi_meta meta = {0};
        bool take;
        if (!next_key(t, l, &meta, &v, err)) {
            depth--;
            continue;
        }
        if (++visits > MAX_META_VISITS)
            break;
        if (!v)
            return BIOINFER_NOMEM;
        if (!meta.key || v->type == BI_PICKLE_TENSOR)
            continue;
        if (v->type == BI_PICKLE_DICT || v->type == BI_PICKLE_OBJECT || is_setting(v, meta.key)) {
            if (depth < MAX_META_DEPTH)
                levels[depth++] = (struct level){
                    {v->u.list->first, 0}, meta.key, is_setting(v, meta.key), 0};
            continue;
        }
        if (!(st = make_meta(t, v, &meta, &take, err)) && take)
            st = bi_reader_add_meta(t->r, &meta, err);
    }
    return st;
}

static int add_all(struct torch *t, const struct bi_pickle_value *top, struct bioinfer_error *err)
{
    const struct bi_pickle_value *state;
    const char *where;
    int st;
    if (top->type == BI_PICKLE_TENSOR) /* torch.save(tensor): it has no name of its own */
        return add_tensor(t, "tensor", 6, top->u.tensor, err);
    if ((st = find_state(t, top, &state, &where, err)) || (st = add_tensors(t, state, err)))
        return st;
    return add_metadata(t, top, err);
}

/* ---- zip ---- */

static const struct bi_zip_entry *find_record(const struct torch *t, const char *name)
{
    char full[BI_MAX_NAME + 64];
    int n = snprintf(full, sizeof full, "%.*s%s", (int)t->prefix_len, t->prefix, name);
    return n > 0 && (size_t)n < sizeof full ? bi_zip_find(&t->zip, full, (size_t)n) : NULL;
}

static bool has_suffix(const struct bi_zip_entry *e, const char *suffix)
{
    size_t n = strlen(suffix);
    return e->name_len >= n && !memcmp(e->name + e->name_len - n, suffix, n);
}

/* Finds the prefix and names archives that are no checkpoints. */
static int find_prefix(struct torch *t, struct bioinfer_error *err)
{
    const struct bi_zip *z = &t->zip;
    const char *slash;
    for (size_t i = 0; i < z->n_entries; i++)
        if (has_suffix(&z->entries[i], "/constants.pkl"))
            return fail(t, err, BIOINFER_UNSUPPORTED,
                        "this is a TorchScript archive (torch.jit.save); save its state_dict");
    if (!z->n_entries)
        return fail(t, err, BIOINFER_FORMAT, "an empty zip archive");
    if (z->n_entries && has_suffix(&z->entries[0], ".npy"))
        return fail(t, err, BIOINFER_UNSUPPORTED, "this is a NumPy archive (.npz)");
    slash = strchr(z->entries[0].name, '/');
    t->prefix = z->entries[0].name;
    t->prefix_len = slash ? (size_t)(slash - t->prefix) + 1 : 0;
    if (t->prefix_len > BI_MAX_NAME)
        return fail(t, err, BIOINFER_LIMIT, "zip: folder name longer than 1024 bytes");
    if (!slash || !find_record(t, "data.pkl"))
        return fail(t, err, BIOINFER_UNSUPPORTED,
                    "a zip archive without a data.pkl record: not a PyTorch checkpoint");
    return 0;
}

/* The text of a small record; *n = 0 when there is none. */
static int read_record(const struct torch *t, const char *name, char *text, size_t cap, size_t *n,
                       struct bioinfer_error *err)
{
    const struct bi_zip_entry *e = find_record(t, name);
    *n = 0;
    if (!e)
        return 0;
    if (e->size > cap || !e->size)
        return bi_fail(err, BIOINFER_FORMAT, "%s: record '%s' has %llu bytes", t->path, name,
                       (unsigned long long)e->size);
    *n = (size_t)e->size;
    return bi_file_read(t->zip.file, e->data, text, *n, err);
}

static int read_number(const struct torch *t, const char *name, uint64_t *v,
                       struct bioinfer_error *err)
{
    char text[32];
    size_t n;
    int st = read_record(t, name, text, sizeof text, &n, err);
    if (st || !n)
        return st;
    if (text[n - 1] == '\n')
        n--;
    if (!bi_text_u64(text, n, v))
        return bi_fail(err, BIOINFER_FORMAT, "%s: record '%s': expected a number, got '%s'",
                       t->path, name, bi_quote(text, n).text);
    return 0;
}

static int check_records(const struct torch *t, struct bioinfer_error *err)
{
    uint64_t version = 3, alignment = 64;
    char order[8];
    size_t n;
    int st = read_record(t, "byteorder", order, sizeof order, &n, err);
    if (st)
        return st;
    if (n == 3 && !memcmp(order, "big", 3))
        return fail(t, err, BIOINFER_UNSUPPORTED, "saved on a big-endian machine");
    if (n && (n != 6 || memcmp(order, "little", 6)))
        return bi_fail(err, BIOINFER_FORMAT, "%s: record 'byteorder': expected 'little', got '%s'",
                       t->path, bi_quote(order, n).text);
    if ((st = read_number(t, "version", &version, err)) ||
        (st = read_number(t, ".storage_alignment", &alignment, err)))
        return st;
    if (version < 1 || version > 10)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: checkpoint version %llu, 1 to 10 are read",
                       t->path, (unsigned long long)version);
    return 0;
}

static int check_pickle_crc(const struct torch *t, const struct bi_zip_entry *e,
                            struct bioinfer_error *err)
{
    uint32_t crc;
    int st = bi_file_crc(t->zip.file, e->data, e->size, &crc, err);
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    crc = e->crc; /* a fuzzer would hardly ever get past it */
#endif
    if (!st && crc != e->crc)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: data.pkl: CRC is %08X, expected %08X", t->path,
                     (unsigned)crc, (unsigned)e->crc);
    return st;
}

static int torch_start(struct torch *t, struct bi_reader *r, int file, bool legacy,
                       struct bioinfer_error *err)
{
    const struct bi_env *env = r->cp->env;
    *t = (struct torch){.r = r, .file = file, .path = r->cp->files[file].path};
    t->zip.env = env;
    t->pickle = (struct bi_pickle){
        .env = env, .strict = r->options.strict_pickle, .legacy = legacy};
    t->pickle.label = bi_arena_printf(&r->cp->arena, "%s: %s", t->path,
                                      legacy ? "pickle" : "data.pkl");
    return t->pickle.label ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: name", t->path);
}

int bi_torch_zip_read(struct bi_reader *r, int file, struct bioinfer_error *err)
{
    struct bi_file *f = &r->cp->files[file];
    const struct bi_zip_entry *e;
    struct bi_pickle_value top;
    struct torch t;
    uint64_t stop;
    int st = torch_start(&t, r, file, false, err);
    if (st || (st = bi_zip_open(&t.zip, f, err)) || (st = find_prefix(&t, err)) ||
        (st = bi_zip_check(&t.zip, err)) || (st = check_records(&t, err)))
        goto out;
    e = find_record(&t, "data.pkl");
    if (e->size > MAX_PICKLE) {
        st = bi_fail(err, BIOINFER_LIMIT, "%s: data.pkl has %llu bytes, at most %d", t.path,
                     (unsigned long long)e->size, MAX_PICKLE);
        goto out;
    }
    if ((st = check_pickle_crc(&t, e, err)) ||
        (st = bi_pickle_read(&t.pickle, f, e->data, e->data + e->size, &stop, &top, err)))
        goto out;
    if (stop < e->data + e->size)
        bi_log(r->cp->env, BIOINFER_LOG_WARNING, "%s: data.pkl: bytes after its end are ignored",
               t.path);
    st = add_all(&t, &top, err);
out:
    bi_pickle_free(&t.pickle);
    bi_zip_close(&t.zip);
    return st;
}

/* ---- legacy ---- */

/* {protocol_version: 1001, little_endian: True, ...} */
static int check_system(const struct torch *t, const struct bi_pickle_value *protocol,
                        const struct bi_pickle_value *system, struct bioinfer_error *err)
{
    const struct bi_pickle_value *little;
    if (protocol->type != BI_PICKLE_INT || protocol->u.i != 1001)
        return fail(t, err, BIOINFER_UNSUPPORTED, "legacy checkpoint: expected protocol 1001");
    if (system->type != BI_PICKLE_DICT || !(little = bi_pickle_get(system, "little_endian")) ||
        little->type != BI_PICKLE_BOOL)
        return fail(t, err, BIOINFER_FORMAT, "legacy checkpoint: expected little_endian in a dict");
    if (!little->u.i)
        return fail(t, err, BIOINFER_UNSUPPORTED, "saved on a big-endian machine");
    return 0;
}

/* Walks the raw storages behind the pickles; each key of the list has one. */
static int place_storages(struct torch *t, const struct bi_file *f, uint64_t at,
                          const struct bi_pickle_value *keys, struct bioinfer_error *err)
{
    struct bi_pickle_iter it = {.chunk = keys->u.list->first};
    const struct bi_pickle_value *key;
    size_t n_placed = 0;
    while ((key = bi_pickle_next(&it))) {
        struct bi_pickle_storage *s;
        uint8_t count[8];
        int st;
        if (key->type != BI_PICKLE_STRING)
            return fail(t, err, BIOINFER_FORMAT, "legacy checkpoint: a storage key is no string");
        s = bi_pickle_find_storage(&t->pickle, key->u.text->data, key->u.text->n);
        if (!s)
            return bi_fail(err, BIOINFER_FORMAT, "%s: storage '%s' is listed, but not used",
                           t->path, bi_quote(key->u.text->data, key->u.text->n).text);
        if (s->placed)
            return bi_fail(err, BIOINFER_FORMAT, "%s: storage '%s' is listed twice", t->path,
                           bi_quote(s->key, strlen(s->key)).text);
        if ((st = bi_file_read(f, at, count, sizeof count, err)))
            return st;
        if (bi_le64(count) != s->n)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: storage '%s' has %llu elements, expected %llu", t->path,
                           bi_quote(s->key, strlen(s->key)).text,
                           (unsigned long long)bi_le64(count), (unsigned long long)s->n);
        at += sizeof count;
        s->offset = at;
        s->size = s->n * s->element_size; /* checked when the storage was made */
        if (!bi_range_ok(at, s->size, f->size))
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: storage '%s' of %llu bytes at %llu, file has %llu", t->path,
                           bi_quote(s->key, strlen(s->key)).text, (unsigned long long)s->size,
                           (unsigned long long)at, (unsigned long long)f->size);
        at += s->size;
        s->placed = true;
        n_placed++;
    }
    if (n_placed != t->pickle.storages.n_used)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %zu storages are used, %zu are there", t->path,
                       t->pickle.storages.n_used, n_placed);
    if (at < f->size)
        bi_log(t->r->cp->env, BIOINFER_LOG_WARNING, "%s: %llu bytes after the last storage",
               t->path, (unsigned long long)(f->size - at));
    return 0;
}

int bi_torch_legacy_read(struct bi_reader *r, int file, struct bioinfer_error *err)
{
    enum { MAGIC, PROTOCOL, SYSTEM, OBJECTS, KEYS, N_PICKLES };
    const struct bi_file *f = &r->cp->files[file];
    struct bi_pickle_value v[N_PICKLES];
    uint64_t at = 0;
    struct torch t;
    int st = torch_start(&t, r, file, true, err);
    for (int i = 0; i < N_PICKLES && !st; i++) {
        uint64_t end = f->size - at > MAX_PICKLE ? at + MAX_PICKLE : f->size;
        st = bi_pickle_read(&t.pickle, f, at, end, &at, &v[i], err);
        if (!st && i == SYSTEM)
            st = check_system(&t, &v[PROTOCOL], &v[SYSTEM], err);
    }
    if (!st && v[KEYS].type != BI_PICKLE_LIST)
        st = fail(&t, err, BIOINFER_FORMAT, "legacy checkpoint: expected a list of storage keys");
    if (!st && !(st = place_storages(&t, f, at, &v[KEYS], err)))
        st = add_all(&t, &v[OBJECTS], err);
    bi_pickle_free(&t.pickle);
    bi_zip_close(&t.zip);
    return st;
}
