/* context.c - contexts, models and devices: opening, closing, describing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/team.h"
#include "../models/head.h"
#include "../engine/engine.h"

const char *bioinfer_version(void)
{
#define STR_(x) #x
#define STR(x) STR_(x)
    return STR(BIOINFER_VERSION_MAJOR) "." STR(BIOINFER_VERSION_MINOR) "." STR(
        BIOINFER_VERSION_PATCH);
}

const char *bioinfer_status_name(int status)
{
    switch (status) {
#define BIOINFER_X(name, value, word)                                                              \
    case value:                                                                                    \
        return word;
        BIOINFER_STATUS_LIST(BIOINFER_X)
#undef BIOINFER_X
    default:
        return "unknown";
    }
}

int bi_params_copy(void *dst, size_t size, const void *src, const char *what,
                   struct bioinfer_error *err)
{
    enum { MOST = 4096 }; /* larger than any, and no more than that is read */
    const unsigned char *bytes = src;
    size_t given;
    if (!src)
        return 0;
    memcpy(&given, src, sizeof given);
    if (given < sizeof given || given > MOST)
        return bi_fail(err, BIOINFER_INVALID, "%s: struct_size is %zu: use BIOINFER_PARAMS", what,
                       given);
    for (size_t i = size; i < given; i++)
        if (bytes[i])
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: a field of a newer version is set "
                           "(struct_size %zu, this library knows %zu)",
                           what, given, size);
    memcpy(dst, src, given < size ? given : size);
    return 0;
}

/* ---- contexts ---- */

/* The callback of the environment: the user's, one call at a time. */
static void log_locked(void *user, int level, const char *text)
{
    struct bioinfer_context *ctx = user;
    pthread_mutex_lock(&ctx->log_lock);
    ctx->log(ctx->log_user, level, text);
    pthread_mutex_unlock(&ctx->log_lock);
}

int bioinfer_context_new(bioinfer_context **out, const struct bioinfer_context_params *params,
                         struct bioinfer_error *err)
{
    struct bioinfer_context_params p = {0};
    struct bi_env env = bi_env_default();
    struct bioinfer_context *ctx;
    int st;
    if (!out)
        return bi_fail(err, BIOINFER_INVALID, "context: out must be given");
    *out = NULL;
    if ((st = bi_params_copy(&p, sizeof p, params, "context params", err)))
        return st;
    if (!p.alloc != !p.free)
        return bi_fail(err, BIOINFER_INVALID, "context: alloc and free come together");
    if (p.n_threads < 0 || p.n_threads > 4096)
        return bi_fail(err, BIOINFER_INVALID, "context: n_threads is %d, expected 0 to 4096",
                       p.n_threads);
    if (p.cpu_mask && strlen(p.cpu_mask) >= sizeof ctx->cpu_mask)
        return bi_fail(err, BIOINFER_INVALID, "context: cpu_mask '%.40s'", p.cpu_mask);
    if (p.alloc) {
        env.alloc = p.alloc;
        env.free = p.free;
        env.alloc_user = p.alloc_user;
    }
    if (!(ctx = bi_zalloc(&env, sizeof *ctx)))
        return bi_fail(err, BIOINFER_NOMEM, "context");
    ctx->env = env;
    if (pthread_mutex_init(&ctx->log_lock, NULL)) {
        bi_free(&env, ctx);
        return bi_fail(err, BIOINFER_NOMEM, "context: lock");
    }
    if ((st = bi_named_init(&ctx->named, &ctx->env, err))) {
        pthread_mutex_destroy(&ctx->log_lock);
        bi_free(&env, ctx);
        return st;
    }
    ctx->env.named = &ctx->named;
    if (p.log) {
        ctx->log = p.log;
        ctx->log_user = p.log_user;
        ctx->env.log = log_locked;
        ctx->env.log_user = ctx;
    }
    ctx->n_threads = p.n_threads ? p.n_threads : bi_thread_count();
    if (p.cpu_mask)
        snprintf(ctx->cpu_mask, sizeof ctx->cpu_mask, "%s", p.cpu_mask);
    ctx->pid = getpid();
    if ((st = bi_team_new(&ctx->env.team, &ctx->env, err)))
        bioinfer_context_free(&ctx);
    *out = ctx;
    return st;
}

void bioinfer_context_free(bioinfer_context **context)
{
    struct bioinfer_context *ctx = context ? *context : NULL;
    struct bi_env env;
    if (!ctx)
        return;
    env = ctx->env;
    bi_team_free(&ctx->env.team);
    bi_named_free(&ctx->named);
    pthread_mutex_destroy(&ctx->log_lock);
    bi_free(&env, ctx);
    *context = NULL;
}

void bioinfer_context_note(bioinfer_context *context, const char *text)
{
    if (context && text)
        bi_named_hear(&context->named, text);
}

int bioinfer_context_threads(const bioinfer_context *context)
{
    return context ? context->n_threads : 0;
}

int bi_context_check(const struct bioinfer_context *ctx, struct bioinfer_error *err)
{
    if (ctx->pid != getpid())
        return bi_fail(err, BIOINFER_FORKED,
                       "this process was forked from the one that made the "
                       "context; make a new context, or start children by exec");
    return 0;
}

/* ---- models ---- */

/* The file lies in the folder of this build. */
static bool in_build(const struct bi_env *env, const char *file)
{
    char *real = NULL, *build = NULL;
    bool yes = !bi_path_real(&real, env, file, NULL) &&
               !bi_path_real(&build, env, BI_BUILD_ROOT, NULL) &&
               !strncmp(real, build, strlen(build)) && real[strlen(build)] == '/';
    bi_free(env, real);
    bi_free(env, build);
    return yes;
}

