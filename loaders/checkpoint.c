/* checkpoint.c - opening weights, whatever they are stored in; reading tensors as
 * float32.
 *
 * Sections: sniffing · opening and closing · finding · reading · printing */
#include "checkpoint.h"

#include <stdatomic.h>
#include <string.h>
#include <zlib.h>

#include "reader.h"

/* ---- sniffing ---- */

/* Known by their first bytes and refused by name. */
static const struct {
    const char *magic;
    size_t n;
    const char *what;
} refused[] = {
#define MAGIC(bytes, what) {bytes, sizeof(bytes) - 1, what}
    MAGIC("\x93NUMPY", "a NumPy array (.npy)"),
    MAGIC("GGUF", "GGUF; bioinfer reads safetensors and PyTorch checkpoints"),
    MAGIC("FUGG", "byte-swapped GGUF"),
    MAGIC("\x1F\x8B", "gzip data; decompress it first"),
    MAGIC("\x28\xB5\x2F\xFD", "zstd data; decompress it first"),
    MAGIC("BZh", "bzip2 data; decompress it first"),
    MAGIC("\xFD"
          "7zXZ\0",
          "xz data; decompress it first"),
    MAGIC("PAR1", "Parquet"),
    MAGIC("ARROW1", "an Arrow IPC file"),
    MAGIC("\x26\xFC\x8F\x88", "bigWig"),
    MAGIC("\x88\x8F\xFC\x26", "bigWig"),
    MAGIC("version https://git-lfs", "a git-lfs pointer; fetch the real file with 'git lfs pull'"),
    MAGIC("<!DOCTYPE", "an HTML page, not a download"),
    MAGIC("<html", "an HTML page, not a download"),
    MAGIC(">", "FASTA, not weights"),
    MAGIC("{", "JSON text, not weights"),
    MAGIC("\x7F"
          "ELF",
          "a program"),
#undef MAGIC
};

static const char torch_magic[] = "\x80\x02\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19\x2E";

static int look_for_hdf5(const struct bi_file *f, bool *found, struct bioinfer_error *err)
{
    uint8_t sign[8];
    int st = 0;
    *found = false;
    for (uint64_t at = 0; !st && !*found && bi_range_ok(at, sizeof sign, f->size) && at <= 1 << 20;
         at = at ? at * 2 : 512)
        if (!(st = bi_file_read(f, at, sign, sizeof sign, err)))
            *found = !memcmp(sign, "\x89HDF\r\n\x1A\n", sizeof sign);
    return st;
}

/* How much the file looks like safetensors: 2 = length and first character fit, 1 = one
 * of them does (the reader will say what is wrong with the other), 0 = not at all. */
static int safetensors_likeness(const struct bi_file *f, const uint8_t *head, size_t n)
{
    uint64_t length = n >= 8 ? bi_le64(head) : 0;
    bool text = n > 8 && head[8] && strchr("{ \t\r\n", head[8]);
    return text + (length && length <= BI_MAX_HEADER && bi_range_ok(8, length, f->size));
}

static int fail_kind(const struct bi_file *f, struct bioinfer_error *err, const char *what)
{
    return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: this is %s", f->path, what);
}

/* *format = name of the container, or a status that names what the file is instead. */
static int sniff(const struct bi_file *f, const char **format, struct bioinfer_error *err)
{
    uint8_t head[265] = {0};
    size_t n = f->size < sizeof head ? (size_t)f->size : sizeof head;
    bool hdf5;
    int st = bi_file_read(f, 0, head, n, err);
    if (st)
        return st;
    *format = NULL;
    if (n >= 4 && (!memcmp(head, "PK\3\4", 4) || !memcmp(head, "PK\5\6", 4)))
        *format = "pytorch zip";
    else if (n >= 15 && !memcmp(head, torch_magic, 15))
        *format = "pytorch legacy";
    else if (n >= 12 && !memcmp(head, "MPNN\1\0\0\0", 8))
        *format = "mpnn";
    if (*format)
        return 0;
    for (size_t i = 0; i < BI_COUNT(refused); i++)
        if (n >= refused[i].n && !memcmp(head, refused[i].magic, refused[i].n) &&
            !(refused[i].n < 4 && safetensors_likeness(f, head, n) == 2))
            return fail_kind(f, err, refused[i].what);
    if ((st = look_for_hdf5(f, &hdf5, err)))
        return st;
    if (hdf5)
        return fail_kind(f, err, "HDF5; convert it to safetensors");
    if (n >= 262 && !memcmp(head + 257, "ustar", 5))
        return fail_kind(f, err,
                         "a tar archive; if it is a very old PyTorch checkpoint, "
                         "re-save it");
    if (safetensors_likeness(f, head, n)) {
        *format = "safetensors";
        return 0;
    }
    if (n >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5)
        return fail_kind(f, err, "a plain Python pickle, not a PyTorch checkpoint");
    if (n < 8)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %zu bytes are too few for a weight file", f->path,
                       n);
    return bi_fail(err, BIOINFER_FORMAT,
                   "%s: neither safetensors nor a PyTorch checkpoint (it begins %02X %02X %02X "
                   "%02X)",
                   f->path, head[0], head[1], head[2], head[3]);
}

