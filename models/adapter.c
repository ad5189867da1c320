/* adapter.c - adapters of PEFT: a folder with adapter_config.json and adapter_model.safetensors.
 *
 * An adapter of kind LORA stores two small matrices for a linear layer, which computes with
 *
 *   W + s B A        A [r, in], B [out, r], s = lora_alpha / r, with use_rslora / sqrt(r)
 *
 * The update is added when the weight is read, in float32, as PEFT's merge_and_unload() does.
 * Tensors that were trained whole (modules_to_save, biases) take the place of the model's. A name
 * begins with "base_model.model."; the rest of it begins with the name of the trunk ("esm.",
 * "bert.", "transformer.") where the tuned model had a head and is without it where it had none, so
 * a name with it equals one without. Source: huggingface/peft tuners/lora/layer.py,
 * utils/save_and_load.py.
 *
 * Sections: names, configuration, tensors, life, questions. */
#include "adapter.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../loaders/json.h"

enum { MAX_CONFIG_SIZE = 1 << 20, MAX_RANK = 4096, MAX_WIDTH = 1 << 20 };

/* PEFT's names have this before the last part of a tensor that was trained whole. */
static const char SAVED[] = ".modules_to_save.";

struct entry {
    const char *name;               /* the model's tensor, without the trunk's ... */
    const char *trunk;              /* ... which is this; "" = it has none in the adapter */
    const struct bi_tensor *tensor; /* in place of it; else a and b: */
    const struct bi_tensor *a, *b;
    struct bi_lora lora;
    bool used, left_out; /* left_out: an update that PEFT does not apply */
};

struct bi_adapter {
    const struct bi_env *env;
    struct bi_arena arena;
    const char *path;
    struct bi_checkpoint *cp;
    const struct bi_json *config;
    struct entry *entries;
    size_t n_entries;
    struct bi_map by_name;
};

/* ---- names ---- */

/* The name of the trunk in front of a name; "" = there is none. */
static const char *trunk_of(const char *name)
{
    static const char *const trunks[] = {"esm.", "bert.", "transformer."};
    for (size_t i = 0; i < BI_COUNT(trunks); i++)
        if (!strncmp(name, trunks[i], strlen(trunks[i])))
            return trunks[i];
    return "";
}

static const char *bare(const char *name)
{
    return name + strlen(trunk_of(name));
}

/* Cuts `tail` off the end of text: true when it was there. */
static bool cut(char *text, const char *tail)
{
    const bool is_there = bi_ends_with(text, tail);
    if (is_there)
        text[strlen(text) - strlen(tail)] = '\0';
    return is_there;
}

/* Takes a part such as ".base_layer" out of the middle of a name. */
static void take_out(char *name, const char *part)
{
    char *at = strstr(name, part);
    if (at && (at[strlen(part)] == '.' || !at[strlen(part)]))
        memmove(at, at + strlen(part), strlen(at + strlen(part)) + 1);
}

/* ---- configuration ---- */

static const char *text_of(const struct bi_adapter *a, const char *key)
{
    return bi_json_string(bi_json_get(a->config, key));
}

/* How a key of the configuration is taken. */
enum rule {
    TOLD,    /* tensors tell it, or it is for training alone */
    READ,    /* obeyed, by those who ask for it */
    NUMBER,  /* the same, a number */
    RANK,    /* the same, a number above 0 */
    PATTERN, /* the same, an object of numbers by names of modules */
    LIST,    /* the same, names of modules, or nothing */
    FLAG,    /* the same, true or false */
    REFUSED, /* the update would be another one, unless it is unset */
};

