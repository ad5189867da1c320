/* model.c - models and devices: opening, closing, describing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../models/head.h"
#include "lib.h"

/* ---- models ---- */

/* Returns what people call the weights: "org/name" of the hub (also from a path into its cache),
 * the folder, or the file without its suffix where the file has a name of its own. */
static char *weights_name(const struct bi_env *env, const char *path)
{
    char *copy = bi_strdup(env, path), *end, *base, *hub;
    if (!copy)
        return NULL;
    for (end = copy + strlen(copy); end > copy + 1 && end[-1] == '/';)
        *--end = '\0';
    if ((hub = strstr(copy, "models--")) && (end = strchr(hub, '/'))) {
        *end = '\0';
        memmove(copy, hub + strlen("models--"), strlen(hub + strlen("models--")) + 1);
        if ((hub = strstr(copy, "--"))) {
            *hub = '/';
            memmove(hub + 1, hub + 2, strlen(hub + 2) + 1);
        }
        return copy;
    }
    base = strrchr(copy, '/');
    base = base ? base + 1 : copy;
    if (base > copy + 1 && (!strncmp(base, "model.", 6) || !strncmp(base, "pytorch_model", 13))) {
        base[-1] = '\0'; /* the folder says more */
        base = strrchr(copy, '/');
        base = base ? base + 1 : copy;
    } else if (!bi_path_is_folder(path) && (end = strrchr(base, '.')) && end > base) {
        *end = '\0';
    }
    memmove(copy, base, strlen(base) + 1);
    return copy;
}

int bi_find_weights(char **out, const struct bi_env *env, const char *path, const char *family,
                    struct bioinfer_error *err)
{
    int st;
    if (path && !strcmp(path, "tiny") && !bi_path_exists(path)) {
        if ((st = bi_find_shipped(out, env, "bioinfer-tiny", err)) || *out)
            return st;
    }
    for (int i = 0; path && bi_model_def(i) && !bi_path_exists(path); i++)
        if (bi_model_def(i)->default_name && !strcmp(bi_model_def(i)->default_name, path) &&
            ((st = bi_find_shipped(out, env, path, err)) || *out))
            return st;
    if (!path) {
        for (int i = 0; bi_model_def(i); i++)
            if (family && !strcmp(bi_model_def(i)->name, family)) {
                if (bi_model_def(i)->obtained)
                    return bi_fail(err, BIOINFER_NOT_FOUND, "%s: no weights are named: %s", family,
                                   bi_model_def(i)->obtained);
                path = bi_model_def(i)->default_name;
            }
        if (!path)
            return family ? bi_fail(err, BIOINFER_INVALID, "no model family is called '%s'", family)
                          : bi_fail(err, BIOINFER_INVALID, "model: path or family must be given");
        if ((st = bi_find_shipped(out, env, path, err)) || *out)
            return st;
    }
    st = bi_hub_resolve(out, env, path, err);
    return st == BIOINFER_NOT_FOUND ? bi_release_missing(env, path, err) : st;
}

static const struct bi_backend_ops *const gpus[] = {&bi_backend_cuda, &bi_backend_hip};
/* Opens a GPU for the model and says so. False: it is not usable, or the weights do not fit; that
 * is said, too. */
static bool take_gpu(struct bioinfer_model *m, const struct bi_backend_ops *ops, double need,
                     const struct bi_device_params *p)
{
    struct bioinfer_error why = {0};
    bool fits;
    if (ops->open(&m->device, &m->ctx->env, p, &why)) {
        if (p->ordinal < *p->n_devices) /* a GPU without kernels, or that others hold */
            bi_log(&m->ctx->env, BIOINFER_LOG_INFO, "%.200s", why.text);
        return false;
    }
    m->ops = ops;
    m->ops->caps(m->device, &m->caps);
    fits = need < 0.8 * (double)m->caps.memory_free;
    bi_log(&m->ctx->env, BIOINFER_LOG_INFO, "%s:%d (%s)%s", m->ops->name, p->ordinal,
           m->caps.description, fits ? "" : ": the weights do not fit");
    if (!fits)
        m->ops->close(&m->device);
    return fits;
}

