/* model.c - opening a model of any family, and its weights. */
#include "head.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MODEL(stem) extern const struct bi_model_def bi_model_##stem;
#include "models.inc"
#undef MODEL

static const struct bi_model_def *const defs[] = {
#define MODEL(stem) &bi_model_##stem,
#include "models.inc"
#undef MODEL
};

const struct bi_model_def *bi_model_def(int index)
{
    return index >= 0 && index < (int)BI_COUNT(defs) ? defs[index] : NULL;
}

static int find_def(const struct bi_model_def **out, const char *family,
                    const struct bi_checkpoint *cp, struct bioinfer_error *err)
{
    for (size_t i = 0; i < BI_COUNT(defs); i++) {
        if (family && strcmp(defs[i]->name, family))
            continue;
        if (defs[i]->recognise(cp)) {
            *out = defs[i];
            return 0;
        }
        if (family)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: these are no %s weights (%zu tensors, "
                           "the first is %s)",
                           cp->path, family, cp->n_tensors,
                           cp->n_tensors ? cp->tensors[0].name : "missing");
    }
    if (family)
        return bi_fail(err, BIOINFER_INVALID, "no model family is called '%s'", family);
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "%s: weights of no known family (%zu tensors, the "
                   "first is %s)",
                   cp->path, cp->n_tensors, cp->n_tensors ? cp->tensors[0].name : "missing");
}

int bi_model_recognise(const struct bi_model_def **out, const char *family,
                       struct bi_checkpoint *cp, struct bioinfer_error *err)
{
    static const char *const first_words[] = {"module.", "model.", "module."};
    struct bioinfer_error first = {0}, why = {0};
    int st = bi_checkpoint_unwrap_parts(cp, err), found;
    size_t n;
    found = st ? st : find_def(out, family, cp, &first);
    for (size_t i = 0; !st && found && i < BI_COUNT(first_words); i++)
        if (!(st = bi_checkpoint_unwrap(cp, first_words[i], false, &n, err)) && n)
            found = find_def(out, family, cp, &why);
    return st || !found ? st : bi_fail(err, first.status, "%s", first.text);
}

int bi_model_open(struct bi_model *model, const struct bi_env *env, const char *path,
                  const struct bi_model_options *options, struct bioinfer_error *err)
{
    int st;
    *model = (struct bi_model){.env = env,
                               .arena = {.env = env},
                               .window = options->window,
                               .positions = options->positions,
                               .rope_frequencies = options->rope_frequencies,
                               .factor_order = options->factor_order,
                               .more = options->more,
                               .n_more = options->n_more,
                               .more_options = &options->checkpoint,
                               .read = {{5, 6}}};
    if ((st = bi_checkpoint_open(&model->cp, env, path, &options->checkpoint, err)) ||
        (st = bi_model_recognise(&model->def, options->family, model->cp, err)) ||
        (st = options->n_more && !bi_family_def(model->def, &bi_kind_affinity)
                  ? bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s has no ensembles of checkpoints",
                            path, model->def->name)
                  : 0) ||
        (st = options->adapter ? bi_adapter_open(&model->adapter, env, options->adapter,
                                                 &options->checkpoint, err)
                               : 0) ||
        (st = model->def->open(model, err)) ||
        (st = bi_family_def(model->def, &bi_kind_sequences) ? bi_settings_check(model, err) : 0) ||
        (st = bi_classifier_open(model, err)) ||
        (st = model->adapter ? bi_adapter_check_used(model->adapter, model->can_include, err) : 0))
        goto out;
    if (options->rope_frequencies && !model->rope_used)
        st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: frequencies cannot be chosen for %s", path,
                     model->def->name);
    else if (options->factor_order && !model->def->orders_factors)
        st = bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s has no order of factors to choose", path,
                     model->def->name);
out:
    model->rope_frequencies = NULL; /* the caller's, like those below */
    model->factor_order = NULL;
    model->more = NULL;
    model->more_options = NULL;
    if (st)
        bi_model_close(model);
    return st;
}

const char *bi_model_task_head(const struct bi_model *model, size_t *n)
{
    static const char *const heads[] = {"classifier.", "classification_head.", "qa_outputs.",
                                        "score."};
    const char *first = NULL;
    *n = 0;
    if (model->classifier)
        return NULL;
    for (size_t i = 0; i < model->cp->n_tensors; i++)
        for (size_t k = 0; k < BI_COUNT(heads); k++)
            if (!strncmp(model->cp->tensors[i].name, heads[k], strlen(heads[k]))) {
                first = first ? first : model->cp->tensors[i].name;
                ++*n;
            }
    return first;
}

