/* gpu.c - the GPU backend shared by all vendors: modules, weights, programs, graph replay.
 *
 * A program is recorded once, when it is prepared, and replayed for every batch: true sizes
 * lie in device memory, so the recording holds for the whole bucket. Between upload and
 * download the host waits for nothing and allocates nothing.
 *
 * Sections: device, weights, kernels, queue, program. */
#include "gpu.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "../kernels/gpu_blobs.h"
#include "../kernels/gpu_entries.h"

/* ---- device ---- */

static const struct bi_gpu_entry entries[] = {
#define E(name, module, params, threads, shared, grid)                                   \
    {#name, #module, threads, shared, bi_gpu_grid_##grid},
    BI_GPU_ENTRIES(E)
#undef E
};

struct loaded {
    const char *name;
    bi_gpu_handle module;
};

struct bi_device {
    const struct bi_env *env;
    const struct bi_gpu_driver *driver;
    bi_gpu_handle gpu;
    struct bi_gpu_facts facts;
    pthread_mutex_t lock; /* of modules and functions */
    bool locked;          /* the mutex exists */
    struct loaded modules[BI_COUNT(entries)];
    size_t n_modules;
    bi_gpu_handle functions[BI_COUNT(entries)];
};

/* A driver's code as a status, naming what was tried. */
static int failed(const struct bi_device *d, int code, const char *what,
                  struct bioinfer_error *err)
{
    char text[120] = "";
    int status = d->driver->describe(code, text, sizeof text);
    return bi_fail(err, status, "%s: %s: %s", d->driver->name, what, text);
}

int bi_gpu_open(struct bi_device **out, const struct bi_env *env,
                const struct bi_gpu_driver *driver, const struct bi_device_params *params,
                struct bioinfer_error *err)
{
    struct bi_device *d = bi_zalloc(env, sizeof *d);
    int st;
    if (!d)
        return bi_fail(err, BIOINFER_NOMEM, "device");
    d->env = env;
    d->driver = driver;
    if ((st = driver->open(&d->gpu, env, params->ordinal, &d->facts, err)))
        goto out;
    if (pthread_mutex_init(&d->lock, NULL)) {
        st = bi_fail(err, BIOINFER_NOMEM, "device: lock");
        goto out;
    }
    d->locked = true;
    *out = d;
    d = NULL;
out:
    bi_gpu_close(&d);
    return st;
}

void bi_gpu_close(struct bi_device **device)
{
    struct bi_device *d = *device;
    if (!d)
        return;
    if (d->gpu && !d->driver->enter(d->gpu)) {
        for (size_t i = 0; i < d->n_modules; i++)
            d->driver->module_unload(d->gpu, d->modules[i].module);
        d->driver->leave(d->gpu);
    }
    if (d->gpu)
        d->driver->close(d->gpu);
    if (d->locked)
        pthread_mutex_destroy(&d->lock);
    bi_free(d->env, d);
    *device = NULL;
}

void bi_gpu_caps(const struct bi_device *d, struct bi_caps *caps)
{
    *caps = (struct bi_caps){.kernels = d->facts.arch[0], .memory_size = d->facts.memory_size,
                             .memory_free = d->facts.memory_free, .weight_panel = 1,
                             .gate_block = 16,
                             .runs = true, .half = true};
    snprintf(caps->description, sizeof caps->description, "%s", d->facts.description);
}

int bi_gpu_alloc(struct bi_device *d, struct bi_buffer *buffer, uint64_t size,
                 struct bioinfer_error *err)
{
    char what[64];
    int code = d->driver->enter(d->gpu);
    if (code)
        return failed(d, code, "context", err);
    snprintf(what, sizeof what, "%llu bytes of device memory", (unsigned long long)size);
    code = d->driver->alloc(d->gpu, &buffer->ptr, size);
    d->driver->leave(d->gpu);
    if (code)
        return failed(d, code, what, err);
    buffer->size = size;
    return 0;
}

void bi_gpu_free(struct bi_device *d, struct bi_buffer *buffer)
{
    if (buffer->ptr && !d->driver->enter(d->gpu)) {
        d->driver->free(d->gpu, buffer->ptr);
        d->driver->leave(d->gpu);
    }
    *buffer = (struct bi_buffer){0};
}

/* ---- weights: plain rows, in float32 or float16 ---- */

uint64_t bi_gpu_weight_size(const struct bi_device *d, enum bi_layout layout, int64_t n,
                            int64_t k)
{
    (void)d;
    return (uint64_t)n * (uint64_t)k * (layout == BI_LAYOUT_LINEAR_F16 ? 2 : 4);
}

int bi_gpu_weight_write(struct bi_device *d, void *dst, enum bi_layout layout, int64_t n,
                        int64_t k, int64_t first, int64_t rows, const float *src,
                        struct bioinfer_error *err)
{
    bool half = layout == BI_LAYOUT_LINEAR_F16;
    uint64_t width = half ? 2 : 4, count = (uint64_t)rows * (uint64_t)k;
    uint16_t *rounded = NULL;
    int code;
    (void)n;
    if (half) {
        if (!(rounded = bi_alloc(d->env, (size_t)count * 2)))
            return bi_fail(err, BIOINFER_NOMEM, "rows of a weight");
        for (uint64_t i = 0; i < count; i++)
            rounded[i] = bi_f32_to_f16(src[i]);
    }
    if (!(code = d->driver->enter(d->gpu))) {
        code = d->driver->write(d->gpu, (char *)dst + (uint64_t)first * (uint64_t)k * width,
                                half ? (const void *)rounded : src, count * width);
        d->driver->leave(d->gpu);
    }
    bi_free(d->env, rounded);
    return code ? failed(d, code, "upload of weights", err) : 0;
}

/* ---- kernels ---- */

static const char *dtype_suffix(enum bi_dtype dtype)
{
    return dtype == BI_F16 ? "f16" : "f32";
}

/* The widest d of an attention entry that is at least head_dim; 0 = none. */
static int attention_width(int head_dim, bool half, bool bias)
{
    static const int f16[] = {16, 32, 64, 128}, f32[] = {64, 128, 256};
    const int *widths = half ? f16 : f32;
    size_t n = half ? BI_COUNT(f16) : BI_COUNT(f32);
    for (size_t i = half && bias ? 2 : 0; i < n; i++) /* with a bias: 64, 128 */
        if (head_dim <= widths[i])
            return widths[i];
    return 0;
}

/* Few tiles leave most of the chip idle: then the 64 x 64 entry, which gives the same bits.
 * The choice is made from the bucket, so it holds for every batch of the plan. */
static bool is_small(const struct bi_device *d, const struct bi_linear_params *p)
{
    return bi_gpu_blocks(p->rows, 128) * (int64_t)bi_gpu_blocks(p->n, 128) < 2 * d->facts.n_units;
}

/* The entry of a launch, by op entry and types (gpu_entries.h). */
static void entry_name(const struct bi_device *d, const struct bi_launch *l, char *name,
                       size_t size)
{
    const char *in = dtype_suffix(l->in_dtype[0]), *out = dtype_suffix(l->out_dtype[0]);
    if (!strcmp(l->entry, "linear")) {
        const void *p = l->params;
        if (l->in_dtype[0] == BI_F16)
            snprintf(name, size, "linear_%s%s%s_%s",
                     ((const struct bi_linear_params *)p)->gated ? "gated_" : "",
                     is_small(d, p) ? "small_" : "", in, out);
        else
            snprintf(name, size, "linear_f32");
    } else if (!strcmp(l->entry, "attention")) {
        const struct bi_attention_params *p = (const void *)l->params;
        const bool half = l->in_dtype[0] == BI_F16;
        snprintf(name, size, "attention_%sd%d_%s", half && p->bias ? "bias_" : "",
                 attention_width(p->head_dim, half, p->bias), in);
    } else if (!strcmp(l->entry, "layernorm")) {
        const struct bi_layernorm_params *p = (const void *)l->params;
        snprintf(name, size, "layernorm_%s_%s", in, dtype_suffix(l->out_dtype[p->sum ? 1 : 0]));
    } else if (!strcmp(l->entry, "norm_act") || !strcmp(l->entry, "pair_diff") ||
               !strcmp(l->entry, "depthwise")) {
        snprintf(name, size, "%s_%s_%s", l->entry, in, out);
    } else if (!strcmp(l->entry, "mix")) {
        snprintf(name, size, "mix_%s", dtype_suffix(l->in_dtype[1]));
    } else {
        snprintf(name, size, "%s_%s", l->entry, in);
    }
}

/* Rows of the contact map of a launch, 0 for other ops. */
static int64_t contacts_longest(const struct bi_launch *l)
{
    const void *p = l->params;
    return !strcmp(l->entry, "contacts") ? ((const struct bi_contacts_params *)p)->ldy
           : !strcmp(l->entry, "attention_contacts")
               ? ((const struct bi_attention_contacts_params *)p)->ldy
               : 0;
}

static const struct bi_gpu_blob *find_blob(const struct bi_device *d, const char *module)
{
    for (size_t a = 0; a < BI_COUNT(d->facts.arch) && d->facts.arch[a]; a++)
        for (const struct bi_gpu_blob *b = bi_gpu_blobs; b->arch; b++)
            if (!strcmp(b->arch, d->facts.arch[a]) && !strcmp(b->module, module))
                return b;
    return NULL;
}

static int load_module(struct bi_device *d, const char *name, bi_gpu_handle *module,
                       struct bioinfer_error *err)
{
    const struct bi_gpu_blob *blob = NULL;
    unsigned char *image = NULL;
    uLongf size = 0;
    int code, st = 0;
    for (size_t i = 0; i < d->n_modules; i++)
        if (!strcmp(d->modules[i].name, name)) {
            *module = d->modules[i].module;
            return 0;
        }
    if (d->driver->needs_images) {
        if (!(blob = find_blob(d, name)))
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: this build has no kernels for %s (module %s): it was made "
                           "without clang-19", d->driver->name, d->facts.arch[0], name);
        size = (uLongf)blob->raw_size;
        if (!(image = bi_alloc(d->env, size + 1)))
            return bi_fail(err, BIOINFER_NOMEM, "module %s", name);
        if (uncompress(image, &size, blob->data, (uLong)blob->size) != Z_OK ||
            size != blob->raw_size) {
            st = bi_fail(err, BIOINFER_INTERNAL, "module %s is damaged", name);
            goto out;
        }
        image[size] = '\0';
    }
    if ((code = d->driver->module_load(d->gpu, d->env, module, name, image, size))) {
        st = failed(d, code, name, err);
        goto out;
    }
    d->modules[d->n_modules++] = (struct loaded){name, *module};
out:
    bi_free(d->env, image);
    return st;
}