/* The first GPU that this build has kernels for and that the weights fit, else the CPU. */
static int pick_device(struct bioinfer_model *m, bool half, struct bi_device_params *p,
                       struct bioinfer_error *err)
{
    double need = (double)m->base.n_parameters * (half ? 2 : 4);
    int n_devices = 0, seen = 0;
    p->n_devices = &n_devices;
    for (size_t i = 0; m->base.def->gpu && i < BI_COUNT(gpus); i++) {
        p->ordinal = n_devices = 0;
        do
            if (take_gpu(m, gpus[i], need, p))
                return 0;
        while (++p->ordinal < n_devices && p->ordinal <= BI_MAX_ORDINAL);
        seen += n_devices;
    }
    if (seen)
        bi_log(&m->ctx->env, BIOINFER_LOG_INFO, "no GPU does: the CPU is taken");
    p->ordinal = 0;
    m->ops = &bi_backend_cpu;
    return m->ops->open(&m->device, &m->ctx->env, p, err);
}

static bool is(const char *text, const char *word)
{
    return text && !strcmp(text, word);
}

static bool is_auto(const char *device)
{
    return !device || !*device || !strcmp(device, "auto");
}

static int open_device(struct bioinfer_model *m, const char *device, const char *precision,
                       struct bioinfer_error *err)
{
    struct bi_device_params p = {.n_threads = m->ctx->n_threads, .cpu_mask = m->ctx->cpu_mask};
    const bool half = is(precision, "fp16"), terms = is(precision, "bf16x2");
    int st;
    if (precision && *precision && !half && !terms && !is(precision, "fp32"))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "precision '%.20s': expected fp32, bf16x2 or fp16", precision);
    p.precision = terms ? "bf16x2" : "fp32";
    if (!m->ops && is_auto(device) && terms) { /* GPUs have no such products */
        m->ops = &bi_backend_cpu;
        if ((st = m->ops->open(&m->device, &m->ctx->env, &p, err)))
            return st;
    } else if (!m->ops && is_auto(device)) {
        if ((st = pick_device(m, !is(precision, "fp32"), &p, err)))
            return st;
    } else {
        if (!m->ops && (st = bi_backend_find(&m->ops, &p.ordinal, device, err)))
            return st;
        if ((st = m->ops->open(&m->device, &m->ctx->env, &p, err)))
            return st;
    }
    m->ops->caps(m->device, &m->caps);
    if (half && !m->caps.half)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "precision fp16: the %s backend computes in fp32",
                       m->ops->name);
    if (terms && !is(m->caps.precision, precision))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "precision bf16x2: the %s backend has no such products", m->ops->name);
    m->half_asked = half;
    m->half = m->caps.half &&
              (half || (m->base.def->half == BI_HALF_USUAL && !is(precision, "fp32")));
    if (half && m->base.def->half == BI_HALF_NEVER)
        return bi_fail(err, BIOINFER_UNSUPPORTED, "precision fp16: %s is computed in fp32",
                       m->base.def->name);
    return 0;
}

/* Every weight once through the check, without keeping anything. */
static int check_all(struct bioinfer_model *m, struct bioinfer_error *err)
{
    enum { STEP = 1 << 16 };
    float *x = bi_calloc(&m->ctx->env, STEP, sizeof *x);
    int st = x ? 0 : bi_fail(err, BIOINFER_NOMEM, "%s: check of weights", m->path);
    for (size_t i = 0; !st && i < m->base.cp->n_tensors; i++) {
        const struct bi_tensor *t = &m->base.cp->tensors[i];
        for (uint64_t at = 0; !st && bi_dtype_is_loadable(t->dtype) && at < t->n_elements;
             at += STEP) {
            uint64_t n = t->n_elements - at < STEP ? t->n_elements - at : STEP;
            st = bi_tensor_read_f32(m->base.cp, t, at, n, x, err);
            for (uint64_t k = 0; !st && k < n; k++)
                if (!(x[k] - x[k] == 0)) /* NaN and infinity */
                    st = bi_fail(err, BIOINFER_NONFINITE, "%s: %s: element %llu is not finite",
                                 m->path, t->name, (unsigned long long)(at + k));
        }
    }
    bi_free(&m->ctx->env, x);
    return st;
}