/* The keys that LoraConfig has (PEFT 0.21). Others that are set are named. */
static const struct key {
    const char *name;
    enum rule rule;
} keys[] = {
    {"alora_invocation_tokens", REFUSED},
    {"alpha_pattern", PATTERN},
    {"arrow_config", REFUSED},
    {"auto_mapping", TOLD},
    {"base_model_name_or_path", READ},
    {"bias", TOLD},
    {"corda_config", TOLD}, /* init_lora_weights tells of such a start */
    {"ensure_weight_tying", FLAG},
    {"eva_config", TOLD},
    {"exclude_modules", TOLD},
    {"fan_in_fan_out", REFUSED},
    {"inference_mode", TOLD},
    {"init_lora_weights", READ},
    {"kasa_config", REFUSED},
    {"layer_replication", REFUSED},
    {"layers_pattern", TOLD},
    {"layers_to_transform", TOLD},
    {"loftq_config", TOLD},
    {"lora_alpha", NUMBER},
    {"lora_bias", REFUSED},
    {"lora_dropout", TOLD},
    {"lora_ga_config", TOLD},
    {"megatron_config", TOLD},
    {"megatron_core", TOLD},
    {"modules_to_save", LIST},
    {"monteclora_config", REFUSED},
    {"peft_type", READ},
    {"peft_version", TOLD},
    {"qalora_group_size", TOLD},
    {"r", RANK},
    {"rank_pattern", PATTERN},
    {"revision", TOLD},
    {"runtime_config", TOLD},
    {"target_modules", READ},
    {"target_parameters", REFUSED},
    {"task_type", READ},
    {"trainable_token_indices", REFUSED},
    {"use_bdlora", REFUSED},
    {"use_dora", REFUSED},
    {"use_qalora", REFUSED},
    {"use_rslora", FLAG},
    {"velora_config", TOLD},
};

/* Is a value there that is none of null, false, an empty list, object or text? */
static bool is_set(const struct bi_json *value)
{
    const char *text = bi_json_string(value);
    bool on;
    if (!value || value->type == BI_JSON_NULL || (bi_json_bool(value, &on) && !on))
        return false;
    if (value->type == BI_JSON_ARRAY || value->type == BI_JSON_OBJECT)
        return value->n != 0;
    return !text || *text;
}

/* Are all members of an object, or items of a list, numbers or (`texts`) texts? */
static bool all_are(const struct bi_json *values, bool texts)
{
    double number;
    for (const struct bi_json *j = values->first; j; j = j->next)
        if (texts ? !bi_json_string(j) : !bi_json_double(j, &number))
            return false;
    return true;
}

/* Says what a value should be; NULL = it is. PEFT stops at a value that is unset where it computes
 * with a number. */
static const char *wanted(enum rule rule, const struct bi_json *value)
{
    double number;
    uint64_t rank;
    bool on;
    switch (rule) {
    case NUMBER:
        return bi_json_double(value, &number) ? NULL : "a number";
    case RANK:
        return bi_json_u64(value, &rank) && rank ? NULL : "a number above 0";
    case PATTERN:
        return value->type == BI_JSON_OBJECT && all_are(value, false)
                   ? NULL
                   : "an object with a number for each module";
    case LIST:
        return !is_set(value) || (value->type == BI_JSON_ARRAY && all_are(value, true))
                   ? NULL
                   : "a list of modules";
    case FLAG:
        return !is_set(value) || bi_json_bool(value, &on) ? NULL : "true or false";
    default:
        return NULL;
    }
}

static int check_key(const struct bi_adapter *a, const struct bi_json *value,
                     struct bioinfer_error *err)
{
    const struct key *key = NULL;
    const char *expected;
    for (size_t i = 0; i < BI_COUNT(keys) && !key; i++)
        if (!strcmp(keys[i].name, value->key))
            key = &keys[i];
    if (!key && !is_set(value))
        return 0;
    if (!key) {
        bi_log(a->env, BIOINFER_LOG_NAMED,
               "%s/adapter_config.json: %.60s is not known, and passed over", a->path, value->key);
        return 0;
    }
    if (key->rule == REFUSED && is_set(value))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s/adapter_config.json: %s is set, which is not computed", a->path,
                       key->name);
    if ((expected = wanted(key->rule, value)))
        return bi_fail(err, BIOINFER_FORMAT, "%s/adapter_config.json: %s: expected %s", a->path,
                       key->name, expected);
    return 0;
}

