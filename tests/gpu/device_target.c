/* device_target.c - single entries on a GPU through the engine's table of driver calls. */
#include "device_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "engine/gpu.h"
#include "kernels/gpu/gpu_blobs.h"

enum { MODULES = 256 };

struct device_target {
    int was; /* current before */
    struct bi_env env;
    const struct bi_gpu_driver *driver;
    bi_gpu_handle gpu, stream;
    struct bi_gpu_facts facts;
    struct {
        const struct bi_gpu_blob *blob;
        bi_gpu_handle module;
    } modules[MODULES];
    int n_modules;
    unsigned char *pool; /* pinned; taken from its beginning, empty again when all is given back */
    void *copy;          /* on the device */
    size_t pool_size, used;
    long n_taken;
    char text[200];
};

struct device_target *device_open(const char *name, size_t pool_size)
{
    struct device_target *d = calloc(1, sizeof *d);
    struct bioinfer_error err = {0};
    int ordinal, code;
    if (!d || sscanf(name, "cuda:%d", &ordinal) != 1) {
        fprintf(stderr, "device %s: no such kind\n", name);
        free(d);
        return NULL;
    }
    d->pool_size = pool_size;
    d->env = bi_env_default();
    d->driver = &bi_gpu_driver_cuda;
    if (d->driver->open(&d->gpu, &d->env, ordinal, &d->facts, &err)) {
        fprintf(stderr, "device %s: %s\n", name, err.text);
        free(d);
        return NULL;
    }
    if ((code = d->driver->enter(d->gpu, &d->was)) ||
        (code = d->driver->stream_new(d->gpu, &d->stream)) ||
        (code = d->driver->host_alloc(d->gpu, (void **)&d->pool, pool_size)) ||
        (code = d->driver->alloc(d->gpu, &d->copy, pool_size))) {
        fprintf(stderr, "device %s: error %d\n", name, code);
        d->driver->close(d->gpu);
        free(d);
        return NULL;
    }
    return d;
}

void device_close(struct device_target *d)
{
    if (!d)
        return;
    for (int i = 0; i < d->n_modules; i++)
        d->driver->module_unload(d->gpu, d->modules[i].module);
    d->driver->free(d->gpu, d->copy);
    d->driver->host_free(d->gpu, d->pool);
    d->driver->stream_free(d->gpu, d->stream);
    d->driver->leave(d->gpu, d->was);
    d->driver->close(d->gpu);
    free(d);
}

const struct bi_gpu_facts *device_facts(const struct device_target *d)
{
    return &d->facts;
}

void *device_alloc(struct device_target *d, uint64_t size)
{
    void *ptr = NULL;
    const int code = d->driver->alloc(d->gpu, &ptr, size);
    if (code)
        fprintf(stderr, "device: %llu bytes: error %d\n", (unsigned long long)size, code);
    return ptr;
}

void device_free(struct device_target *d, void *ptr)
{
    if (ptr)
        d->driver->free(d->gpu, ptr);
}

void *device_take(struct device_target *d, size_t size)
{
    void *p = d->pool + d->used;
    d->used += (size + 64 + 255) / 256 * 256;
    d->n_taken++;
    if (d->used > d->pool_size) {
        fprintf(stderr, "device: no pinned memory for %zu bytes\n", size);
        exit(1);
    }
    return p;
}

void device_give(struct device_target *d, void *p)
{
    if (p && !--d->n_taken)
        d->used = 0;
}

static const char *failed(struct device_target *d, const char *what, int code)
{
    char words[120] = "";
    d->driver->describe(code, words, sizeof words);
    snprintf(d->text, sizeof d->text, "%s: %s", what, words);
    return d->text;
}

static const char *module_of(struct device_target *d, const struct bi_gpu_entry *e,
                             bi_gpu_handle *module)
{
    const struct bi_gpu_blob *blob = bi_gpu_find_blob(&d->facts, e);
    unsigned char *image;
    uLongf size;
    int code;
    if (!blob || d->n_modules == MODULES)
        return "no such module in this build";
    for (int i = 0; i < d->n_modules; i++)
        if (d->modules[i].blob == blob) {
            *module = d->modules[i].module;
            return NULL;
        }
    size = (uLongf)blob->raw_size;
    if (!(image = malloc(size + 1)) ||
        uncompress(image, &size, blob->data, (uLong)blob->size) != Z_OK)
        return "module: no memory, or damaged";
    image[size] = 0;
    code = d->driver->module_load(d->gpu, &d->env, module, e->name, image, size);
    free(image);
    if (code)
        return failed(d, e->name, code);
    d->modules[d->n_modules].blob = blob;
    d->modules[d->n_modules++].module = *module;
    return NULL;
}

/* Every pointer of params into the pool becomes one into the copy. */
static void translate(const struct device_target *d, unsigned char *params)
{
    const uintptr_t from = (uintptr_t)d->pool, to = (uintptr_t)d->copy;
    for (size_t i = 0; i < BI_PARAMS_SIZE; i += sizeof(uintptr_t)) {
        uintptr_t p;
        memcpy(&p, params + i, sizeof p);
        if (p >= from && p < from + d->used)
            p = p - from + to;
        memcpy(params + i, &p, sizeof p);
    }
}