static int open_head(struct bioinfer_model *m, const char *path, struct bioinfer_error *err)
{
    if (!bi_family_def(m->base.def, &bi_kind_sequences))
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: heads are for sequences of residues, %s "
                       "takes windows of DNA",
                       path, m->base.def->name);
    return bi_head_open(&m->base, path, err);
}

/* Finds the weights that `path` names, and the adapter: the one asked for, or a folder that holds
 * an adapter alone, which names the model it was made for. */
static int find_model(struct bioinfer_model *m, const char *path,
                      const struct bioinfer_model_params *p, char **adapter,
                      struct bioinfer_error *err)
{
    const struct bi_env *env = &m->ctx->env;
    const struct bi_checkpoint_options options = {.strict_pickle = p->strict_pickle != 0,
                                                  .watch = m->ctx->watch};
    struct bi_adapter *a = NULL;
    char *found = NULL;
    int st;
    if (p->adapter)
        return (st = bi_find_weights(adapter, env, p->adapter, p->family, err))
                   ? st
                   : bi_find_weights(&m->path, env, path, p->family, err);
    if ((st = bi_find_weights(&found, env, path, p->family, err)) || !bi_adapter_is(found)) {
        m->path = found;
        return st;
    }
    *adapter = found;
    if ((st = bi_adapter_open(&a, env, found, &options, err)))
        return st;
    if (bi_adapter_base(a)) {
        bi_log(env, BIOINFER_LOG_INFO, "%s: an adapter of %s", found, bi_adapter_base(a));
        st = bi_find_weights(&m->path, env, bi_adapter_base(a), p->family, err);
    } else {
        st = bi_fail(err, BIOINFER_NOT_FOUND,
                     "%s/adapter_config.json does not name the model that the adapter was made "
                     "for: give the model as the weights and this folder as the adapter",
                     found);
    }
    bi_adapter_close(&a);
    return st;
}

/* Finds the weights of the other members of an ensemble; *more is [n_ensemble], its caller's. */
static int find_ensemble(struct bioinfer_model *m, const struct bioinfer_model_params *p,
                         char ***more, struct bioinfer_error *err)
{
    const struct bi_env *env = &m->ctx->env;
    int st = 0;
    if (p->n_ensemble < 0 || (p->n_ensemble && !p->ensemble))
        return bi_fail(err, BIOINFER_INVALID, "model: an ensemble of %d", p->n_ensemble);
    if (!p->n_ensemble)
        return 0;
    if (!(*more = bi_calloc(env, (size_t)p->n_ensemble, sizeof **more)))
        return bi_fail(err, BIOINFER_NOMEM, "model: an ensemble of %d", p->n_ensemble);
    for (int i = 0; !st && i < p->n_ensemble; i++)
        st = bi_find_weights(&(*more)[i], env, p->ensemble[i], p->family, err);
    return st;
}

/* Names the base that an adapter was made for, where the weights are called otherwise. */
static int say_base(const struct bioinfer_model *m, struct bioinfer_error *err)
{
    const char *base = m->base.adapter ? bi_adapter_base(m->base.adapter) : NULL;
    char *made_for = base ? weights_name(&m->ctx->env, base) : NULL;
    char *weights = base ? weights_name(&m->ctx->env, m->path) : NULL;
    int st = base && (!made_for || !weights) ? bi_fail(err, BIOINFER_NOMEM, "%s: name", m->path)
                                             : 0;
    if (base && !st) {
        const char *a = strrchr(made_for, '/'), *b = strrchr(weights, '/');
        if (strcmp(a ? a + 1 : made_for, b ? b + 1 : weights) != 0)
            bi_log(&m->ctx->env, BIOINFER_LOG_NAMED,
                   "%s: the adapter was made for '%s', the weights are '%s'", m->name, base,
                   m->path);
    }
    bi_free(&m->ctx->env, made_for);
    bi_free(&m->ctx->env, weights);
    return st;
}