int bi_weights_read(struct bi_reader *r, int file, const char *want, struct bioinfer_error *err)
{
    const struct bi_file *f = &r->cp->files[file];
    const char *format;
    int st = sniff(f, &format, err);
    if (st)
        return st;
    if (want && strncmp(format, want, strlen(want)))
        return bi_fail(err, BIOINFER_FORMAT, "%s: expected %s by its name, got %s", f->path, want,
                       format);
    if (!r->cp->format)
        r->cp->format = format;
    if (!strcmp(format, "safetensors"))
        return bi_safetensors_read(r, file, err);
    if (!strcmp(format, "mpnn"))
        return bi_mpnn_read(r, file, err);
    return strcmp(format, "pytorch zip") ? bi_torch_legacy_read(r, file, err)
                                         : bi_torch_zip_read(r, file, err);
}

/* ---- opening and closing ---- */

int bi_reader_add_file(struct bi_reader *r, struct bi_file *f, struct bioinfer_error *err)
{
    struct bi_checkpoint *cp = r->cp;
    if (!bi_grow(cp->env, &cp->files, &r->file_cap, (size_t)cp->n_files + 1, sizeof *cp->files)) {
        int st = bi_fail(err, BIOINFER_NOMEM, "%s: file table", f->path);
        bi_file_close(f);
        return st;
    }
    cp->files[cp->n_files++] = *f;
    *f = BI_FILE_NONE;
    return 0;
}

static int reader_new(struct bi_reader *r, const struct bi_env *env, const char *path,
                      const struct bi_checkpoint_options *options, struct bioinfer_error *err)
{
    struct bi_checkpoint *cp = bi_zalloc(env, sizeof *cp);
    *r = (struct bi_reader){.meta_names.env = env, .ignored.env = env};
    if (!cp)
        return bi_fail(err, BIOINFER_NOMEM, "%s: checkpoint", path);
    r->cp = cp;
    if (options)
        r->options = *options;
    cp->env = env;
    cp->arena.env = env;
    cp->by_name.env = env;
    cp->verify = r->options.verify;
    if (!(cp->path = bi_arena_strndup(&cp->arena, path, strlen(path))))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    return 0;
}