/* A launch needs these, with all of the pool copied to the device. */
struct ready {
    int n_parts; /* parts of the entry */
    bi_gpu_handle function[3];
    int32_t grid[3][2];
    void *params;
    _Alignas(64) unsigned char own[BI_GPU_SM90_PARAMS];
    _Alignas(16) unsigned char plain[BI_PARAMS_SIZE];
};

static const char *make_ready(struct device_target *d, struct ready *r,
                              const struct bi_gpu_entry *e, const void *params,
                              const struct bi_counts *bucket)
{
    int code;
    r->params = memcpy(r->plain, params, sizeof r->plain);
    r->n_parts = bi_gpu_parts(e);
    for (int i = 0; i < r->n_parts; i++)
        bi_gpu_entry_grid(e + i, params, bucket, d->facts.n_units, r->grid[i]);
    translate(d, r->plain);
    if (e->sm90) {
        if ((code = bi_gpu_sm90_params(d->driver, d->gpu, e, r->plain, bucket->n_tokens, r->own)))
            return failed(d, "tensor map", code);
        r->params = r->own;
    }
    for (int i = 0; i < r->n_parts; i++) {
        bi_gpu_handle module;
        const char *error = module_of(d, &e[i], &module);
        if (error)
            return error;
        if ((code = d->driver->function(d->gpu, module, e[i].name, e[i].shared, &r->function[i])))
            return failed(d, e[i].name, code);
    }
    code = d->driver->copy_in(d->gpu, d->stream, d->copy, d->pool, d->used);
    return code ? failed(d, e->name, code) : NULL;
}

static int launch(struct device_target *d, const struct bi_gpu_entry *e, struct ready *r)
{
    int code = 0;
    for (int i = 0; !code && i < r->n_parts; i++)
        code = d->driver->launch(d->gpu, d->stream, r->function[i], r->grid[i], e[i].threads,
                                 e[i].shared, r->params);
    return code;
}

const char *device_run(struct device_target *d, const struct bi_gpu_entry *e, const void *params,
                       const struct bi_counts *bucket)
{
    struct ready r;
    const char *error = make_ready(d, &r, e, params, bucket);
    int code;
    if (error)
        return error;
    if ((code = launch(d, e, &r)) ||
        (code = d->driver->copy_out(d->gpu, d->stream, d->pool, d->copy, d->used)) ||
        (code = d->driver->wait(d->gpu, d->stream)))
        return failed(d, e->name, code);
    return NULL;
}

struct device_graph {
    const struct bi_gpu_entry *entry;
    bi_gpu_handle recorded, events[2];
};

void device_forget(struct device_target *d, struct device_graph *g)
{
    if (!g)
        return;
    if (g->recorded)
        d->driver->graph_free(d->gpu, g->recorded);
    for (int i = 0; i < 2; i++)
        if (g->events[i])
            d->driver->event_free(d->gpu, g->events[i]);
    free(g);
}

const char *device_record(struct device_target *d, const struct bi_gpu_entry *e, const void *params,
                          const struct bi_counts *bucket, int launches, struct device_graph **graph)
{
    const struct bi_gpu_driver *v = d->driver;
    struct device_graph *g = calloc(1, sizeof *g);
    struct ready r;
    const char *error = g ? make_ready(d, &r, e, params, bucket) : "no memory";
    int code = 0, end;
    *graph = NULL;
    if (error)
        goto out;
    g->entry = e;
    for (int i = 0; !code && i < 2; i++)
        code = v->event_new(d->gpu, &g->events[i], true);
    if (code || (code = v->wait(d->gpu, d->stream)) || (code = v->capture_begin(d->gpu, d->stream)))
        goto out;
    for (int i = 0; !code && i < launches; i++)
        code = launch(d, e, &r);
    end = v->capture_end(d->gpu, d->stream, &g->recorded);
    if (code || (code = end) || (code = v->graph_launch(d->gpu, d->stream, g->recorded)) ||
        (code = v->wait(d->gpu, d->stream)))
        goto out;
    *graph = g;
    g = NULL;
out:
    device_forget(d, g);
    return code ? failed(d, e->name, code) : error;
}

const char *device_replay(struct device_target *d, struct device_graph *g, double *seconds)
{
    const struct bi_gpu_driver *v = d->driver;
    int code;
    if ((code = v->event_record(d->gpu, g->events[0], d->stream)) ||
        (code = v->graph_launch(d->gpu, d->stream, g->recorded)) ||
        (code = v->event_record(d->gpu, g->events[1], d->stream)) ||
        (code = v->wait(d->gpu, d->stream)) ||
        (code = v->event_seconds(d->gpu, g->events[0], g->events[1], seconds)))
        return failed(d, g->entry->name, code);
    return NULL;
}
