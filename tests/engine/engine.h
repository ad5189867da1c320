/* engine.h - what the tests over the public functions share: sequences, opened models and
 * results kept as bytes. */
#ifndef BI_TEST_ENGINE_H
#define BI_TEST_ENGINE_H

#include <dirent.h>
#include <unistd.h>

#include "../../include/bioinfer.h"
#include "../test.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum {
    EVERYTHING = BIOINFER_MEAN | BIOINFER_PER_RESIDUE | BIOINFER_BOS | BIOINFER_LOGITS |
                 BIOINFER_CONTACTS
};

static inline uint64_t next_random(uint64_t *state) /* splitmix64 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline int below(uint64_t *state, int n)
{
    return (int)(next_random(state) % (uint64_t)n);
}

static inline void random_sequence(uint64_t *state, char *text, int n)
{
    for (int i = 0; i < n; i++)
        text[i] = "ACDEFGHIKLMNPQRSTVWYX"[below(state, 21)];
    text[n] = '\0';
}

static inline struct bioinfer_record record_of(const char *id, const char *sequence,
                                               uint64_t ordinal)
{
    return (struct bioinfer_record){.id = id,
                                    .description = "",
                                    .sequence = sequence,
                                    .length = strlen(sequence),
                                    .ordinal = ordinal,
                                    .message = ""};
}

/* One result: shapes and values one behind the other. */
struct kept {
    int status, n_arrays, n_calls;
    uint64_t ordinal;
    long long length;
    char id[40], message[252];
    size_t size;
    char *bytes;
};

struct sink {
    struct kept *kept;
    size_t n, cap;
    int stop_at, stop_with; /* after that many results, when stop_with is set */
};

static inline void kept_append(struct kept *k, const void *bytes, size_t n)
{
    k->bytes = realloc(k->bytes, k->size + n + 1);
    memcpy(k->bytes + k->size, bytes, n);
    k->size += n;
}

static inline int keep_result(void *user, const struct bioinfer_result *r,
                              struct bioinfer_error *err)
{
    struct sink *s = user;
    struct kept *k;
    (void)err;
    if (s->n == s->cap) {
        s->cap = s->cap ? 2 * s->cap : 16;
        s->kept = realloc(s->kept, s->cap * sizeof *s->kept);
    }
    k = &s->kept[s->n++];
    *k = (struct kept){.status = r->status,
                       .n_arrays = r->n_arrays,
                       .ordinal = r->ordinal,
                       .length = (long long)r->length};
    snprintf(k->id, sizeof k->id, "%s", r->id);
    snprintf(k->message, sizeof k->message, "%s", r->message);
    for (int i = 0; i < r->n_arrays; i++) {
        const struct bioinfer_array *a = &r->arrays[i];
        size_t n = 1;
        for (int d = 0; d < a->n_dims; d++)
            n *= (size_t)a->shape[d];
        kept_append(k, a->shape, sizeof a->shape[0] * (size_t)a->n_dims);
        kept_append(k, a->data, n * sizeof *a->data);
    }
    return s->stop_with && s->n >= (size_t)s->stop_at ? s->stop_with : 0;
}

static inline void sink_free(struct sink *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->kept[i].bytes);
    free(s->kept);
    *s = (struct sink){0};
}

static inline int same_result(const struct kept *a, const struct kept *b)
{
    return a->status == b->status && a->n_arrays == b->n_arrays && a->size == b->size &&
           (!a->size || !memcmp(a->bytes, b->bytes, a->size));
}

struct open {
    bioinfer_context *ctx;
    bioinfer_model *model;
    bioinfer_task *task;
};

static inline void close_all(struct open *o)
{
    bioinfer_task_close(&o->task);
    bioinfer_model_close(&o->model);
    bioinfer_context_free(&o->ctx);
}

/* Any of the three may be NULL; a failure is counted and printed. */
static inline int open_all(struct open *o, const char *path,
                           const struct bioinfer_context_params *context,
                           const struct bioinfer_model_params *model,
                           const struct bioinfer_embed_params *task)
{
    struct bioinfer_error err = {0};
    int st;
    *o = (struct open){0};
    if ((st = bioinfer_context_new(&o->ctx, context, &err)) ||
        (st = bioinfer_model_open(&o->model, o->ctx, path, model, &err)) ||
        (st = bioinfer_embed_open(&o->task, o->model, task, &err))) {
        CHECK_EQ(st, 0);
        fprintf(stderr, "    %s: %s\n", path, err.text);
        close_all(o);
    }
    return st;
}

static inline int run_all(bioinfer_task *s, const struct bioinfer_record *records, size_t n,
                          struct sink *sink)
{
    struct bioinfer_error err = {0};
    int st = bioinfer_task_compute(s, records, n, keep_result, sink, &err);
    if (st)
        fprintf(stderr, "    run: %s: %s\n", bioinfer_status_name(st), err.text);
    return st;
}

/* A bioinfer_write. */
static inline int write_nothing(void *user, const char *text, size_t len)
{
    (void)user;
    (void)text;
    return len == 0;
}

/* Removes what a writer made: a file, or a folder of files. */
static inline int remove_output(const char *path)
{
    char inside[700];
    DIR *d = opendir(path);
    if (!d)
        return unlink(path);
    for (struct dirent *e; (e = readdir(d));) {
        snprintf(inside, sizeof inside, "%.400s/%s", path, e->d_name);
        unlink(inside); /* "." and ".." stay */
    }
    closedir(d);
    return rmdir(path);
}

#endif