/* Tells of a head for a task that the weights bring along. */
static void say_head(const struct bioinfer_model *m)
{
    size_t n;
    const char *head = bi_model_task_head(&m->base, &n);
    if (m->base.classifier)
        bi_log(&m->ctx->env, BIOINFER_LOG_INFO,
               "%s: the weights have a classifier: \"class-logits\" is what it gives", m->path);
    else if (head)
        bi_log(&m->ctx->env, BIOINFER_LOG_INFO,
               "%s: not used: %s and %zu more of a task's own "
               "head; what is computed is the model below it",
               m->path, head, n - 1);
}

int bioinfer_model_open(bioinfer_model **out, bioinfer_context *ctx, const char *path,
                        const struct bioinfer_model_params *params, struct bioinfer_error *err)
{
    return bi_model_open_on(out, ctx, path, params, NULL, err);
}

int bi_model_open_on(bioinfer_model **out, bioinfer_context *ctx, const char *path,
                     const struct bioinfer_model_params *params, const struct bi_backend_ops *ops,
                     struct bioinfer_error *err)
{
    struct bioinfer_model_params p = {0};
    struct bi_model_options options;
    struct bioinfer_model *m = NULL;
    char *adapter = NULL, **more = NULL;
    int st;
    if (!out || !ctx)
        return bi_fail(err, BIOINFER_INVALID, "model: out and context must be given");
    *out = NULL;
    if ((st = bi_context_check(ctx, err)) ||
        (st = bi_params_copy(&p, sizeof p, params, "model params", err)))
        return st;
    if (!(m = bi_zalloc(&ctx->env, sizeof *m)))
        return bi_fail(err, BIOINFER_NOMEM, "model");
    m->ctx = ctx;
    m->ops = ops;
    options = (struct bi_model_options){.family = p.family,
                                        .window = p.window,
                                        .positions = p.positions,
                                        .rope_frequencies = p.rope_frequencies,
                                        .factor_order = p.factor_order,
                                        .checkpoint = {.strict_pickle = p.strict_pickle != 0,
                                                       .verify = p.verify != 0,
                                                       .watch = ctx->watch}};
    if ((st = find_model(m, path, &p, &adapter, err)) || (st = find_ensemble(m, &p, &more, err)) ||
        (st = (m->name = weights_name(&ctx->env, adapter ? adapter : m->path))
                  ? 0
                  : bi_fail(err, BIOINFER_NOMEM, "%s: name", m->path)) ||
        (options.adapter = adapter, options.more = (const char *const *)more,
         options.n_more = p.n_ensemble,
         st = bi_model_open(&m->base, &ctx->env, m->path, &options, err)) ||
        (st = open_device(m, p.device, p.precision, err)) ||
        (st = p.head ? open_head(m, p.head, err) : 0) || (st = bi_store_new(m, err)))
        goto out;
    say_head(m);
    if (p.adapter && (st = say_base(m, err)))
        goto out;
    if (p.check_weights && (st = check_all(m, err)))
        goto out;
    *out = m;
    m = NULL;
out:
    bi_free(&ctx->env, adapter);
    for (int i = 0; more && i < p.n_ensemble; i++)
        bi_free(&ctx->env, more[i]);
    bi_free(&ctx->env, more);
    bioinfer_model_close(&m);
    return st;
}

void bioinfer_model_close(bioinfer_model **model)
{
    struct bioinfer_model *m = model ? *model : NULL;
    if (!m)
        return;
    bi_store_free(m);
    bi_model_close(&m->base);
    if (m->ops)
        m->ops->close(&m->device);
    bi_free(&m->ctx->env, m->path);
    bi_free(&m->ctx->env, m->name);
    bi_free(&m->ctx->env, m);
    *model = NULL;
}

