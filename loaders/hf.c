/* hf.c - folders in Hugging Face layout: weights, shard indexes, config.json,
 * vocab.txt, spiece.model, added_tokens.json, tokenizer.json; MatGL's state.pt, model.json.
 *
 * Weights are taken from the first of these that is there: model.safetensors, its
 * index, pytorch_model.bin, its index, state.pt. A shard is named by the index and must lie in
 * the folder; it must be of the kind the index is for, so that an index of safetensors
 * cannot make the reader open a pickle. Code in a folder (auto_map, *.py) is never
 * looked at. */
#include <string.h>

#include "reader.h"

enum { MAX_CONFIG_SIZE = 16 << 20, MAX_VOCAB_SIZE = 16 << 20 };

/* ---- files of a folder ---- */

static const char *label(const struct bi_reader *r)
{
    return r->folder->path ? r->folder->path : "folder in memory";
}

/* *found = false, and no error, when the folder has no such file. */
static int open_in_folder(struct bi_reader *r, const char *name, struct bi_file *f, bool *found,
                          struct bioinfer_error *err)
{
    const struct bi_folder *folder = r->folder;
    const struct bi_env *env = r->cp->env;
    char *path;
    int st;
    *found = false;
    if (!folder->path) {
        for (size_t i = 0; i < folder->n_entries && !*found; i++)
            if (!strcmp(folder->entries[i].name, name)) {
                *found = true;
                return bi_file_from_memory(f, env, name, folder->entries[i].bytes,
                                           folder->entries[i].size, err);
            }
        return 0;
    }
    if (!(path = bi_arena_printf(&r->cp->arena, "%s/%s", folder->path, name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", folder->path);
    if (!bi_path_exists(path))
        return 0;
    *found = true;
    if (folder->root && (st = bi_hub_check_link(env, path, folder->root, err)))
        return st;
    return bi_file_open(f, env, path, err);
}

/* A small text file; *text is freed by the caller, NULL when there is no such file. The
 * name to use in messages goes to *path (arena). */
static int slurp_in_folder(struct bi_reader *r, const char *name, uint64_t cap, char **text,
                           size_t *size, const char **path, struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    bool found;
    int st = open_in_folder(r, name, &f, &found, err);
    *text = NULL;
    if (st || !found)
        goto out;
    if (!(*path = bi_arena_strndup(&r->cp->arena, f.path, strlen(f.path)))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: path", name);
        goto out;
    }
    if (f.size > cap) {
        st = bi_fail(err, BIOINFER_LIMIT, "%s: %llu bytes, at most %llu are read", f.path,
                     (unsigned long long)f.size, (unsigned long long)cap);
        goto out;
    }
    if (!(*text = bi_alloc(r->cp->env, (size_t)f.size + 1))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %llu bytes of text", f.path,
                     (unsigned long long)f.size);
        goto out;
    }
    if ((st = bi_file_read(&f, 0, *text, (size_t)f.size, err))) {
        bi_free(r->cp->env, *text);
        *text = NULL;
        goto out;
    }
    (*text)[f.size] = '\0';
    *size = (size_t)f.size;
out:
    bi_file_close(&f);
    return st;
}

/* Opens a weight file of the folder and reads it. */
static int read_weights(struct bi_reader *r, const char *name, const char *want, bool *found,
                        struct bioinfer_error *err)
{
    struct bi_file f = BI_FILE_NONE;
    int st = open_in_folder(r, name, &f, found, err);
    if (st || !*found)
        return st;
    if ((st = bi_reader_add_file(r, &f, err)))
        return st;
    return bi_weights_read(r, r->cp->n_files - 1, want, err);
}

/* ---- config.json and vocab.txt ---- */

static int read_json(struct bi_reader *r, const char *name, uint64_t cap, struct bi_json **out,
                     const char **path, struct bioinfer_error *err)
{
    char *text = NULL;
    size_t size = 0;
    int st = slurp_in_folder(r, name, cap, &text, &size, path, err);
    *out = NULL;
    if (!st && text && !(st = bi_json_parse(out, &r->cp->arena, *path, text, size, err)) &&
        (*out)->type != BI_JSON_OBJECT)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: expected a JSON object", *path);
    bi_free(r->cp->env, text);
    return st;
}

/* One token per line, id = line number; two lines with one token would make ids
 * ambiguous. */
static int check_vocab(struct bi_reader *r, const char *path, const char *text, size_t size,
                       struct bioinfer_error *err)
{
    struct bi_map seen = {.env = r->cp->env};
    uint64_t line = 0, other;
    int st = 1;
    if (memchr(text, '\0', size))
        return bi_fail(err, BIOINFER_FORMAT, "%s: NUL at byte %zu", path, strlen(text));
    for (size_t i = 0; i < size && st > 0; line++) {
        const char *end = memchr(text + i, '\n', size - i);
        size_t n = end ? (size_t)(end - (text + i)) : size - i, next = i + n + 1;
        if (n && text[i + n - 1] == '\r')
            n--;
        st = bi_map_add(&seen, text + i, n, line, &other);
        if (!st)
            st = bi_fail(err, BIOINFER_FORMAT, "%s: line %llu: token '%s' is also on line %llu",
                         path, (unsigned long long)line + 1, bi_quote(text + i, n).text,
                         (unsigned long long)other + 1);
        else if (st < 0)
            st = bi_fail(err, BIOINFER_NOMEM, "%s: tokens", path);
        i = next;
    }
    bi_map_free(&seen);
    return st < 0 ? st : 0;
}

/* Reads what lies beside spiece.model: added_tokens.json, as in early releases, else
 * tokenizer_config.json with an added_tokens_decoder. */
static int read_added(struct bi_reader *r, struct bioinfer_error *err)
{
    struct bi_json *json = NULL;
    const char *path = NULL;
    int st = read_json(r, "added_tokens.json", MAX_VOCAB_SIZE, &json, &path, err);
    if (!st && !json) {
        st = read_json(r, "tokenizer_config.json", MAX_VOCAB_SIZE, &json, &path, err);
        if (!st && json && !bi_json_get(json, "added_tokens_decoder"))
            return 0;
    }
    return st || !json ? st : bi_vocab_added(&r->cp->pieces, &r->cp->arena, path, json, err);
}

/* spiece.model and what was added to it, else tokenizer.json */
static int read_pieces(struct bi_reader *r, struct bioinfer_error *err)
{
    struct bi_json *json = NULL;
    const char *path = NULL;
    char *bytes = NULL;
    size_t size = 0;
    int st = slurp_in_folder(r, "spiece.model", MAX_VOCAB_SIZE, &bytes, &size, &path, err);
    if (!st && bytes) {
        st = bi_vocab_spiece(&r->cp->pieces, &r->cp->arena, path, bytes, size, err);
        st = st ? st : read_added(r, err);
    } else if (!st && !(st = read_json(r, "tokenizer.json", MAX_VOCAB_SIZE, &json, &path, err)) &&
               json) {
        st = bi_vocab_tokenizer(&r->cp->pieces, &r->cp->arena, path, json, err);
    }
    bi_free(r->cp->env, bytes);
    return st;
}

int bi_hf_read_config(struct bi_reader *r, struct bioinfer_error *err)
{
    struct bi_json *config = NULL;
    const char *path = NULL;
    char *text = NULL;
    size_t size = 0;
    int st = read_json(r, "config.json", MAX_CONFIG_SIZE, &config, &path, err);
    if (st)
        return st;
    r->cp->config = config;
    if ((st = read_pieces(r, err)))
        return st;
    if ((st = slurp_in_folder(r, "vocab.txt", MAX_VOCAB_SIZE, &text, &size, &path, err)) || !text)
        return st;
    if (!(st = check_vocab(r, path, text, size, err)) &&
        !(r->cp->vocab = bi_arena_strndup(&r->cp->arena, text, size)))
        st = bi_fail(err, BIOINFER_NOMEM, "%s: %zu bytes", path, size);
    bi_free(r->cp->env, text);
    return st;
}

/* MatGL: what state.pt means is in model.json beside it, with the same words before both names. */
int bi_hf_read_matgl(struct bi_reader *r, const char *file_name, struct bioinfer_error *err)
{
    static const char suffix[] = "state.pt";
    struct bi_json *config = NULL;
    const char *path = NULL;
    const size_t n = strlen(file_name), k = sizeof suffix - 1;
    char *name;
    int st;
    if (r->cp->config || n < k || strcmp(file_name + n - k, suffix))
        return 0;
    if (!(name = bi_arena_printf(&r->cp->arena, "%.*smodel.json", (int)(n - k), file_name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", file_name);
    st = read_json(r, name, MAX_CONFIG_SIZE, &config, &path, err);
    r->cp->config = st ? NULL : config;
    return st;
}

/* ---- sharded weights ---- */

struct index {
    const char *path;
    struct bi_map weight_map; /* tensor name -> number in shards */
    struct bi_map shard_numbers;
    const char **shards;
    size_t n_shards, cap;
};

/* A plain name in the folder, ending as weights of this kind do. */
static int check_shard_name(const struct index *ix, const struct bi_json *v, const char *suffix,
                            struct bioinfer_error *err)
{
    size_t n = strlen(suffix);
    const char *why = NULL;
    if (v->type != BI_JSON_STRING)
        return bi_fail(err, BIOINFER_FORMAT, "%s: weight_map: '%s': expected a file name", ix->path,
                       bi_quote(v->key, v->key_len).text);
    if (memchr(v->text, '\0', v->text_len))
        why = "NUL in the name";
    else if (strpbrk(v->text, "/\\:"))
        why = "expected a name without a folder";
    else if (v->text[0] == '.')
        why = "expected a name that does not begin with a dot";
    else if (v->text_len > 255)
        why = "name longer than 255 bytes";
    else if (v->text_len <= n || strcmp(v->text + v->text_len - n, suffix))
        why = suffix[1] == 's' ? "expected a name ending in .safetensors"
                               : "expected a name ending in .bin";
    if (why)
        return bi_fail(err, BIOINFER_FORMAT, "%s: shard '%s': %s", ix->path,
                       bi_quote(v->text, v->text_len).text, why);
    return 0;
}

static int fill_index(struct bi_reader *r, struct index *ix, const struct bi_json *map,
                      const char *suffix, struct bioinfer_error *err)
{
    for (const struct bi_json *v = map->first; v; v = v->next) {
        uint64_t shard = ix->n_shards;
        int st = check_shard_name(ix, v, suffix, err);
        if (st)
            return st;
        if ((st = bi_map_add(&ix->shard_numbers, v->text, v->text_len, shard, &shard)) > 0) {
            if (!bi_grow(r->cp->env, &ix->shards, &ix->cap, ix->n_shards + 1, sizeof *ix->shards))
                st = BIOINFER_NOMEM;
            else
                ix->shards[ix->n_shards++] = v->text;
        }
        if (st >= 0)
            st = bi_map_add(&ix->weight_map, v->key, v->key_len, shard, NULL);
        if (st < 0)
            return bi_fail(err, BIOINFER_NOMEM, "%s: %zu tensors", ix->path, map->n);
    }
    return 0;
}

/* Names the first tensor that the index lists and no shard has. */
static int fail_missing(const struct bi_reader *r, const struct index *ix,
                        const struct bi_json *map, struct bioinfer_error *err)
{
    for (const struct bi_json *v = map->first; v; v = v->next)
        if (!bi_map_find(&r->cp->by_name, v->key, v->key_len, NULL))
            return bi_fail(err, BIOINFER_FORMAT, "%s: tensor '%s' is not in its shard '%s'",
                           ix->path, bi_quote(v->key, v->key_len).text,
                           bi_quote(v->text, v->text_len).text);
    return 0;
}

static int read_sharded(struct bi_reader *r, const char *index_name, const char *suffix,
                        const char *want, bool *found, struct bioinfer_error *err)
{
    const struct bi_env *env = r->cp->env;
    struct index ix = {.weight_map.env = env, .shard_numbers.env = env};
    struct bi_json *json = NULL;
    const struct bi_json *map;
    int st = read_json(r, index_name, BI_MAX_HEADER, &json, &ix.path, err);
    *found = json != NULL;
    if (st || !json)
        goto out;
    map = bi_json_get(json, "weight_map");
    if (!map || map->type != BI_JSON_OBJECT || !map->n) {
        st = bi_fail(err, BIOINFER_FORMAT, "%s: expected an object 'weight_map' with tensors",
                     ix.path);
        goto out;
    }
    if ((st = fill_index(r, &ix, map, suffix, err)))
        goto out;
    r->weight_map = &ix.weight_map;
    r->shards = ix.shards;
    for (size_t i = 0; i < ix.n_shards && !st; i++) {
        bool there = false;
        r->shard = i;
        st = read_weights(r, ix.shards[i], want, &there, err);
        if (!st && !there)
            st = bi_fail(err, BIOINFER_NOT_FOUND, "%s: shard '%s' is not in the folder", ix.path,
                         bi_quote(ix.shards[i], strlen(ix.shards[i])).text);
    }
    if (!st && r->n_found < map->n)
        st = fail_missing(r, &ix, map, err);
out:
    r->weight_map = NULL;
    r->shards = NULL;
    bi_free(env, ix.shards);
    bi_map_free(&ix.weight_map);
    bi_map_free(&ix.shard_numbers);
    return st;
}

/* ---- folders ---- */

int bi_hf_read_folder(struct bi_reader *r, struct bioinfer_error *err)
{
    static const char *const others[] = {"tf_model.h5", "flax_model.msgpack", "rust_model.ot",
                                         "model.onnx"};
    bool found = false;
    int st = read_weights(r, "model.safetensors", "safetensors", &found, err);
    if (!st && !found)
        st = read_sharded(r, "model.safetensors.index.json", ".safetensors", "safetensors", &found,
                          err);
    if (!st && !found)
        st = read_weights(r, "pytorch_model.bin", "pytorch", &found, err);
    if (!st && !found)
        st = read_sharded(r, "pytorch_model.bin.index.json", ".bin", "pytorch", &found, err);
    if (!st && !found) {
        st = read_weights(r, "state.pt", "pytorch", &found, err);
        if (!st && found)
            return bi_hf_read_matgl(r, "state.pt", err);
    }
    if (!st && !found) {
        const char *other = "";
        for (size_t i = 0; i < BI_COUNT(others) && !st && !found; i++) {
            struct bi_file f = BI_FILE_NONE;
            if (open_in_folder(r, others[i], &f, &found, NULL))
                found = false;
            if (found)
                other = others[i];
            bi_file_close(&f);
        }
        return bi_fail(err, BIOINFER_NOT_FOUND,
                       "%s: no weights in this folder: expected model.safetensors, "
                       "pytorch_model.bin, an index of either, or state.pt%s%s",
                       label(r), *other ? "; not read: " : "", other);
    }
    return st ? st : bi_hf_read_config(r, err);
}

int bi_hf_read_contact_head(struct bi_reader *r, const char *file_name, struct bioinfer_error *err)
{
    static const char suffix[] = ".pt", head[] = "-contact-regression.pt";
    size_t n = strlen(file_name), k = sizeof suffix - 1;
    bool found;
    char *name;
    if (n <= k || strcmp(file_name + n - k, suffix))
        return 0;
    if (!(name = bi_arena_printf(&r->cp->arena, "%.*s%s", (int)(n - k), file_name, head)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: path", file_name);
    return read_weights(r, name, "pytorch", &found, err);
}