static int check_config(const struct bi_adapter *a, struct bioinfer_error *err)
{
    static const char *const plain[] = {"gaussian", "orthogonal", "eva"};
    const char *init = text_of(a, "init_lora_weights");
    const char *kind = text_of(a, "peft_type");
    int st = 0;
    if (!kind || strcmp(kind, "LORA"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s/adapter_config.json: an adapter of kind %.40s, expected LORA", a->path,
                       kind ? kind : "(none said)");
    for (const struct bi_json *j = a->config->first; j && !st; j = j->next)
        st = check_key(a, j, err);
    if (st)
        return st;
    if (is_set(bi_json_get(a->config, "ensure_weight_tying")) &&
        is_set(bi_json_get(a->config, "modules_to_save")))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s/adapter_config.json: ensure_weight_tying is set with modules_to_save, "
                       "which is not computed",
                       a->path);
    /* true, false, or a word; other words than these change the model's own weights as well */
    for (size_t i = 0; init && i < BI_COUNT(plain); i++)
        if (!strcmp(init, plain[i]))
            init = NULL;
    return init ? bi_fail(
                      err, BIOINFER_UNSUPPORTED,
                      "%s/adapter_config.json: init_lora_weights '%.40s' changes the model's own "
                      "weights, which is not computed",
                      a->path, init)
                : 0;
}

/* Is that, the last part or parts of a name, where a part begins? */
static bool ends_in(const char *name, const char *parts)
{
    const size_t n = strlen(name), m = strlen(parts);
    return bi_ends_with(name, parts) && (n == m || name[n - m - 1] == '.');
}

/* The number of `module`: `pattern` has those that differ from *number, and as in PEFT the first
 * name that fits counts. */
static int by_pattern(const struct bi_adapter *a, const char *pattern, const char *module,
                      double *number, struct bioinfer_error *err)
{
    const struct bi_json *patterns = bi_json_get(a->config, pattern);
    bool found = false;
    for (const struct bi_json *j = patterns ? patterns->first : NULL; j; j = j->next) {
        if (!*j->key || strpbrk(j->key, "\\*+?[](){}|^$"))
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s/adapter_config.json: %s '%.80s' is a pattern, expected the name of "
                           "a module",
                           a->path, pattern, j->key);
        if (!found && ends_in(module, j->key))
            found = bi_json_double(j, number);
    }
    return 0;
}

/* The scale of the update of `module`, whose matrices have that rank. */
static int scale_of(const struct bi_adapter *a, const char *module, int64_t rank, float *scale,
                    struct bioinfer_error *err)
{
    double alpha = 8, r = 8; /* PEFT's own */
    bool root = false;
    int st;
    bi_json_double(bi_json_get(a->config, "lora_alpha"), &alpha);
    bi_json_double(bi_json_get(a->config, "r"), &r);
    if ((st = by_pattern(a, "alpha_pattern", module, &alpha, err)) ||
        (st = by_pattern(a, "rank_pattern", module, &r, err)))
        return st;
    if (!(fabs(alpha) <= 1e9))
        return bi_fail(err, BIOINFER_FORMAT, "%s/adapter_config.json: lora_alpha is %g", a->path,
                       alpha);
    if (r != (double)rank)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s/adapter_config.json: r of %s is %g, its matrices have rank %lld",
                       a->path, module, r, (long long)rank);
    bi_json_bool(bi_json_get(a->config, "use_rslora"), &root);
    *scale = (float)(alpha / (root ? sqrt((double)rank) : (double)rank));
    return 0;
}

