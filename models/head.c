/* head.c - annotation heads: a safetensors file whose metadata says what its tensors are.
 *
 * Metadata entry "bioinfer.head", a JSON object (docs/heads.md):
 *   {"input": "per-residue" | "mean", "width": 1024,
 *    "layers": [{"weight": NAME, "bias": NAME?, "act": "relu" | "gelu" | "none"}, ...],
 *    "activation": "softmax" | "sigmoid" | "none", "classes": ["H", "E", "C"]}
 * A weight is [out, in], or a convolution [out, in, taps] (also with a trailing 1), taps odd,
 * over the residues of one sequence with zeros outside of it. */
#include "head.h"

#include <string.h>

struct reader {
    struct bi_model *model;
    struct bi_checkpoint *cp;
    struct bi_head *head;
    const char *path;
    struct bioinfer_error *err;
};

static const char *word(const struct reader *r, const struct bi_json *json, const char *key,
                        const char *otherwise)
{
    const struct bi_json *j = bi_json_get(json, key);
    (void)r;
    return j && j->type != BI_JSON_NULL ? bi_json_string(j) : otherwise;
}

/* The number of a word in a list that ends with NULL; -1. */
static int find_word(const char *text, const char *const *words)
{
    for (int i = 0; text && words[i]; i++)
        if (!strcmp(text, words[i]))
            return i;
    return -1;
}

static int read_tensor(const struct reader *r, const char *name, const struct bi_tensor **t,
                       float **values)
{
    if (!name || !(*t = bi_checkpoint_find(r->cp, name)))
        return bi_fail(r->err, BIOINFER_MISMATCH, "%s: tensor %s is missing", r->path,
                       name ? name : "(no name)");
    if (!bi_dtype_is_loadable((*t)->dtype) || (*t)->n_elements > 1 << 26)
        return bi_fail(r->err, BIOINFER_MISMATCH, "%s: %s: unexpected dtype or size", r->path,
                       name);
    if (!(*values = bi_arena_calloc(&r->model->arena, (size_t)(*t)->n_elements + 1,
                                    sizeof **values)))
        return bi_fail(r->err, BIOINFER_NOMEM, "%s: %s", r->path, name);
    return bi_tensor_read_f32(r->cp, *t, 0, (*t)->n_elements, *values, r->err);
}

/* [out, in, taps] -> [out, taps, in]: as the windows lie. */
static int by_taps(const struct reader *r, float **values, int64_t out, int64_t in, int64_t taps)
{
    float *to = bi_arena_calloc(&r->model->arena, (size_t)(out * in * taps), sizeof *to);
    if (!to)
        return bi_fail(r->err, BIOINFER_NOMEM, "%s: weights", r->path);
    for (int64_t o = 0; o < out; o++)
        for (int64_t k = 0; k < taps; k++)
            for (int64_t c = 0; c < in; c++)
                to[(o * taps + k) * in + c] = (*values)[(o * in + c) * taps + k];
    *values = to;
    return 0;
}