void bi_model_close(struct bi_model *model)
{
    if (!model->env)
        return;
    bi_checkpoint_close(&model->cp);
    bi_adapter_close(&model->adapter);
    bi_free(model->env, model->weights);
    bi_arena_reset(&model->arena);
    *model = (struct bi_model){0};
}

/* ---- weights ---- */

/* The checkpoint that a tensor is of: the model's or its adapter's. */
static const struct bi_checkpoint *owner(const struct bi_model *model, const struct bi_tensor *t)
{
    const struct bi_checkpoint *cp = model->adapter ? bi_adapter_checkpoint(model->adapter) : NULL;
    return cp && t >= cp->tensors && t < cp->tensors + cp->n_tensors ? cp : model->cp;
}

/* The update of a tensor; < 0 when it does not fit. */
static int find_lora(const struct bi_model *model, struct bi_weight *w, struct bioinfer_error *err)
{
    const struct bi_tensor *t = w->tensor;
    if (!t || !model->adapter || !(w->lora = bi_adapter_lora(model->adapter, t->name)))
        return 0;
    if (w->rank != 2 || w->taps || w->n_columns || t->shape[0] != (uint64_t)w->lora->rows ||
        t->shape[1] != (uint64_t)w->lora->columns)
        return bi_fail(
            err, BIOINFER_MISMATCH,
            "%s: the update of %s is [%" PRId64 ", %" PRId64 "], which the tensor is not",
            bi_adapter_checkpoint(model->adapter)->path, t->name, w->lora->rows, w->lora->columns);
    return 0;
}

/* Rows of the tensor behind a weight: rank 1 weights are one element per row. A weight of
 * rank 1 may come as [1, n], as PyTorch stores a linear layer with one output. */
static uint64_t tensor_rows(const struct bi_tensor *t, const struct bi_weight *w)
{
    if (w->flat)
        return t->shape[t->rank - 1] ? t->n_elements / t->shape[t->rank - 1] : 0;
    return w->rank == 1 ? t->n_elements : t->rank ? t->shape[0] : 1;
}

/* Channels that the tensor of a convolution has. */
static int64_t channels_of(const struct bi_weight *w)
{
    return w->channels ? w->channels : w->shape[1] / w->taps;
}

/* [rows, channels, taps], with a trailing 1 where a layer of one tap was made for two
 * dimensions. */
static bool fits_convolution(const struct bi_tensor *t, const struct bi_weight *w)
{
    return (t->rank == 3 || (t->rank == 4 && t->shape[3] == 1)) &&
           t->shape[1] == (uint64_t)channels_of(w) && t->shape[2] == (uint64_t)w->taps;
}

/* Columns that the tensor of a matrix has. */
static uint64_t columns_of(const struct bi_weight *w)
{
    return (uint64_t)(w->n_columns ? w->n_columns : w->shape[1]);
}

int bi_model_weight(struct bi_model *model, const struct bi_weight *weight,
                    struct bioinfer_error *err)
{
    const struct bi_tensor *t = weight->tensor;
    uint64_t last = weight->row_first;
    int st;
    if (weight->shape[0] > 0) {
        uint64_t r = (uint64_t)weight->shape[0] - 1;
        last += weight->row_block ? r / weight->row_block * weight->row_step + r % weight->row_block
                                  : r;
    }
    if (t) {
        bool fits = weight->rank == 1 ? t->rank == 1 || (t->rank == 2 && t->shape[0] == 1)
                    : weight->taps    ? fits_convolution(t, weight)
                    : weight->flat
                        ? t->rank > 2 && t->shape[t->rank - 1] == (uint64_t)weight->shape[1]
                        : t->rank == 2 && t->shape[1] == columns_of(weight);
        /* a whole tensor must be used as a whole: extra rows are a different model */
        bool picked = weight->row_block || weight->row_first || weight->row_step;
        if (!bi_dtype_is_loadable(t->dtype))
            return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: %s: dtype %s cannot be computed with",
                           owner(model, t)->files[t->file].path, t->name, bi_dtype_name(t->dtype));
        if (!fits || last >= tensor_rows(t, weight) ||
            (!picked && last + 1 != tensor_rows(t, weight))) {
            char got[80] = "[";
            for (int i = 0; i < t->rank; i++)
                snprintf(got + strlen(got), sizeof got - strlen(got), "%s%" PRIu64, i ? ", " : "",
                         t->shape[i]);
            if (weight->taps)
                return bi_fail(err, BIOINFER_MISMATCH,
                               "%s: %s: shape %s], expected [%" PRId64 ", %" PRId64 ", %" PRId64
                               "]",
                               owner(model, t)->files[t->file].path, t->name, got, weight->shape[0],
                               channels_of(weight), weight->taps);
            if (weight->rank == 1)
                return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: shape %s], expected [%" PRId64 "]",
                               owner(model, t)->files[t->file].path, t->name, got,
                               weight->shape[0]);
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: %s: shape %s], expected [%" PRId64 ", %" PRId64 "]",
                           owner(model, t)->files[t->file].path, t->name, got, weight->shape[0],
                           (int64_t)columns_of(weight));
        }
    }
    if (!bi_grow(model->env, &model->weights, &model->cap_weights, model->n_weights + 1,
                 sizeof *model->weights))
        return bi_fail(err, BIOINFER_NOMEM, "%s: table of weights", model->cp->path);
    model->weights[model->n_weights] = *weight;
    if ((st = find_lora(model, &model->weights[model->n_weights], err)))
        return st;
    return (int)model->n_weights++;
}