/* Frees what only reading needed and hands the checkpoint over when `st` is 0. */
static int reader_finish(struct bi_reader *r, struct bi_checkpoint **out, int st,
                         struct bioinfer_error *err)
{
    struct bi_checkpoint *cp = r->cp;
    const struct bi_env *env = r->meta_names.env;
    if (!st && cp->n_meta) {
        struct bi_meta *meta = bi_arena_calloc(&cp->arena, cp->n_meta, sizeof *meta);
        if (meta)
            memcpy(meta, r->meta, cp->n_meta * sizeof *meta);
        else
            st = bi_fail(err, BIOINFER_NOMEM, "%s: metadata", cp->path);
        cp->meta = meta;
    }
    if (!st && cp->n_records && !(cp->crc_checked = bi_zalloc(env, cp->n_records)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: record table", cp->path);
    bi_free(env, r->meta);
    bi_map_free(&r->meta_names);
    bi_map_free(&r->ignored);
    if (st) {
        bi_checkpoint_close(&r->cp);
        return st;
    }
    if ((cp->watch = r->options.watch)) {
        bi_json_watch((struct bi_json *)(uintptr_t)cp->config, cp->path, cp->watch);
        cp->watch->checkpoint(cp->watch->user, cp);
    }
    *out = cp;
    return 0;
}

/* One file, with what lies beside it. */
static int read_single(struct bi_reader *r, struct bi_folder *folder, const char *path,
                       struct bioinfer_error *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t n = slash ? (size_t)(slash - path) : 0;
    struct bi_file f = BI_FILE_NONE;
    int st = bi_file_open(&f, r->cp->env, path, err);
    if (st || (st = bi_reader_add_file(r, &f, err)))
        return st;
    if (!(folder->path = slash ? n ? bi_arena_strndup(&r->cp->arena, path, n) : "/" : "."))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", path);
    if ((st = bi_weights_read(r, 0, NULL, err)))
        return st;
    if (!r->options.follow_links) {
        char *root = NULL;
        if ((st = bi_hub_root(&root, r->cp->env, folder->path, err)))
            return st;
        folder->root = root;
    }
    if ((st = bi_hf_read_config(r, err)) || (st = bi_hf_read_matgl(r, name, err)))
        return st;
    return strncmp(r->cp->format, "pytorch", 7) ? 0 : bi_hf_read_contact_head(r, name, err);
}

int bi_checkpoint_open(struct bi_checkpoint **out, const struct bi_env *env, const char *path,
                       const struct bi_checkpoint_options *options, struct bioinfer_error *err)
{
    struct bi_folder folder = {0};
    struct bi_reader r;
    char *root = NULL;
    int st = reader_new(&r, env, path, options, err);
    r.folder = &folder;
    if (!st && bi_path_is_folder(path)) {
        folder.path = path;
        if (!r.options.follow_links)
            st = bi_hub_root(&root, env, path, err);
        folder.root = root;
        if (!st)
            st = bi_hf_read_folder(&r, err);
    } else if (!st) {
        st = read_single(&r, &folder, path, err);
    }
    bi_free(env, (void *)(uintptr_t)folder.root);
    return reader_finish(&r, out, st, err);
}

int bi_checkpoint_open_memory(struct bi_checkpoint **out, const struct bi_env *env,
                              const char *name, const void *bytes, size_t size,
                              const struct bi_checkpoint_options *options,
                              struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    struct bi_reader r;
    int st = reader_new(&r, env, name, options, err);
    if (!st && !(st = bi_file_from_memory(&f, env, name, bytes, size, err)) &&
        !(st = bi_reader_add_file(&r, &f, err)))
        st = bi_weights_read(&r, 0, NULL, err);
    return reader_finish(&r, out, st, err);
}

int bi_checkpoint_open_folder_memory(struct bi_checkpoint **out, const struct bi_env *env,
                                     const struct bi_named_bytes *files, size_t n_files,
                                     const struct bi_checkpoint_options *options,
                                     struct bioinfer_error *err)
{
    struct bi_folder folder = {.entries = files, .n_entries = n_files};
    struct bi_reader r;
    int st = reader_new(&r, env, "folder in memory", options, err);
    r.folder = &folder;
    if (!st)
        st = bi_hf_read_folder(&r, err);
    return reader_finish(&r, out, st, err);
}

void bi_checkpoint_close(struct bi_checkpoint **cp)
{
    struct bi_checkpoint *c = *cp;
    if (!c)
        return;
    for (int i = 0; i < c->n_files; i++)
        bi_file_close(&c->files[i]);
    bi_free(c->env, c->files);
    bi_free(c->env, c->tensors);
    bi_free(c->env, c->crc_checked);
    bi_map_free(&c->by_name);
    bi_checkpoint_close(&c->joined);
    bi_arena_reset(&c->arena);
    bi_free(c->env, c);
    *cp = NULL;
}

/* ---- finding ---- */

const struct bi_tensor *bi_checkpoint_find(const struct bi_checkpoint *cp, const char *name)
{
    uint64_t i;
    return bi_map_find(&cp->by_name, name, strlen(name), &i) ? &cp->tensors[i] : NULL;
}

/* Takes a word out of a name in place; false: it is not there. */
static bool take_word(char *name, const char *word, bool inside)
{
    const size_t n = strlen(word);
    bool taken = false;
    for (char *at = name; at && *at;) {
        if (strncmp(at, word, n) || !at[n]) {
            at = inside ? strchr(at, '.') : NULL;
            at = at ? at + 1 : NULL;
            continue;
        }
        memmove(at, at + n, strlen(at + n) + 1);
        taken = true;
        at = inside ? at : NULL;
    }
    return taken;
}

int bi_checkpoint_unwrap(struct bi_checkpoint *cp, const char *word, bool inside, size_t *n,
                         struct bioinfer_error *err)
{
    bool any = false;
    int st = 0;
    *n = 0;
    for (size_t i = 0; i < cp->n_tensors && !any; i++)
        any = strstr(cp->tensors[i].name, word) != NULL;
    if (!any)
        return 0;
    bi_map_free(&cp->by_name);
    for (size_t i = 0; st >= 0 && i < cp->n_tensors; i++) {
        struct bi_tensor *t = &cp->tensors[i];
        char *name = bi_arena_strndup(&cp->arena, t->name, strlen(t->name));
        if (!name)
            return bi_fail(err, BIOINFER_NOMEM, "%s: names of tensors", cp->path);
        *n += take_word(name, word, inside);
        if (!(st = bi_map_add(&cp->by_name, name, strlen(name), i, NULL)))
            return bi_fail(err, BIOINFER_FORMAT, "%s: without '%s' two tensors are called %.200s",
                           cp->path, word, name);
        t->name = name;
    }
    return st < 0 ? bi_fail(err, BIOINFER_NOMEM, "%s: names of tensors", cp->path) : 0;
}

int bi_checkpoint_unwrap_parts(struct bi_checkpoint *cp, struct bioinfer_error *err)
{
    static const char *const words[] = {"_orig_mod.", "_fsdp_wrapped_module.",
                                        "_checkpoint_wrapped_module."};
    size_t n;
    int st = 0;
    for (size_t i = 0; !st && i < BI_COUNT(words); i++)
        st = bi_checkpoint_unwrap(cp, words[i], true, &n, err);
    return st;
}

/* Makes room for what another set has; false: no memory. */
static bool make_room(struct bi_checkpoint *cp, const struct bi_checkpoint *from)
{
    const size_t n_files = (size_t)(cp->n_files + from->n_files);
    const size_t n_tensors = cp->n_tensors + from->n_tensors;
    const size_t n_records = cp->n_records + from->n_records;
    struct bi_file *files = bi_calloc(cp->env, n_files, sizeof *files);
    struct bi_tensor *tensors = bi_calloc(cp->env, n_tensors + 1, sizeof *tensors);
    _Atomic unsigned char *checked = bi_zalloc(cp->env, n_records + 1);
    if (!files || !tensors || !checked) {
        bi_free(cp->env, files);
        bi_free(cp->env, tensors);
        bi_free(cp->env, checked);
        return false;
    }
    memcpy(files, cp->files, (size_t)cp->n_files * sizeof *files);
    memcpy(tensors, cp->tensors, cp->n_tensors * sizeof *tensors);
    for (size_t i = 0; i < cp->n_records; i++)
        checked[i] = cp->crc_checked[i];
    bi_free(cp->env, cp->files);
    bi_free(cp->env, cp->tensors);
    bi_free(cp->env, cp->crc_checked);
    cp->files = files;
    cp->tensors = tensors;
    cp->crc_checked = checked;
    return true;
}

int bi_checkpoint_join(struct bi_checkpoint *cp, struct bi_checkpoint **other, const char *word,
                       const char *prefix, struct bioinfer_error *err)
{
    struct bi_checkpoint *from = *other, **end = &cp->joined;
    const size_t n = strlen(word);
    int st = 1;
    if (!make_room(cp, from))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tensors", from->path);
    for (size_t i = 0; st > 0 && i < from->n_tensors; i++) {
        struct bi_tensor t = from->tensors[i];
        if (strncmp(t.name, word, n))
            continue;
        if (!(t.name = bi_arena_printf(&cp->arena, "%s%s", prefix, t.name + n)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: names of tensors", from->path);
        if (!(st = bi_map_add(&cp->by_name, t.name, strlen(t.name), cp->n_tensors, NULL)))
            return bi_fail(err, BIOINFER_FORMAT, "%s and %s: both have the tensor %.200s", cp->path,
                           from->path, t.name);
        t.file += cp->n_files;
        t.record += cp->n_records;
        cp->tensors[cp->n_tensors++] = t;
    }
    if (st < 0)
        return bi_fail(err, BIOINFER_NOMEM, "%s: names of tensors", from->path);
    for (int i = 0; i < from->n_files; i++) {
        cp->files[cp->n_files++] = from->files[i];
        from->files[i] = BI_FILE_NONE;
    }
    cp->n_records += from->n_records;
    while (*end)
        end = &(*end)->joined;
    *end = from;
    *other = NULL;
    return 0;
}

const struct bi_meta *bi_checkpoint_meta(const struct bi_checkpoint *cp, const char *key)
{
    if (cp->watch)
        cp->watch->meta(cp->watch->user, cp, key);
    for (size_t i = 0; i < cp->n_meta; i++)
        if (!strcmp(cp->meta[i].key, key))
            return &cp->meta[i];
    return NULL;
}

/* ---- reading ---- */

enum { CHUNK_SIZE = 1 << 18, GATHER_SIZE = 64 << 20 };

int bi_file_crc(const struct bi_file *f, uint64_t offset, uint64_t size, uint32_t *crc,
                struct bioinfer_error *err)
{
    uint8_t *buffer = bi_alloc(f->env, CHUNK_SIZE);
    uLong c = crc32(0, NULL, 0);
    int st = 0;
    if (!buffer)
        return bi_fail(err, BIOINFER_NOMEM, "%s: CRC buffer", f->path);
    while (size && !st) {
        size_t n = size < CHUNK_SIZE ? (size_t)size : CHUNK_SIZE;
        if (!(st = bi_file_read(f, offset, buffer, n, err)))
            c = crc32(c, buffer, (uInt)n);
        offset += n;
        size -= n;
    }
    bi_free(f->env, buffer);
    *crc = (uint32_t)c;
    return st;
}

static int check_crc(const struct bi_checkpoint *cp, const struct bi_tensor *t,
                     struct bioinfer_error *err)
{
    const struct bi_file *f = &cp->files[t->file];
    uint32_t crc;
    int st;
    if (!cp->verify || !t->record_size ||
        atomic_load_explicit(&cp->crc_checked[t->record], memory_order_relaxed))
        return 0;
    if ((st = bi_file_crc(f, t->record_offset, t->record_size, &crc, err)))
        return st;
    if (crc != t->crc)
        return bi_fail(err, BIOINFER_FORMAT,
                       "%s: tensor '%s': CRC of its record is %08X, "
                       "expected %08X",
                       f->path, t->name, (unsigned)crc, (unsigned)t->crc);
    atomic_store_explicit(&cp->crc_checked[t->record], 1, memory_order_relaxed);
    return 0;
}

/* n elements that lie packed from byte `offset`. */
static int read_packed(const struct bi_file *f, enum bi_dtype dtype, uint64_t offset, uint64_t n,
                       float *dst, struct bioinfer_error *err)
{
    size_t size = bi_dtype_bits(dtype) / 8, chunk = CHUNK_SIZE / size;
    uint8_t *buffer;
    int st = 0;
    if (dtype == BI_F32)
        return bi_file_read(f, offset, dst, (size_t)n * size, err);
    if (!(buffer = bi_alloc(f->env, (n < chunk ? (size_t)n : chunk) * size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: read buffer", f->path);
    while (n && !st) {
        size_t k = n < chunk ? (size_t)n : chunk;
        if (!(st = bi_file_read(f, offset, buffer, k * size, err)))
            bi_dtype_to_f32(dtype, buffer, k, dst);
        offset += k * size;
        dst += k;
        n -= k;
    }
    bi_free(f->env, buffer);
    return st;
}

/* Elements from anywhere. The bytes between the first and the last element that the
 * range of outermost rows can touch are read at once when they are few enough,
 * otherwise through a window that moves. */
static int read_strided(const struct bi_file *f, const struct bi_tensor *t, uint64_t first,
                        uint64_t n, float *dst, struct bioinfer_error *err)
{
    uint64_t index[BI_MAX_RANK] = {0}, size = bi_dtype_bits(t->dtype) / 8, rest = first;
    uint64_t rows = 1, low, high, inner = 0, at = 0, window_begin = 0, window_end = 0;
    uint64_t window_size;
    uint8_t *window;
    int st = 0;
    for (int i = t->rank - 1; i >= 0; i--) {
        index[i] = rest % t->shape[i];
        rest /= t->shape[i];
        at += index[i] * t->stride[i];
        if (i) {
            rows *= t->shape[i];
            inner += (t->shape[i] - 1) * t->stride[i];
        }
    }
    /* all within the storage, by the check made when the view was built */
    low = t->rank ? first / rows * t->stride[0] : 0;
    high = (t->rank ? (first + n - 1) / rows * t->stride[0] : 0) + inner + 1;
    window_size = (high - low) * size;
    if (window_size > GATHER_SIZE)
        window_size = 4096;
    if (!(window = bi_alloc(f->env, (size_t)window_size)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: read buffer", f->path);
    for (uint64_t k = 0; k < n; k++) {
        uint64_t byte = at * size;
        if (byte < window_begin || byte + size > window_end) {
            window_begin = window_size == (high - low) * size ? low * size : byte;
            window_end = high * size - window_begin < window_size ? high * size
                                                                  : window_begin + window_size;
            if ((st = bi_file_read(f, t->offset + window_begin, window,
                                   (size_t)(window_end - window_begin), err)))
                break;
        }
        bi_dtype_to_f32(t->dtype, window + (byte - window_begin), 1, dst + k);
        for (int i = t->rank - 1; i >= 0; i--) {
            at += t->stride[i];
            if (++index[i] < t->shape[i])
                break;
            at -= t->shape[i] * t->stride[i];
            index[i] = 0;
        }
    }
    bi_free(f->env, window);
    return st;
}

int bi_tensor_read_f32(const struct bi_checkpoint *cp, const struct bi_tensor *tensor,
                       uint64_t first, uint64_t n, float *dst, struct bioinfer_error *err)
{
    const struct bi_file *f = &cp->files[tensor->file];
    int st;
    if (!bi_dtype_is_loadable(tensor->dtype))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: tensor '%s': %s values cannot be used",
                       f->path, tensor->name, bi_dtype_name(tensor->dtype));
    if (!bi_range_ok(first, n, tensor->n_elements))
        return bi_fail(err, BIOINFER_INVALID, "%s: tensor '%s': elements [%llu, +%llu) of %llu",
                       f->path, tensor->name, (unsigned long long)first, (unsigned long long)n,
                       (unsigned long long)tensor->n_elements);
    if (!n)
        return 0;
    if ((st = check_crc(cp, tensor, err)))
        return st;
    if (tensor->contiguous)
        return read_packed(f, tensor->dtype,
                           tensor->offset + first * (bi_dtype_bits(tensor->dtype) / 8), n, dst,
                           err);
    return read_strided(f, tensor, first, n, dst, err);
}

/* ---- printing ---- */

static void print_meta(const struct bi_meta *m, struct bi_buf *out)
{
    bi_buf_printf(out, "  %s = ", bi_quote(m->key, strlen(m->key)).text);
    switch (m->type) {
    case BI_META_INT:
        bi_buf_printf(out, "%lld\n", (long long)m->i);
        break;
    case BI_META_FLOAT:
        bi_buf_printf(out, "%.17g\n", m->f);
        break;
    case BI_META_BOOL:
        bi_buf_puts(out, m->i ? "true\n" : "false\n");
        break;
    case BI_META_STRING:
        bi_buf_printf(out, "\"%s\"\n", bi_quote(m->text, strlen(m->text)).text);
        break;
    case BI_META_OPAQUE:
        bi_buf_printf(out, "<%s>\n", bi_quote(m->text, strlen(m->text)).text);
        break;
    }
}

static void print_tensor(const struct bi_checkpoint *cp, const struct bi_tensor *t,
                         struct bi_buf *out)
{
    bi_buf_printf(out, "  %s %s [", bi_quote(t->name, strlen(t->name)).text,
                  bi_dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        bi_buf_printf(out, "%s%llu", i ? ", " : "", (unsigned long long)t->shape[i]);
    bi_buf_puts(out, t->contiguous ? "]" : "] strided");
    if (cp->n_files > 1)
        bi_buf_printf(out, " in file %d", t->file);
    bi_buf_putc(out, '\n');
}

int bi_checkpoint_print(const struct bi_checkpoint *cp, struct bi_buf *out)
{
    uint64_t elements = 0;
    for (size_t i = 0; i < cp->n_tensors; i++)
        if (!bi_add_size(elements, cp->tensors[i].n_elements, &elements))
            elements = UINT64_MAX;
    bi_buf_printf(out, "path: %s\nformat: %s\nfiles: %d\n", cp->path, cp->format, cp->n_files);
    for (int i = 0; i < cp->n_files; i++)
        bi_buf_printf(out, "  %s (%llu bytes)\n", cp->files[i].path,
                      (unsigned long long)cp->files[i].size);
    bi_buf_printf(out, "config.json: %s\nvocab.txt: %s\n", cp->config ? "yes" : "no",
                  cp->vocab ? "yes" : "no");
    bi_buf_printf(out, "tensors: %zu, %llu elements\n", cp->n_tensors,
                  (unsigned long long)elements);
    for (size_t i = 0; i < cp->n_tensors; i++)
        print_tensor(cp, &cp->tensors[i], out);
    if (cp->n_meta)
        bi_buf_printf(out, "metadata: %zu values\n", cp->n_meta);
    for (size_t i = 0; i < cp->n_meta; i++)
        print_meta(&cp->meta[i], out);
    return out->failed ? BIOINFER_NOMEM : 0;
}