int bioinfer_model_get_info(const bioinfer_model *m, struct bioinfer_model_info *info)
{
    struct bioinfer_model_info i = {0};
    size_t size;
    if (!m || !info || info->struct_size < sizeof info->struct_size)
        return BIOINFER_INVALID;
    i.family = m->base.def->name;
    i.name = m->name;
    i.architecture = m->base.name;
    i.path = m->path;
    i.device = m->ops->name;
    i.kernels = m->caps.kernels;
    i.precision = bi_model_precision(m);
    i.n_layers = m->base.n_layers;
    i.width = m->base.width;
    i.n_heads = m->base.n_heads;
    i.vocab_size = m->base.vocab_size;
    i.n_parameters = m->base.n_parameters;
    i.has_contacts = (m->base.can_include & BIOINFER_CONTACTS) != 0;
    i.longest = m->base.max_tokens ? m->base.max_tokens - m->base.n_prefix - m->base.n_suffix
                                   : m->base.def->trained_residues;
    size = info->struct_size < sizeof i ? info->struct_size : sizeof i;
    i.struct_size = info->struct_size;
    memcpy(info, &i, size);
    return 0;
}

const char *bi_model_precision(const struct bioinfer_model *m)
{
    return m->half ? "fp16" : m->caps.precision ? m->caps.precision : "fp32";
}

const char *bioinfer_model_token(const bioinfer_model *m, int id)
{
    return m && id >= 0 && id < m->base.vocab_size ? m->base.tokens[id] : NULL;
}

/* ---- devices ---- */

/* Opens a device to see what it is; returns how many of its kind there are. */
static int probe(const bioinfer_context *ctx, const struct bi_backend_ops *ops, int ordinal,
                 struct bioinfer_device *d)
{
    int n_devices = 0;
    struct bi_device_params p = {.ordinal = ordinal,
                                 .n_threads = ctx->n_threads,
                                 .cpu_mask = ctx->cpu_mask,
                                 .n_devices = &n_devices};
    struct bioinfer_error err = {0};
    struct bi_device *dev = NULL;
    struct bi_caps caps;
    if (ops->open(&dev, &ctx->env, &p, &err)) {
        snprintf(d->reason, sizeof d->reason, "%.150s", err.text);
        return n_devices;
    }
    ops->caps(dev, &caps);
    d->usable = 1;
    d->memory_size = caps.memory_size;
    d->memory_free = caps.memory_free;
    snprintf(d->description, sizeof d->description, "%s, %s kernels", caps.description,
             caps.kernels);
    ops->close(&dev);
    return n_devices;
}

/* A GPU by number, usable or not; returns how many of its kind there are. */
static int probe_gpu(const bioinfer_context *ctx, const struct bi_backend_ops *ops, int ordinal,
                     struct bioinfer_device *d)
{
    *d = (struct bioinfer_device){0};
    snprintf(d->name, sizeof d->name, "%s:%d", ops->name, ordinal);
    return probe(ctx, ops, ordinal, d);
}

/* The n-th, from 1, of the GPUs behind the first of each kind; false: there are fewer. */
static bool probe_other(const bioinfer_context *ctx, int n, struct bioinfer_device *d)
{
    for (size_t i = 0; i < BI_COUNT(gpus); i++) {
        const int there = probe_gpu(ctx, gpus[i], n, d);
        if (n < there)
            return true;
        n -= there > 1 ? there - 1 : 0;
    }
    return false;
}

int bioinfer_device_get(bioinfer_context *ctx, int index, struct bioinfer_device *device)
{
    struct bioinfer_device d = {0};
    size_t size;
    if (!ctx || !device || device->struct_size < sizeof device->struct_size)
        return BIOINFER_INVALID;
    if (index == 0) {
        snprintf(d.name, sizeof d.name, "cpu");
        probe(ctx, &bi_backend_cpu, 0, &d);
    } else if (index > 0 && index <= (int)BI_COUNT(gpus)) { /* listed also when not usable */
        probe_gpu(ctx, gpus[index - 1], 0, &d);
    } else if (index < 0 || index > 2 * BI_MAX_ORDINAL ||
               !probe_other(ctx, index - (int)BI_COUNT(gpus), &d)) {
        return BIOINFER_NOT_FOUND;
    }
    size = device->struct_size < sizeof d ? device->struct_size : sizeof d;
    d.struct_size = device->struct_size;
    memcpy(device, &d, size);
    return 0;
}