static int read_layer(const struct reader *r, const struct bi_json *json, int at, int64_t *width)
{
    static const char *const acts[] = {"none", "relu", "gelu", NULL};
    const char *name = word(r, json, "weight", NULL), *bias = word(r, json, "bias", NULL);
    int act = find_word(word(r, json, "act", "none"), acts), st;
    const struct bi_tensor *t;
    float *values;
    int64_t out, taps;
    if (act < 0)
        return bi_fail(r->err, BIOINFER_UNSUPPORTED,
                       "%s: layer %d: act: expected relu, gelu or "
                       "none",
                       r->path, at);
    if ((st = read_tensor(r, name, &t, &values)))
        return st;
    if (t->rank < 2 || t->rank > 4 || (t->rank == 4 && t->shape[3] != 1) || !t->shape[0] ||
        t->shape[0] > 65536 || t->shape[1] != (uint64_t)*width)
        return bi_fail(r->err, BIOINFER_MISMATCH,
                       "%s: %s: expected [out, %lld] or [out, %lld, "
                       "taps]",
                       r->path, name, (long long)*width, (long long)*width);
    out = (int64_t)t->shape[0];
    taps = t->rank > 2 ? (int64_t)t->shape[2] : 1;
    if (taps < 1 || taps > 255 || taps % 2 == 0 || (taps > 1 && r->head->input != BI_HEAD_RESIDUES))
        return bi_fail(r->err, BIOINFER_UNSUPPORTED,
                       "%s: %s: %lld taps: expected an odd number "
                       "up to 255, and residues as input",
                       r->path, name, (long long)taps);
    if (taps > 1 && (st = by_taps(r, &values, out, *width, taps)))
        return st;
    r->head->layers[at].taps = (int)taps;
    r->head->layers[at].act = act == 1 ? BI_HEAD_RELU : act == 2 ? BI_HEAD_GELU : BI_HEAD_LINEAR;
    r->head->layers[at].w = bi_model_weight(
        r->model,
        &(struct bi_weight){
            .name = "head.weight", .values = values, .rank = 2, .shape = {out, taps * *width}},
        r->err);
    r->head->layers[at].b = -1;
    *width = out;
    if (r->head->layers[at].w < 0)
        return r->head->layers[at].w;
    if (!bias)
        return 0;
    if ((st = read_tensor(r, bias, &t, &values)))
        return st;
    if (t->n_elements != (uint64_t)out)
        return bi_fail(r->err, BIOINFER_MISMATCH, "%s: %s: %llu elements, expected %lld", r->path,
                       bias, (unsigned long long)t->n_elements, (long long)out);
    r->head->layers[at].b = bi_model_weight(
        r->model,
        &(struct bi_weight){.name = "head.bias", .values = values, .rank = 1, .shape = {out, 1}},
        r->err);
    return r->head->layers[at].b < 0 ? r->head->layers[at].b : 0;
}

static int read_classes(const struct reader *r, const struct bi_json *json, int64_t width)
{
    const struct bi_json *j = bi_json_get(json, "classes");
    const char **names;
    int n = 0;
    if (!j || j->type != BI_JSON_ARRAY || j->n != (size_t)width || j->n > BI_HEAD_CLASSES)
        return bi_fail(r->err, BIOINFER_MISMATCH, "%s: classes: expected a list of %lld names",
                       r->path, (long long)width);
    if (!(names = bi_arena_calloc(&r->model->arena, j->n, sizeof *names)))
        return bi_fail(r->err, BIOINFER_NOMEM, "%s: classes", r->path);
    r->head->one_letter = true;
    for (j = j->first; j; j = j->next) {
        const char *name = bi_json_string(j);
        if (!name || !*name || strpbrk(name, " \t\r\n"))
            return bi_fail(r->err, BIOINFER_FORMAT,
                           "%s: classes: name %d is empty, or holds white "
                           "space",
                           r->path, n);
        r->head->one_letter &= !name[1];
        if (!(names[n++] = bi_arena_strndup(&r->model->arena, name, strlen(name))))
            return bi_fail(r->err, BIOINFER_NOMEM, "%s: classes", r->path);
    }
    r->head->classes = names;
    r->head->n_classes = n;
    return 0;
}