static int find_function(struct bi_device *d, struct bi_launch *l, struct bioinfer_error *err)
{
    char name[64];
    size_t i = 0;
    if (contacts_longest(l) > BI_GPU_CONTACTS_LONGEST)
        return bi_fail(err, BIOINFER_TOO_LONG, "contacts on a GPU take plans of up to %d tokens a "
                       "sequence; use --device cpu", BI_GPU_CONTACTS_LONGEST);
    entry_name(d, l, name, sizeof name);
    while (i < BI_COUNT(entries) && strcmp(entries[i].name, name))
        i++;
    if (i == BI_COUNT(entries))
        return bi_fail(err, BIOINFER_UNSUPPORTED, "%s: there is no GPU kernel %s yet: use "
                       "--device cpu", d->driver->name, name);
    if (!d->functions[i]) {
        bi_gpu_handle module;
        int code, st = load_module(d, entries[i].module, &module, err);
        if (st)
            return st;
        if ((code = d->driver->function(d->gpu, module, name, entries[i].shared,
                                        &d->functions[i])))
            return failed(d, code, name, err);
    }
    l->function = &entries[i];
    return 0;
}

int bi_gpu_module(struct bi_device *d, struct bi_launch *launches, int n,
                  struct bioinfer_error *err)
{
    int st = 0, code = d->driver->enter(d->gpu);
    if (code)
        return failed(d, code, "context", err);
    pthread_mutex_lock(&d->lock);
    for (int i = 0; !st && i < n; i++)
        st = find_function(d, &launches[i], err);
    pthread_mutex_unlock(&d->lock);
    d->driver->leave(d->gpu);
    return st;
}