static int read_config(struct bi_adapter *a, const struct bi_watch *watch,
                       struct bioinfer_error *err)
{
    const char *path = bi_arena_printf(&a->arena, "%s/adapter_config.json", a->path);
    struct bi_json *json = NULL;
    char *text = NULL;
    size_t size;
    int st = path ? bi_file_slurp(a->env, path, MAX_CONFIG_SIZE, &text, &size, err)
                  : bi_fail(err, BIOINFER_NOMEM, "%s", a->path);
    if (!st)
        st = bi_json_parse(&json, &a->arena, path, text, size, err);
    a->config = json;
    bi_free(a->env, text);
    if (!st)
        bi_json_watch(json, path, watch);
    return st ? st : check_config(a, err);
}

/* ---- tensors ---- */

/* The entry of that name, made when it is not there; NULL = no memory. */
static struct entry *entry_of(struct bi_adapter *a, const char *trunk, const char *name)
{
    uint64_t at = a->n_entries;
    if (bi_map_add(&a->by_name, name, strlen(name), at, &at) < 0)
        return NULL;
    if (at == a->n_entries)
        a->entries[a->n_entries++] = (struct entry){.name = name, .trunk = trunk};
    return &a->entries[at];
}

/* A classifier whose biases are trained, too, is stored with some of them under both of its names.
 * FORMAT: these are of one tensor and not the same values. */
static int check_copy(const struct bi_adapter *a, const struct bi_tensor *x,
                      const struct bi_tensor *y, struct bioinfer_error *err)
{
    const bool copies = !strstr(x->name, SAVED) != !strstr(y->name, SAVED);
    float values[2][256];
    bool same = copies && x->n_elements == y->n_elements;
    int st = 0;
    for (uint64_t at = 0, n; same && at < x->n_elements; at += n) {
        n = x->n_elements - at > 256 ? 256 : x->n_elements - at;
        if ((st = bi_tensor_read_f32(a->cp, x, at, n, values[0], err)) ||
            (st = bi_tensor_read_f32(a->cp, y, at, n, values[1], err)))
            return st;
        same = !memcmp(values[0], values[1], (size_t)n * sizeof **values);
    }
    return same ? 0
                : bi_fail(err, BIOINFER_FORMAT, "%s: %s and %s are of the same tensor", a->cp->path,
                          x->name, y->name);
}