bi_value_id bi_model_value(const struct bi_model *model, struct bi_graph *g, int index)
{
    const struct bi_weight *w;
    if (index < 0 || (size_t)index >= model->n_weights)
        return bi_graph_fail(g, BIOINFER_INTERNAL, "%s: weight %d of %zu", model->def->name, index,
                             model->n_weights);
    w = &model->weights[index];
    return bi_weight(g, index, w->name, w->rank, w->shape);
}

/* The least sum of squares that a row is divided by the root of. */
static const double LEAST_SQUARES = 1e-4;

/* Makes of rows [first, first + n) what the weight asks for, in double. */
static void bake(const struct bi_weight *w, int64_t first, int64_t n, float *rows)
{
    const int64_t width = w->rank == 2 ? w->shape[1] : 1;
    for (int64_t r = 0; r < n && (w->standardised || w->gain); r++, rows += width) {
        double mean = 0, squares = 0, by = w->gain ? w->gain[first + r] : 1;
        for (int64_t c = 0; w->standardised && c < width; c++)
            mean += (double)rows[c];
        mean /= (double)width;
        for (int64_t c = 0; w->standardised && c < width; c++)
            squares += ((double)rows[c] - mean) * ((double)rows[c] - mean);
        if (w->standardised)
            by /= sqrt(squares > LEAST_SQUARES ? squares : LEAST_SQUARES);
        for (int64_t c = 0; c < width; c++)
            rows[c] = (float)(((double)rows[c] - mean) * by);
    }
}

/* The row of the tensor that row r of a weight is; *run: rows from there on that follow. */
static uint64_t row_of(const struct bi_weight *w, uint64_t r, uint64_t *run)
{
    if (w->evens_first) {
        const uint64_t width = (uint64_t)w->evens_first, at = r % width, half = width / 2;
        *run = 1;
        return w->row_first + r - at + (at < half ? 2 * at : 2 * (at - half) + 1);
    }
    if (w->head_rows) { /* the middle of the head, its second half of what is rotated, is moved */
        const uint64_t width = (uint64_t)w->head_rows, turned = (uint64_t)w->rotated;
        const uint64_t at = r % width, half = width / 2;
        const bool kept = at < turned / 2 || at >= half + turned / 2;
        *run = 1;
        return w->row_first + r - at +
               (kept        ? at
                : at < half ? at + turned / 2
                            : at - (half - turned / 2));
    }
    if (w->row_block) {
        const uint64_t at = r % w->row_block;
        *run = *run > w->row_block - at ? w->row_block - at : *run;
        return w->row_first + r / w->row_block * w->row_step + at;
    }
    return w->row_first + r;
}

