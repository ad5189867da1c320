/* nearest.c - the public call that finds neighbours between vectors of two outputs. */
#include "../tasks/nearest.h"

#include <stdio.h>
#include <string.h>

#include "../engine/engine.h"
#include "../report/kinds.h"

enum { MOST_WIDTH = 1 << 20 };

/* The vectors of records in a file: some of its arrays, or the rows of one. */
struct vectors {
    struct bi_arrays arrays;
    struct bi_array_named *all, *matrix; /* matrix: within all; NULL = an array for each record */
    const char **ids;
    size_t *at; /* [set.n]: which of all, without a matrix */
    struct bi_vectors set;
};

static const char *id_of(void *user, uint64_t i)
{
    const struct vectors *v = user;
    return v->ids[i];
}

static int read_one(void *user, uint64_t i, float *dst, struct bioinfer_error *err)
{
    const struct vectors *v = user;
    return v->matrix
               ? bi_arrays_read(&v->arrays, v->matrix->e, i * v->set.width, v->set.width, dst, err)
               : bi_arrays_read(&v->arrays, v->all[v->at[i]].e, 0, v->set.width, dst, err);
}

static int no_memory(const char *path, struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "%s: list of vectors", path);
}

/* Writes what --array calls an array: "mean", "layer_6/mean"; "" where the file does not say. */
static void label(const struct bi_array_named *m, char *text, size_t size)
{
    if (m->layer < 0)
        snprintf(text, size, "%s", m->suffix);
    else
        snprintf(text, size, "layer_%d/%s", m->layer, m->suffix);
}

/* Appends a word to a list of them, once. */
static void add_word(char *list, size_t size, const char *word)
{
    const size_t n = strlen(list), length = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++)
        if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return;
    snprintf(list + n, size - n, "%s%s", n ? ", " : "", word);
}

/* Takes the arrays of one kind that are vectors, or those that have the name. */
static int choose(struct vectors *v, const char *path, const char *name, struct bioinfer_error *err)
{
    char kinds[400] = "", others[400] = "", word[200], first[200] = "";
    bool several = false;
    for (size_t i = 0; i < v->arrays.n; i++) {
        const struct bi_array_named *m = &v->all[i];
        label(m, word, sizeof word);
        if (m->kind != BI_ARRAY_VECTOR) {
            add_word(others, sizeof others, *word ? word : m->e->name);
            continue;
        }
        add_word(kinds, sizeof kinds, *word ? word : "vectors without a kind");
        if (name && strcmp(name, word))
            continue;
        if (v->set.n && strcmp(first, word))
            several = true;
        memcpy(first, word, sizeof first);
        v->at[v->set.n++] = i;
    }
    if (several)
        return bi_fail(err, BIOINFER_INVALID,
                       "%s: it has several kinds of vectors: %s; say which one (--array NAME)",
                       path, kinds);
    if (v->set.n)
        return 0;
    if (name && *kinds)
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: no vectors '%.100s'; it has: %s", path, name,
                       kinds);
    if (*others)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: no vectors of records, such as means; its arrays are: %s", path,
                       others);
    return bi_fail(err, BIOINFER_EMPTY, "%s: no vector in it", path);
}

/* Takes the id of row i of a matrix. */
static int take_id(void *user, size_t i, const char *text)
{
    struct vectors *v = user;
    v->ids[i] = bi_arena_strndup(&v->arrays.arena, text, strlen(text));
    return v->ids[i] ? 0 : BIOINFER_NOMEM;
}