/* ---- queue ---- */

struct bi_queue {
    struct bi_device *device;
    bi_gpu_handle stream;
};

int bi_gpu_queue_new(struct bi_queue **out, struct bi_device *d, struct bioinfer_error *err)
{
    struct bi_queue *q = bi_zalloc(d->env, sizeof *q);
    int code;
    if (!q)
        return bi_fail(err, BIOINFER_NOMEM, "queue");
    q->device = d;
    if (!(code = d->driver->enter(d->gpu))) {
        code = d->driver->stream_new(d->gpu, &q->stream);
        d->driver->leave(d->gpu);
    }
    if (code) {
        bi_free(d->env, q);
        return failed(d, code, "stream", err);
    }
    *out = q;
    return 0;
}

void bi_gpu_queue_free(struct bi_queue **queue)
{
    struct bi_queue *q = *queue;
    if (!q)
        return;
    if (!q->device->driver->enter(q->device->gpu)) {
        q->device->driver->stream_free(q->device->gpu, q->stream);
        q->device->driver->leave(q->device->gpu);
    }
    bi_free(q->device->env, q);
    *queue = NULL;
}

int bi_gpu_upload(struct bi_queue *q, void *dst, const void *src, uint64_t size,
                  struct bioinfer_error *err)
{
    const struct bi_gpu_driver *v = q->device->driver;
    int code = v->enter(q->device->gpu);
    if (!code) {
        code = v->copy_in(q->device->gpu, q->stream, dst, src, size);
        v->leave(q->device->gpu);
    }
    return code ? failed(q->device, code, "upload", err) : 0;
}