static int add_tensor(struct bi_adapter *a, const struct bi_tensor *t, struct bioinfer_error *err)
{
    static const char root[] = "base_model.model.";
    const struct bi_tensor **to;
    struct entry *e;
    const char *rest;
    char *name;
    if (strncmp(t->name, root, strlen(root)))
        return bi_fail(err, BIOINFER_FORMAT, "%s: %s: expected a name that begins with %s",
                       a->cp->path, t->name, root);
    if (strstr(t->name, "lora_embedding_") || strstr(t->name, "lora_magnitude_vector"))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s: an update of this kind is not computed",
                       a->cp->path, t->name);
    if (strstr(t->name, ".original_module.")) /* the base's own, beside modules_to_save */
        return 0;
    rest = bare(t->name + strlen(root));
    if (!(name = bi_arena_strndup(&a->arena, rest, strlen(rest))))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", a->path);
    take_out(name, ".base_layer");
    take_out(name, ".modules_to_save.default");
    take_out(name, ".modules_to_save");
    const bool is_a = cut(name, ".lora_A.weight") || cut(name, ".lora_A.default.weight");
    const bool is_b = !is_a && (cut(name, ".lora_B.weight") || cut(name, ".lora_B.default.weight"));
    if ((is_a || is_b) && !(name = bi_arena_printf(&a->arena, "%s.weight", name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", a->path);
    if (!(e = entry_of(a, trunk_of(t->name + strlen(root)), name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", a->path);
    to = is_a ? &e->a : is_b ? &e->b : &e->tensor;
    if (*to)
        return check_copy(a, *to, t, err);
    *to = t;
    return 0;
}

static int read_all(struct bi_adapter *a, const struct bi_tensor *t, const float **values,
                    struct bioinfer_error *err)
{
    float *x = NULL;
    if (!bi_dtype_is_loadable(t->dtype) || t->rank != 2 || !t->n_elements ||
        t->shape[0] > MAX_WIDTH || t->shape[1] > MAX_WIDTH)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: expected a matrix", a->cp->path, t->name);
    if (!(x = bi_arena_calloc(&a->arena, (size_t)t->n_elements, sizeof *x)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", a->cp->path, t->name);
    *values = x;
    return bi_tensor_read_f32(a->cp, t, 0, t->n_elements, x, err);
}

/* Is this a module that PEFT makes an update for? A list of names tells; a pattern ("all-linear",
 * too) is left to the tensors. Names may have kept what unwrap() takes out of tensors'
 * names. */
static bool is_target(struct bi_adapter *a, const char *module)
{
    const struct bi_json *targets = bi_json_get(a->config, "target_modules");
    if (!targets || targets->type != BI_JSON_ARRAY)
        return true;
    for (const struct bi_json *j = targets->first; j; j = j->next) {
        char *name = bi_json_string(j) ? bi_arena_strndup(&a->arena, j->text, strlen(j->text))
                                       : NULL;
        if (!name)
            continue;
        for (char *at; (at = strstr(name, "_orig_mod."));)
            memmove(at, at + strlen("_orig_mod."), strlen(at + strlen("_orig_mod.")) + 1);
        if (*name && (ends_in(module, name) || ends_in(name, module)))
            return true;
    }
    return false;
}

/* Reads the matrices of an update. */
static int read_lora(struct bi_adapter *a, struct entry *e, struct bioinfer_error *err)
{
    const struct bi_tensor *one = e->a ? e->a : e->b;
    char *module;
    int st;
    if (!e->a || !e->b)
        return bi_fail(err, BIOINFER_FORMAT, "%s: %s is there without its other half", a->cp->path,
                       one->name);
    if ((st = read_all(a, e->a, &e->lora.a, err)) || (st = read_all(a, e->b, &e->lora.b, err)))
        return st;
    if (e->a->shape[0] != e->b->shape[1] || e->a->shape[0] > MAX_RANK)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: %s has rank %llu, %s %llu: expected equal ones of at most %d",
                       a->cp->path, e->a->name, (unsigned long long)e->a->shape[0], e->b->name,
                       (unsigned long long)e->b->shape[1], MAX_RANK);
    e->lora.rank = (int64_t)e->a->shape[0];
    e->lora.columns = (int64_t)e->a->shape[1];
    e->lora.rows = (int64_t)e->b->shape[0];
    if (!(module = bi_arena_printf(&a->arena, "%s%s", e->trunk, e->name)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", a->path);
    cut(module, ".weight");
    if ((e->left_out = e->used = !is_target(a, module)))
        return 0;
    return scale_of(a, module, e->lora.rank, &e->lora.scale, err);
}

/* Names the updates that PEFT passes over when it loads the adapter. All of them: MISMATCH, as
 * the adapter would change no result. */
static int name_left_out(const struct bi_adapter *a, struct bioinfer_error *err)
{
    const struct entry *first = NULL;
    size_t n = 0, n_updates = 0;
    for (size_t i = 0; i < a->n_entries; i++) {
        n_updates += a->entries[i].a != NULL;
        if (a->entries[i].left_out && !n++)
            first = &a->entries[i];
    }
    if (n && n == n_updates)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: target_modules names no module that the file has an update for (%s, "
                       "%zu in all)",
                       a->cp->path, first->a->name, n);
    if (n)
        bi_log(a->env, BIOINFER_LOG_NAMED,
               "%s: %s is of a module that target_modules does not name, and passed over as by "
               "PEFT (%zu updates)",
               a->cp->path, first->a->name, n);
    return 0;
}

/* Takes out of names what training put there. */
static int unwrap(struct bi_adapter *a, struct bioinfer_error *err)
{
    static const char *const first_words[] = {"module.", "model.", "module."};
    int st = bi_checkpoint_unwrap_parts(a->cp, err);
    size_t n;
    for (size_t i = 0; !st && i < BI_COUNT(first_words); i++)
        st = bi_checkpoint_unwrap(a->cp, first_words[i], false, &n, err);
    return st;
}

static int read_tensors(struct bi_adapter *a, struct bioinfer_error *err)
{
    int st = unwrap(a, err);
    if (st)
        return st;
    if (!(a->entries = bi_arena_calloc(&a->arena, a->cp->n_tensors + 1, sizeof *a->entries)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: tensors", a->path);
    for (size_t i = 0; !st && i < a->cp->n_tensors; i++)
        st = add_tensor(a, &a->cp->tensors[i], err);
    for (size_t i = 0; !st && i < a->n_entries; i++) {
        struct entry *e = &a->entries[i];
        if (e->tensor && (e->a || e->b))
            st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s is there whole and as an update",
                         a->cp->path, e->tensor->name);
        else if (e->a || e->b)
            st = read_lora(a, e, err);
    }
    if (!st && !a->n_entries)
        st = bi_fail(err, BIOINFER_FORMAT, "%s: an adapter without tensors", a->cp->path);
    return st ? st : name_left_out(a, err);
}

/* ---- life ---- */

static bool has(const char *path, const char *name)
{
    char full[4096];
    return snprintf(full, sizeof full, "%s/%s", path, name) < (int)sizeof full &&
           bi_path_exists(full);
}

bool bi_adapter_is(const char *path)
{
    return bi_path_is_folder(path) && has(path, "adapter_config.json") &&
           !has(path, "model.safetensors") && !has(path, "model.safetensors.index.json") &&
           !has(path, "pytorch_model.bin") && !has(path, "pytorch_model.bin.index.json");
}

int bi_adapter_open(struct bi_adapter **out, const struct bi_env *env, const char *path,
                    const struct bi_checkpoint_options *options, struct bioinfer_error *err)
{
    struct bi_adapter *a = bi_zalloc(env, sizeof *a);
    const char *file;
    int st;
    *out = NULL;
    if (!a)
        return bi_fail(err, BIOINFER_NOMEM, "%s: adapter", path);
    a->env = a->arena.env = a->by_name.env = env;
    if (!(a->path = bi_arena_strndup(&a->arena, path, strlen(path))) ||
        !(file = bi_arena_printf(&a->arena, "%s/adapter_model.%s", path,
                                 has(path, "adapter_model.safetensors") ? "safetensors" : "bin"))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s: adapter", path);
        goto out;
    }
    if ((st = read_config(a, options->watch, err)) ||
        (st = bi_checkpoint_open(&a->cp, env, file, options, err)) || (st = read_tensors(a, err)))
        goto out;
    *out = a;
    a = NULL;
out:
    bi_adapter_close(&a);
    return st;
}

void bi_adapter_close(struct bi_adapter **adapter)
{
    struct bi_adapter *a = *adapter;
    if (!a)
        return;
    bi_checkpoint_close(&a->cp);
    bi_map_free(&a->by_name);
    bi_arena_reset(&a->arena);
    bi_free(a->env, a);
    *adapter = NULL;
}

/* ---- questions ---- */

const char *bi_adapter_base(const struct bi_adapter *a)
{
    return text_of(a, "base_model_name_or_path");
}

const char *bi_adapter_task(const struct bi_adapter *a)
{
    return text_of(a, "task_type");
}

const struct bi_checkpoint *bi_adapter_checkpoint(const struct bi_adapter *a)
{
    return a->cp;
}

static struct entry *find(struct bi_adapter *a, const char *name)
{
    const char *trunk = trunk_of(name), *rest = bare(name);
    struct entry *e;
    uint64_t at;
    if (!bi_map_find(&a->by_name, rest, strlen(rest), &at))
        return NULL;
    e = &a->entries[at];
    return !*trunk || !*e->trunk || !strcmp(trunk, e->trunk) ? e : NULL;
}

const struct bi_tensor *bi_adapter_tensor(struct bi_adapter *a, const char *name)
{
    struct entry *e = find(a, name);
    if (!e || !e->tensor)
        return NULL;
    e->used = true;
    return e->tensor;
}

const struct bi_lora *bi_adapter_lora(struct bi_adapter *a, const char *name)
{
    struct entry *e = find(a, name);
    if (!e || !e->a || e->left_out)
        return NULL;
    e->used = true;
    return &e->lora;
}

/* Does modules_to_save name the module of a tensor, or one that it is in? As in PEFT, whatever ends
 * in a name that is given is meant. */
static bool is_saved(const struct bi_adapter *a, const char *name)
{
    const struct bi_json *saved = bi_json_get(a->config, "modules_to_save");
    for (const struct bi_json *j = saved ? saved->first : NULL; j; j = j->next)
        for (const char *at = strchr(name, '.'); at; at = strchr(at + 1, '.')) {
            const size_t n = (size_t)(at - name), m = strlen(j->text);
            if (n >= m && !strncmp(name + n - m, j->text, m))
                return true;
        }
    return false;
}

bool bi_adapter_unties(struct bi_adapter *a, const char *name)
{
    const struct entry *e = find(a, name);
    return e && e->tensor && (strstr(e->tensor->name, SAVED) || is_saved(a, name));
}

/* Is it of a head whose output the model does not give? */
static bool is_of_no_output(const char *name, unsigned can_include)
{
    static const struct {
        const char *stem;
        unsigned output; /* 0: none is of it */
    } heads[] = {{"pooler.", 0},
                 {"shared.", 0}, /* T5's: PEFT leaves the tables of the stacks alone */
                 {"qa_outputs.", 0},
                 {"contact_head.", BIOINFER_CONTACTS},
                 {"lm_head.", BIOINFER_LOGITS},
                 {"cls.", BIOINFER_LOGITS},
                 {"classifier.", BIOINFER_CLASS_LOGITS},
                 {"classification_head.", BIOINFER_CLASS_LOGITS},
                 {"score.", BIOINFER_CLASS_LOGITS}};
    for (size_t i = 0; i < BI_COUNT(heads); i++)
        if (!strncmp(name, heads[i].stem, strlen(heads[i].stem)))
            return !(can_include & heads[i].output);
    return false;
}

int bi_adapter_check_used(const struct bi_adapter *a, unsigned can_include,
                          struct bioinfer_error *err)
{
    const char *first = NULL;
    size_t n = 0;
    for (size_t i = 0; i < a->n_entries; i++) {
        const struct entry *e = &a->entries[i];
        const char *name = e->tensor ? e->tensor->name : e->a->name;
        if (e->used)
            continue;
        if (!is_of_no_output(e->name, can_include))
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: %s changes a tensor that the model does not have or that is not "
                           "computed",
                           a->cp->path, name);
        first = first ? first : name;
        n++;
    }
    if (n)
        bi_log(a->env, BIOINFER_LOG_NAMED,
               "%s: %s is of a part that is not computed, and passed over (%zu tensors)",
               a->cp->path, first, n);
    return 0;
}

void bi_lora_add(const struct bi_lora *lora, int64_t first, int64_t n, float *dst, float *scratch)
{
    for (int64_t r = first; r < first + n; r++, dst += lora->columns) {
        memset(scratch, 0, (size_t)lora->columns * sizeof *scratch);
        for (int64_t k = 0; k < lora->rank; k++) {
            const float b = lora->b[r * lora->rank + k], *a = lora->a + k * lora->columns;
            for (int64_t c = 0; c < lora->columns; c++)
                scratch[c] += b * a[c];
        }
        for (int64_t c = 0; c < lora->columns; c++)
            dst[c] += lora->scale * scratch[c];
    }
}