static int take_matrix(struct vectors *v, const char *path, const char *name,
                       struct bioinfer_error *err)
{
    const struct bi_array_entry *e = v->matrix->e, *set = NULL;
    int st;
    for (size_t i = 0; i < v->arrays.n; i++)
        set = v->all[i].kind == BI_ARRAY_IDS ? v->all[i].e : set;
    if (name && strcmp(name, e->name) && strcmp(name, v->matrix->suffix))
        return bi_fail(err, BIOINFER_NOT_FOUND, "%s: no vectors '%.100s'; it has: %s", path, name,
                       *e->name ? e->name : "one matrix without a name");
    v->set.n = e->shape[0];
    v->set.width = (size_t)e->shape[1];
    if (!(v->ids = bi_calloc(v->arrays.arena.env, (size_t)v->set.n, sizeof *v->ids)))
        return no_memory(path, err);
    if ((st = bi_arrays_ids(&v->arrays, set, v->set.n, take_id, v, err)))
        return st == BIOINFER_NOMEM ? no_memory(path, err) : st;
    for (uint64_t i = 0; i < v->set.n; i++)
        if (!v->ids[i] &&
            !(v->ids[i] = bi_arena_printf(&v->arrays.arena, "row_%llu", (unsigned long long)i)))
            return no_memory(path, err);
    return 0;
}

static int take_arrays(struct vectors *v, const char *path, const char *name,
                       struct bioinfer_error *err)
{
    const struct bi_env *env = v->arrays.arena.env;
    int st;
    if (!(v->at = bi_calloc(env, v->arrays.n + 1, sizeof *v->at)))
        return no_memory(path, err);
    if ((st = choose(v, path, name, err)))
        return st;
    if (!(v->ids = bi_calloc(env, (size_t)v->set.n, sizeof *v->ids)))
        return no_memory(path, err);
    v->set.width = (size_t)v->all[v->at[0]].e->n;
    for (uint64_t i = 0; i < v->set.n; i++) {
        const struct bi_array_named *m = &v->all[v->at[i]];
        if (m->e->n != v->set.width)
            return bi_fail(err, BIOINFER_FORMAT,
                           "%s: array '%.200s' has %llu values, expected %zu as of '%.200s'", path,
                           m->e->name, (unsigned long long)m->e->n, v->set.width,
                           v->all[v->at[0]].e->name);
        if (!(v->ids[i] = bi_arena_strndup(&v->arrays.arena, m->e->name, m->id_len)))
            return no_memory(path, err);
    }
    return 0;
}

static int open_vectors(struct vectors *v, const struct bi_env *env, const char *path,
                        const char *name, struct bioinfer_error *err)
{
    bool is_one;
    int st;
    v->arrays = (struct bi_arrays){.arena = {.env = env}, .file = BI_FILE_NONE};
    v->set.path = path;
    v->set.read = read_one;
    v->set.id = id_of;
    v->set.user = v;
    if ((st = bi_arrays_open(&v->arrays, path, &is_one, err)))
        return st;
    if (!is_one)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "%s: no arrays of bioinfer: npz, npy, h5, safetensors or jsonl", path);
    if (!(v->all = bi_calloc(env, v->arrays.n + 1, sizeof *v->all)))
        return no_memory(path, err);
    if ((st = bi_arrays_tell(&v->arrays, v->all, err)))
        return st;
    for (size_t i = 0; i < v->arrays.n; i++)
        v->matrix = v->all[i].kind == BI_ARRAY_MATRIX ? &v->all[i] : v->matrix;
    if ((st = v->matrix ? take_matrix(v, path, name, err) : take_arrays(v, path, name, err)))
        return st;
    return v->set.width <= MOST_WIDTH
               ? 0
               : bi_fail(err, BIOINFER_LIMIT, "%s: vectors of %zu values, at most %d", path,
                         v->set.width, MOST_WIDTH);
}

static void close_vectors(struct vectors *v)
{
    const struct bi_env *env = v->arrays.arena.env;
    if (!env)
        return;
    bi_free(env, v->all);
    bi_free(env, v->ids);
    bi_free(env, v->at);
    bi_arrays_close(&v->arrays);
}

struct asked {
    const struct bioinfer_nearest_params *params;
    const struct vectors *queries, *targets;
    struct bioinfer_neighbour *hits; /* [k] */
    int (*take)(void *user, const char *query, uint64_t ordinal,
                const struct bioinfer_neighbour *hits, uint64_t n);
    void *user;
};