/* [channels][taps] of every row becomes [taps][channels]. */
static int read_convolution(const struct bi_model *model, const struct bi_weight *weight,
                            int64_t first, int64_t n, float *dst, struct bioinfer_error *err)
{
    const int64_t width = weight->shape[1], taps = weight->taps, step = width / taps;
    const int64_t channels = channels_of(weight), n_row = channels * taps;
    float *row = bi_calloc(model->env, (size_t)n_row, sizeof *row);
    int st = row ? 0
                 : bi_fail(err, BIOINFER_NOMEM, "%s: a row of %s", model->cp->path, weight->name);
    for (int64_t r = 0; !st && r < n; r++, dst += width) {
        st = bi_tensor_read_f32(owner(model, weight->tensor), weight->tensor,
                                (uint64_t)((first + r) * n_row), (uint64_t)n_row, row, err);
        for (int64_t k = 0; !st && k < taps; k++)
            for (int64_t c = 0; c < step; c++)
                dst[k * step + c] = c < channels ? row[c * taps + k] : 0;
        if (!st)
            bake(weight, first + r, 1, dst);
    }
    bi_free(model->env, row);
    return st;
}

int bi_weight_read(const struct bi_model *model, const struct bi_weight *weight, int64_t first,
                   int64_t n, float *dst, struct bioinfer_error *err)
{
    uint64_t width = weight->rank == 2 ? (uint64_t)weight->shape[1] : 1;
    float *scratch = NULL;
    int st = 0;
    if (weight->values) {
        memcpy(dst, weight->values + (uint64_t)first * width,
               (size_t)((uint64_t)n * width) * sizeof *dst);
        return 0;
    }
    if (weight->taps > 1)
        return read_convolution(model, weight, first, n, dst, err);
    if (weight->lora && !(scratch = bi_calloc(model->env, width, sizeof *scratch)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: a row of %s", model->cp->path, weight->name);
    while (!st && n) { /* runs of rows that follow each other in the tensor */
        uint64_t run = (uint64_t)n, row = row_of(weight, (uint64_t)first, &run), at = row * width;
        if (weight->n_columns) {
            run = 1;
            at = row * (uint64_t)weight->n_columns + (uint64_t)weight->column_first;
        }
        st = bi_tensor_read_f32(owner(model, weight->tensor), weight->tensor, at, run * width, dst,
                                err);
        if (!st && weight->lora)
            bi_lora_add(weight->lora, (int64_t)row, (int64_t)run, dst, scratch);
        if (!st && weight->factor != 0)
            for (uint64_t i = 0; i < run * width; i++)
                dst[i] *= weight->factor;
        if (!st)
            bake(weight, first, (int64_t)run, dst);
        dst += run * width;
        first += (int64_t)run;
        n -= (int64_t)run;
    }
    bi_free(model->env, scratch);
    return st;
}

/* Adds the update of a tensor to all of its values. */
static int add_update(struct bi_model *model, const struct bi_tensor *t, const struct bi_lora *lora,
                      float *values, struct bioinfer_error *err)
{
    float *scratch;
    if (t->rank != 2 || t->shape[0] != (uint64_t)lora->rows ||
        t->shape[1] != (uint64_t)lora->columns)
        return bi_fail(
            err, BIOINFER_MISMATCH,
            "%s: the update of %s is [%" PRId64 ", %" PRId64 "], which the tensor is not",
            bi_adapter_checkpoint(model->adapter)->path, t->name, lora->rows, lora->columns);
    if (!(scratch = bi_arena_calloc(&model->arena, (size_t)lora->columns, sizeof *scratch)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", model->cp->path, t->name);
    bi_lora_add(lora, 0, lora->rows, values, scratch);
    return 0;
}

int bi_model_read(struct bi_model *model, const struct bi_tensor *t, float **values,
                  struct bioinfer_error *err)
{
    const struct bi_lora *lora = model->adapter ? bi_adapter_lora(model->adapter, t->name) : NULL;
    int st;
    if (!bi_dtype_is_loadable(t->dtype) || t->n_elements > 1 << 20)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: %s: unexpected dtype or size", model->cp->path,
                       t->name);
    if (!(*values = bi_arena_calloc(&model->arena, (size_t)t->n_elements + 1, sizeof **values)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: %s", model->cp->path, t->name);
    if ((st = bi_tensor_read_f32(owner(model, t), t, 0, t->n_elements, *values, err)) ||
        (st = lora ? add_update(model, t, lora, *values, err) : 0))
        return st;
    bi_hash_int(&model->read, "tensor", (int64_t)t->n_elements);
    bi_hash_bytes(&model->read, *values, (size_t)t->n_elements * sizeof **values);
    return 0;
}

const char *bi_model_name(struct bi_model *model, const char *prefix, const char *pattern,
                          int layer)
{
    const char *mark = strstr(pattern, "%d"); /* a constant of a family: at most one */
    return mark ? bi_arena_printf(&model->arena, "%s%.*s%d%s", prefix, (int)(mark - pattern),
                                  pattern, layer, mark + 2)
                : bi_arena_printf(&model->arena, "%s%s", prefix, pattern);
}

int bi_model_vocab(struct bi_model *model, int64_t n, const char ***symbols,
                   struct bioinfer_error *err)
{
    const char *p = model->cp->vocab;
    int64_t i = 0;
    if (!p)
        return 0;
    if (!(*symbols = bi_arena_calloc(&model->arena, (size_t)n, sizeof **symbols)))
        return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
    for (; *p && i < n; i++) {
        size_t line = strcspn(p, "\n"), cut = line && p[line - 1] == '\r' ? line - 1 : line;
        if (!((*symbols)[i] = bi_arena_strndup(&model->arena, p, cut)))
            return bi_fail(err, BIOINFER_NOMEM, "%s: vocabulary", model->cp->path);
        p += line + (p[line] == '\n');
    }
    if (i < n || *p)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: vocab.txt: %s than %" PRId64 " symbols, the embedding has %" PRId64
                       " rows",
                       model->cp->path, i < n ? "fewer" : "more", n, n);
    return 0;
}

/* A norm's weight and bias are called gamma and beta by conversions from TensorFlow, and by
 * transformers 5 when it saves an ESM-2. */
static const struct bi_tensor *find_own(const struct bi_model *model, const char *name)
{
    static const char *const spellings[][2] = {{"LayerNorm.weight", "gamma"},
                                               {"LayerNorm.bias", "beta"}};
    const struct bi_tensor *t = bi_checkpoint_find(model->cp, name);
    const size_t n = strlen(name);
    char other[256];
    for (size_t i = 0; !t && i < BI_COUNT(spellings); i++) {
        const size_t tail = strlen(spellings[i][0]), stem = strlen("LayerNorm.");
        if (n < tail || strcmp(name + n - tail, spellings[i][0]) || n >= sizeof other)
            continue;
        snprintf(other, sizeof other, "%.*s%s", (int)(n - tail + stem), name, spellings[i][1]);
        t = bi_checkpoint_find(model->cp, other);
    }
    return t;
}

const struct bi_tensor *bi_model_find(const struct bi_model *model, const char *name)
{
    const struct bi_tensor *t = model->adapter ? bi_adapter_tensor(model->adapter, name) : NULL;
    return t ? t : find_own(model, name);
}

int bi_model_bind(struct bi_model *model, const struct bi_binding *b, int layer, void *base,
                  struct bioinfer_error *err)
{
    struct bi_weight w = {.rank = b->columns ? 2 : 1,
                          .shape = {b->rows, b->columns ? b->columns : 1},
                          .row_first = b->row_first,
                          .row_block = b->row_block,
                          .row_step = b->row_step,
                          .factor = b->factor};
    const char *file = bi_model_name(model, b->prefix ? b->prefix : "", b->file, layer);
    int index = -1;
    w.name = bi_model_name(model, "", b->canonical, layer);
    if (!file || !w.name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    w.tensor = b->untied ? find_own(model, file) : bi_model_find(model, file);
    if (!w.tensor && !b->optional)
        return bi_fail(err, BIOINFER_MISMATCH, "%s: tensor %s is missing", model->cp->path, file);
    if (w.tensor && (index = bi_model_weight(model, &w, err)) < 0)
        return index;
    if (w.tensor)
        model->n_parameters += w.shape[0] * w.shape[1];
    memcpy((char *)base + b->at, &index, sizeof index);
    return 0;
}

int bi_model_untie(struct bi_model *model, const struct bi_binding *b, void *base,
                   struct bioinfer_error *err)
{
    const int64_t before = model->n_parameters;
    const char *name = bi_model_name(model, b->prefix ? b->prefix : "", b->file, 0);
    struct bi_binding own = *b;
    int st = 0;
    if (!name)
        return bi_fail(err, BIOINFER_NOMEM, "%s: names", model->cp->path);
    own.untied = true;
    if (model->adapter && bi_adapter_unties(model->adapter, name))
        st = bi_model_bind(model, &own, 0, base, err);
    model->n_parameters = before; /* counted with the matrix that it was tied to */
    return st;
}

int bi_config_int(const struct bi_model *model, const char *key, int64_t min, int64_t max,
                  int64_t *out, struct bioinfer_error *err)
{
    const struct bi_json *j = bi_json_get(model->cp->config, key);
    uint64_t v;
    if (!j || j->type == BI_JSON_NULL)
        return 0;
    if (!bi_json_u64(j, &v) || v > (uint64_t)max || (int64_t)v < min)
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: %s is '%.40s', expected a number from %" PRId64
                       " to %" PRId64,
                       model->cp->path, key, j->text ? j->text : "?", min, max);
    *out = (int64_t)v;
    return 1;
}

int bi_config_agrees(const struct bi_model *model, const struct bi_config_fact *facts, size_t n,
                     struct bioinfer_error *err)
{
    for (size_t i = 0; i < n; i++) {
        int64_t value = facts[i].want;
        const int st = bi_config_int(model, facts[i].key, 0, 1 << 20, &value, err);
        if (st < 0)
            return st;
        if (value != facts[i].want)
            return bi_fail(err, BIOINFER_MISMATCH,
                           "%s: config.json: %s is %" PRId64 ", the weights have %" PRId64,
                           model->cp->path, facts[i].key, value, facts[i].want);
    }
    return 0;
}

int bi_config_eps(const struct bi_model *model, const char *key, float *out,
                  struct bioinfer_error *err)
{
    const struct bi_json *j = bi_json_get(model->cp->config, key);
    double v;
    if (!j || j->type == BI_JSON_NULL)
        return 0;
    if (!bi_json_double(j, &v) || !(v >= 0 && v < 1))
        return bi_fail(err, BIOINFER_MISMATCH,
                       "%s: config.json: %s is '%.40s', expected a number "
                       "from 0 to 1",
                       model->cp->path, key, j->text ? j->text : "?");
    *out = (float)v;
    return 1;
}

bool bi_config_type_is(const struct bi_checkpoint *cp, const char *type)
{
    const char *text = bi_json_string(bi_json_get(cp->config, "model_type"));
    return !text || !strcmp(text, type);
}

const struct bi_kind bi_kinds[BI_N_KINDS] = {
    {BIOINFER_MEAN, "mean"},         {BIOINFER_PER_RESIDUE, "per-residue"},
    {BIOINFER_BOS, "bos"},           {BIOINFER_LOGITS, "logits"},
    {BIOINFER_CONTACTS, "contacts"}, {BIOINFER_ATTENTIONS, "attentions"},
    {BIOINFER_HEAD, "head"},         {BIOINFER_CLASS_LOGITS, "class-logits"}};

const char bi_contacts_hint[] =
    " (fair-esm keeps it in <name>-contact-regression.pt beside the weights)";

void bi_model_represent(const struct bi_model *model, struct bi_graph *g, const struct bi_wants *w,
                        bi_value_id x, bi_value_id start, int layer)
{
    for (int i = 0; i < w->n_layers; i++) {
        if (w->layers[i] != layer)
            continue;
        if (w->include & BIOINFER_MEAN)
            bi_output(g, bi_mean_pool(g, x, start, model->n_prefix, model->n_suffix), BIOINFER_MEAN,
                      layer, "mean");
        if (w->include & BIOINFER_PER_RESIDUE)
            bi_output(g, x, BIOINFER_PER_RESIDUE, layer, "per-residue");
        if (w->include & BIOINFER_BOS)
            bi_output(g, bi_select_rows(g, x, start), BIOINFER_BOS, layer, "bos");
    }
    if (w->include & BIOINFER_HEAD && layer == model->n_layers)
        bi_output(g, bi_head_build(model, model->head, g, x, start), BIOINFER_HEAD, -1, "head");
    if (w->include & BIOINFER_CLASS_LOGITS && layer == model->n_layers)
        bi_output(g, bi_head_build(model, model->classifier, g, x, start), BIOINFER_CLASS_LOGITS,
                  -1, "class-logits");
}

size_t bi_model_special(const struct bi_model *model, const int32_t *ids, int n_ids,
                        const char *text, size_t n, int32_t *id)
{
    for (int i = 0; i < n_ids; i++) {
        const char *symbol = model->tokens[ids[i]];
        size_t len = strlen(symbol);
        if (len <= n && !memcmp(text, symbol, len)) {
            *id = ids[i];
            return len;
        }
    }
    return 0;
}

int bi_model_bad_residue(const struct bioinfer_record *r, size_t i, struct bioinfer_error *err)
{
    char c = r->sequence[i];
    return bi_fail(err, BIOINFER_BAD_RESIDUE,
                   "record '%.60s': residue %zu is '%c' (0x%02x), which has no token", r->id, i + 1,
                   c >= 32 && c < 127 ? c : '?', (unsigned char)c);
}