/* The program, or the library in it, is run from where it was built. An installed one has no
 * business in the source tree, which may be gone and somebody else's by now. */
static bool runs_from_build(const struct bi_env *env)
{
    static const char here;
    Dl_info library;
    return in_build(env, "/proc/self/exe") ||
           (dladdr(&here, &library) && library.dli_fname && in_build(env, library.dli_fname));
}

/* Gives the real path of the file that this code was loaded from, a program or a library, up to and
 * with the last '/'. NULL: the system does not say. */
static char *own_folder(const struct bi_env *env)
{
    static const char here;
    Dl_info library;
    struct link_map *map = NULL;
    char *path = NULL;
    if (!dladdr1(&here, &library, (void **)&map, RTLD_DL_LINKMAP) || !map)
        return NULL;
    /* the program itself has no name in the list of what is loaded */
    if (bi_path_real(&path, env, map->l_name[0] ? map->l_name : "/proc/self/exe", NULL))
        return NULL;
    strrchr(path, '/')[1] = '\0';
    return path;
}

/* Looks beside the folder of the program or of the library, so that a tree that was moved finds its
 * own, then where the files were to be installed, or in the source tree. */
int bi_find_shipped(char **out, const struct bi_env *env, const char *name,
                    struct bioinfer_error *err)
{
    char *own = own_folder(env);
    const struct {
        const char *folder, *below;
    } places[] = {
        {own, "../share/bioinfer/"},    /* where it lies in bin/ or lib/ */
        {own, "../../share/bioinfer/"}, /* where it lies in lib/x86_64-linux-gnu/ */
        {BI_DATADIR, "/bioinfer/"},
        {runs_from_build(env) ? BI_SOURCE_ROOT : NULL, "/share/"},
    };
    int st = 0;
    *out = NULL;
    for (size_t i = 0; !*out && i < BI_COUNT(places); i++) {
        char *path;
        size_t size;
        if (!places[i].folder)
            continue;
        size = strlen(places[i].folder) + strlen(places[i].below) + strlen(name) + 1;
        if (!(path = bi_alloc(env, size))) {
            st = bi_fail(err, BIOINFER_NOMEM, "path");
            break;
        }
        snprintf(path, size, "%s%s%s", places[i].folder, places[i].below, name);
        if (bi_path_exists(path))
            st = bi_path_real(out, env, path, err);
        bi_free(env, path);
        if (st)
            break;
    }
    bi_free(env, own);
    return st;
}

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

static const struct bi_backend_ops *const backends[] = {
    &bi_backend_cpu, &bi_backend_cuda, &bi_backend_hip, &bi_backend_reference, &bi_backend_null};

static const struct bi_backend_ops *const gpus[] = {&bi_backend_cuda, &bi_backend_hip};
enum { MAX_ORDINAL = 99 }; /* hosts have up to 64 of a kind */

const struct bi_backend_ops *bi_backend(int index)
{
    return index >= 0 && index < (int)BI_COUNT(backends) ? backends[index] : NULL;
}

int bi_backend_find(const struct bi_backend_ops **out, int *ordinal, const char *device,
                    struct bioinfer_error *err)
{
    size_t n, digits;
    if (!device || !*device || !strcmp(device, "auto"))
        device = "cpu";
    *out = NULL;
    *ordinal = 0;
    n = strcspn(device, ":");
    if (device[n]) {
        const char *number = device + n + 1;
        digits = strspn(number, "0123456789");
        if (number[digits] || digits < 1 || digits > 2 || (digits == 2 && *number == '0'))
            n = 0; /* no device is called so */
        for (size_t i = 0; n && i < digits; i++)
            *ordinal = 10 * *ordinal + (number[i] - '0');
    }
    for (int i = 0; !*out && bi_backend(i); i++)
        if (n == strlen(bi_backend(i)->name) && !memcmp(bi_backend(i)->name, device, n))
            *out = bi_backend(i);
    if (!*out)
        return bi_fail(err, BIOINFER_DEVICE,
                       "device '%.40s': expected auto, cpu, cuda:N or hip:N, N from 0 to %d",
                       device, MAX_ORDINAL);
    return 0;
}

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
        while (++p->ordinal < n_devices && p->ordinal <= MAX_ORDINAL);
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

const char *bioinfer_family_name(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? d->name : NULL;
}

const char *bioinfer_family_summary(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? d->summary : NULL;
}

int bioinfer_family_find(const char *name)
{
    const struct bi_model_def *d;
    for (int i = 0; name && (d = bi_model_def(i)); i++)
        if (!strcmp(d->name, name))
            return i;
    return -1;
}

int bioinfer_family_kind(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? (int)d->kind->kind : BIOINFER_FAMILY_SEQUENCES;
}

int bioinfer_family_letters(int index)
{
    const struct bi_model_def *d = bi_model_def(index);
    return d ? (int)d->letters : BIOINFER_LETTERS_RESIDUES;
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
    } else if (index < 0 || index > 2 * MAX_ORDINAL ||
               !probe_other(ctx, index - (int)BI_COUNT(gpus), &d)) {
        return BIOINFER_NOT_FOUND;
    }
    size = device->struct_size < sizeof d ? device->struct_size : sizeof d;
    d.struct_size = device->struct_size;
    memcpy(device, &d, size);
    return 0;
}