static int take_hits(void *user, uint64_t i, const struct bi_neighbour *hits, uint64_t n)
{
    struct asked *a = user;
    for (uint64_t k = 0; k < n; k++)
        a->hits[k] = (struct bioinfer_neighbour){a->targets->ids[hits[k].target], hits[k].target,
                                                 hits[k].value};
    return a->take(a->user, a->queries->ids[i], i, a->hits, n);
}

static int tell_progress(void *user, double share)
{
    const struct asked *a = user;
    return a->params->progress ? a->params->progress(a->params->user, share) : 0;
}

/* Warns of vectors of two models, as far as the files say which. */
static void tell_models(const struct bi_env *env, const struct vectors *q, const struct vectors *t)
{
    enum { WEIGHTS = 32 }; /* characters of a fingerprint that tell them */
    const char *a = q->arrays.signature, *b = t->arrays.signature;
    if (a && b && *a && *b && strncmp(a, b, WEIGHTS))
        bi_log(env, BIOINFER_LOG_WARNING,
               "%s and %s have fingerprints of two models: distances between them mean nothing",
               q->set.path, t->set.path);
}

static int search(bioinfer_context *ctx, struct asked *a, struct bioinfer_error *err)
{
    const struct vectors *q = a->queries, *t = a->targets;
    const struct bi_nearest job = {.env = &ctx->env,
                                   .n_threads = ctx->n_threads,
                                   .cpu_mask = ctx->cpu_mask,
                                   .queries = q->set,
                                   .targets = t->set,
                                   .itself = q == t,
                                   .metric = a->params->metric,
                                   .k = a->params->k ? (uint64_t)a->params->k : 10,
                                   .take = take_hits,
                                   .progress = tell_progress,
                                   .user = a};
    const uint64_t most = job.k < t->set.n ? job.k : t->set.n;
    int st;
    if (q->set.width != t->set.width)
        return bi_fail(err, BIOINFER_INVALID, "%s: vectors of %zu values, but %s has %zu",
                       q->set.path, q->set.width, t->set.path, t->set.width);
    tell_models(&ctx->env, q, t);
    if (!(a->hits = bi_calloc(&ctx->env, (size_t)most, sizeof *a->hits)))
        return no_memory(t->set.path, err);
    st = bi_nearest_run(&job, err);
    bi_free(&ctx->env, a->hits);
    return st;
}

int bioinfer_file_nearest(bioinfer_context *ctx, const char *queries, const char *targets,
                          const struct bioinfer_nearest_params *params,
                          int (*take)(void *user, const char *query, uint64_t ordinal,
                                      const struct bioinfer_neighbour *hits, uint64_t n),
                          void *user, struct bioinfer_error *err)
{
    struct bioinfer_nearest_params p = {0};
    struct vectors q = {0}, t = {0};
    struct asked a = {&p, &q, targets ? &t : &q, NULL, take, user};
    int st;
    if (!ctx || !queries || !take)
        return bi_fail(err, BIOINFER_INVALID, "nearest: context, queries and take must be given");
    if ((st = bi_params_copy(&p, sizeof p, params, "nearest", err)) ||
        (st = bi_context_check(ctx, err)))
        return st;
    if (p.k < 0 || p.metric < BIOINFER_COSINE || p.metric > BIOINFER_EUCLIDEAN)
        return bi_fail(err, BIOINFER_INVALID,
                       "nearest: k %lld, metric %d, expected k above 0 and "
                       "metric 0 or 1",
                       (long long)p.k, p.metric);
    if (!(st = open_vectors(&q, &ctx->env, queries, p.array, err)) &&
        !(targets && (st = open_vectors(&t, &ctx->env, targets, p.array, err))))
        st = search(ctx, &a, err);
    close_vectors(&t);
    close_vectors(&q);
    return st;
}
