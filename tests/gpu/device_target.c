/* device_target.c - single entries on a GPU through the engine's table of driver calls. */
#include "device_target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "../ops/checkkernel.h"
#include "engine/gpu.h"
#include "kernels/gpu_blobs.h"

enum { MODULES = 256 };
static const size_t POOL_SIZE = (size_t)1 << 30;

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
    size_t used;
    long n_taken;
    char text[200];
};

struct device_target *device_open(const char *name)
{
    struct device_target *d = calloc(1, sizeof *d);
    struct bioinfer_error err = {0};
    int ordinal, code;
    if (!d || sscanf(name, "cuda:%d", &ordinal) != 1) {
        fprintf(stderr, "device %s: no such kind\n", name);
        free(d);
        return NULL;
    }
    d->env = bi_env_default();
    d->driver = &bi_gpu_driver_cuda;
    if (d->driver->open(&d->gpu, &d->env, ordinal, &d->facts, &err)) {
        fprintf(stderr, "device %s: %s\n", name, err.text);
        free(d);
        return NULL;
    }
    if ((code = d->driver->enter(d->gpu, &d->was)) ||
        (code = d->driver->stream_new(d->gpu, &d->stream)) ||
        (code = d->driver->host_alloc(d->gpu, (void **)&d->pool, POOL_SIZE)) ||
        (code = d->driver->alloc(d->gpu, &d->copy, POOL_SIZE))) {
        fprintf(stderr, "device %s: error %d\n", name, code);
        d->driver->close(d->gpu);
        free(d);
        return NULL;
    }
    printf("%s: %s\n", name, d->facts.description);
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

int device_is_hopper(const struct device_target *d)
{
    return d->facts.hopper;
}

void *device_take(struct device_target *d, size_t size)
{
    void *p = d->pool + d->used;
    d->used += (size + 64 + 255) / 256 * 256;
    d->n_taken++;
    if (d->used > POOL_SIZE) {
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

/* What a launch needs, with all of the pool copied to the device. */
struct ready {
    int n_parts; /* of the entry */
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
        bi_gpu_grid(&d->facts, e + i, params, bucket, r->grid[i]);
    translate(d, r->plain);
    if (e->head) {
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

const char *device_time(struct device_target *d, const struct bi_gpu_entry *e,
                        const void *params, const struct bi_counts *bucket, double *seconds)
{
    enum { LAUNCHES = 20, REPLAYS = 7 };
    const struct bi_gpu_driver *v = d->driver;
    bi_gpu_handle graph = NULL, events[2] = {NULL, NULL};
    double took[REPLAYS] = {0};
    struct ready r;
    const char *error = make_ready(d, &r, e, params, bucket);
    int code;
    if (error)
        return error;
    for (int i = 0; i < 2; i++)
        if ((code = v->event_new(d->gpu, &events[i], true)))
            goto out;
    if ((code = v->wait(d->gpu, d->stream)) || (code = v->capture_begin(d->gpu, d->stream)))
        goto out;
    for (int i = 0; !code && i < LAUNCHES; i++)
        code = launch(d, e, &r);
    const int end = v->capture_end(d->gpu, d->stream, &graph);
    if (code || (code = end) || (code = v->graph_launch(d->gpu, d->stream, graph)))
        goto out;
    for (int i = 0; i < REPLAYS; i++)
        if ((code = v->event_record(d->gpu, events[0], d->stream)) ||
            (code = v->graph_launch(d->gpu, d->stream, graph)) ||
            (code = v->event_record(d->gpu, events[1], d->stream)) ||
            (code = v->wait(d->gpu, d->stream)) ||
            (code = v->event_seconds(d->gpu, events[0], events[1], &took[i])))
            goto out;
    *seconds = ck_median(took, REPLAYS) / LAUNCHES;
out:
    if (graph)
        v->graph_free(d->gpu, graph);
    for (int i = 0; i < 2; i++)
        if (events[i])
            v->event_free(d->gpu, events[i]);
    return code ? failed(d, e->name, code) : NULL;
}