int bi_gpu_download(struct bi_queue *q, void *dst, const void *src, uint64_t size,
                    struct bioinfer_error *err)
{
    const struct bi_gpu_driver *v = q->device->driver;
    int code = v->enter(q->device->gpu);
    if (!code) {
        code = v->copy_out(q->device->gpu, q->stream, dst, src, size);
        v->leave(q->device->gpu);
    }
    return code ? failed(q->device, code, "download", err) : 0;
}

int bi_gpu_wait(struct bi_queue *q, struct bioinfer_error *err)
{
    const struct bi_gpu_driver *v = q->device->driver;
    int code = v->enter(q->device->gpu);
    if (!code) {
        code = v->wait(q->device->gpu, q->stream);
        v->leave(q->device->gpu);
    }
    return code ? failed(q->device, code, "batch", err) : 0;
}

/* ---- program ---- */

/* Sizes of the bucket, for grids. */
static struct bi_counts bucket_of(const struct bi_program *program)
{
    return (struct bi_counts){(int32_t)program->max_rows, (int32_t)program->max_seqs,
                              (int32_t)program->max_rows, (int32_t)program->longest};
}

static int launch_all(struct bi_queue *q, const struct bi_program *program, int *at)
{
    const struct bi_device *d = q->device;
    struct bi_counts bucket = bucket_of(program);
    int code = 0;
    for (int i = 0; !code && i < program->n_launches; i++) {
        struct bi_launch *l = &program->launches[i];
        const struct bi_gpu_entry *e = l->function;
        int32_t grid[2] = {1, 1};
        e->grid(l->params, &bucket, grid);
        code = d->driver->launch(d->gpu, q->stream, d->functions[e - entries], grid, e->threads,
                                 e->shared, l->params);
        *at = i;
    }
    return code;
}

static int program_failed(struct bi_queue *q, const struct bi_program *program, int at, int code,
                          struct bioinfer_error *err)
{
    const struct bi_gpu_entry *e = program->launches[at].function;
    return failed(q->device, code, e->name, err);
}

int bi_gpu_prepare(struct bi_queue *q, struct bi_program *program, struct bioinfer_error *err)
{
    const struct bi_gpu_driver *v = q->device->driver;
    bi_gpu_handle gpu = q->device->gpu;
    int code, end, at = 0;
    bi_gpu_release(q, program);
    if (!v->capture_begin || !program->n_launches)
        return 0;
    if (!(code = v->enter(gpu))) {
        if (!(code = v->capture_begin(gpu, q->stream))) {
            code = launch_all(q, program, &at);
            end = v->capture_end(gpu, q->stream, &program->prepared);
            code = code ? code : end;
        }
        v->leave(gpu);
    }
    return code ? program_failed(q, program, at, code, err) : 0;
}

void bi_gpu_release(struct bi_queue *q, struct bi_program *program)
{
    const struct bi_gpu_driver *v = q->device->driver;
    if (program->prepared && !v->enter(q->device->gpu)) {
        v->graph_free(q->device->gpu, program->prepared);
        v->leave(q->device->gpu);
    }
    program->prepared = NULL;
}

int bi_gpu_submit(struct bi_queue *q, const struct bi_program *program,
                  const struct bi_counts *counts, struct bioinfer_error *err)
{
    const struct bi_gpu_driver *v = q->device->driver;
    int at = 0, code = v->enter(q->device->gpu);
    (void)counts;
    if (!code) {
        code = program->prepared
                   ? v->graph_launch(q->device->gpu, q->stream, program->prepared)
                   : launch_all(q, program, &at);
        v->leave(q->device->gpu);
    }
    return code ? program_failed(q, program, at, code, err) : 0;
}