static int read_head(const struct reader *r, const struct bi_json *json)
{
    static const char *const inputs[] = {"per-residue", "mean", NULL};
    static const char *const activations[] = {"none", "softmax", "sigmoid", NULL};
    const struct bi_json *layers = bi_json_get(json, "layers");
    int input = find_word(word(r, json, "input", "per-residue"), inputs);
    int activation = find_word(word(r, json, "activation", "none"), activations), st = 0;
    int64_t width = r->model->width;
    uint64_t said = (uint64_t)width;
    bi_json_u64(bi_json_get(json, "width"), &said);
    if (said != (uint64_t)width)
        return bi_fail(r->err, BIOINFER_MISMATCH,
                       "%s: a head for embeddings of width %llu, %s has "
                       "%d",
                       r->path, (unsigned long long)said, r->model->name, r->model->width);
    if (input < 0 || activation < 0)
        return bi_fail(r->err, BIOINFER_UNSUPPORTED, "%s: %s", r->path,
                       input < 0 ? "input: expected per-residue or mean"
                                 : "activation: expected softmax, sigmoid or none");
    if (!layers || layers->type != BI_JSON_ARRAY || !layers->n || layers->n > BI_HEAD_LAYERS)
        return bi_fail(r->err, BIOINFER_FORMAT, "%s: layers: expected a list of 1 to %d", r->path,
                       BI_HEAD_LAYERS);
    r->head->input = input == 1 ? BI_HEAD_MEAN : BI_HEAD_RESIDUES;
    r->head->activation = activation == 1   ? BI_HEAD_SOFTMAX
                          : activation == 2 ? BI_HEAD_SIGMOID
                                            : BI_HEAD_NONE;
    for (const struct bi_json *j = layers->first; !st && j; j = j->next)
        st = read_layer(r, j, r->head->n_layers++, &width);
    return st ? st : read_classes(r, json, width);
}

int bi_head_open(struct bi_model *model, const char *path, struct bioinfer_error *err)
{
    struct reader r = {.model = model, .path = path, .err = err};
    const struct bi_checkpoint_options options = {0};
    const struct bi_meta *meta;
    struct bi_json *json = NULL;
    int st = bi_checkpoint_open(&r.cp, model->env, path, &options, err);
    if (st)
        return st;
    meta = bi_checkpoint_meta(r.cp, "metadata.bioinfer.head");
    if (!meta || meta->type != BI_META_STRING) {
        st = bi_fail(err, BIOINFER_FORMAT, "%s: no head: its metadata has no entry bioinfer.head",
                     path);
        goto out;
    }
    if (!(r.head = bi_arena_calloc(&model->arena, 1, sizeof *r.head))) {
        st = bi_fail(err, BIOINFER_NOMEM, "%s", path);
        goto out;
    }
    if ((st = bi_json_parse(&json, &model->arena, path, meta->text, strlen(meta->text), err)) ||
        (st = read_head(&r, json)))
        goto out;
    model->head = r.head;
    model->can_include |= BIOINFER_HEAD;
    model->default_include = BIOINFER_HEAD;
out:
    bi_checkpoint_close(&r.cp);
    return st;
}

const struct bi_head *bi_head_of(const struct bi_model *model, unsigned kind)
{
    return kind == BIOINFER_HEAD ? model->head : model->classifier;
}

bi_value_id bi_head_build(const struct bi_model *model, const struct bi_head *h, struct bi_graph *g,
                          bi_value_id x, bi_value_id start)
{
    static const enum bi_norm_act acts[] = {
        [BI_HEAD_RELU] = BI_NORM_ACT_RELU, [BI_HEAD_TANH] = BI_NORM_ACT_TANH};
    if (h->input == BI_HEAD_MEAN)
        x = bi_mean_pool(g, x, start, model->n_prefix, model->n_suffix);
    else if (h->input == BI_HEAD_FIRST)
        x = bi_select_rows(g, x, start);
    for (int i = 0; i < h->n_layers; i++) {
        if (h->layers[i].taps > 1)
            x = bi_sequence_windows(g, x, start, h->layers[i].taps, model->n_prefix,
                                    model->n_suffix);
        x = bi_matmul(g, x, bi_model_value(model, g, h->layers[i].w));
        if (h->layers[i].b >= 0)
            x = bi_add(g, x, bi_model_value(model, g, h->layers[i].b));
        if (h->layers[i].act == BI_HEAD_GELU)
            x = bi_gelu(g, x);
        else if (h->layers[i].act != BI_HEAD_LINEAR)
            x = bi_norm_act(g, x, BI_NONE, BI_NONE, acts[h->layers[i].act], 0);
    }
    return x;
}
