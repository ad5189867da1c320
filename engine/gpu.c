/* gpu.c - the GPU backend shared by all vendors: modules, weights, programs, graph replay.
 *
 * A program is recorded once, when it is prepared, and replayed for every batch: true sizes
 * lie in device memory, so the recording holds for the whole bucket. A loop is recorded for one
 * trip and for several, and replayed as often as the batch has steps. Between upload and
 * download the host waits for nothing and allocates nothing.
 *
 * Programs run on one stream in the order of their submits. Small copies stand in the same
 * stream, where they cost less than an event does; large ones go by a stream of their own for
 * each direction, beside the program of the other slot.
 *
 * Sections: device, weights, kernels, queue, program. */
#include "gpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "../base/team.h"
#include "../kernels/cpu/cpu.h"
#include "../kernels/gpu/gpu_blobs.h"
#include "../kernels/gpu/gpu_entries_sm90.h"
#include "../kernels/gpu/sm90/linear_terms.h"

/* ---- device ---- */

_Static_assert(sizeof(struct bi_followed_sm90_params) <= BI_GPU_SM90_PARAMS &&
                   sizeof(struct bi_attention_sm90_params) <= BI_GPU_SM90_PARAMS &&
                   sizeof(struct bi_rel_attention_sm90_params) <= BI_GPU_SM90_PARAMS,
               "enlarge BI_GPU_SM90_PARAMS");

/* A code object, or an entry of PTX. */
struct loaded {
    const struct bi_gpu_blob *blob; /* NULL: of a driver that needs no images */
    const char *module, *entry;     /* entry: NULL = all of the module's */
    bi_gpu_handle handle;
    unsigned char *image; /* kept where the driver points into it */
};

/* Pinned memory on its way to the device. */
struct staging {
    struct staging *next;
    void *host; /* STAGING_SIZE bytes */
    bi_gpu_handle copied;
};

enum { STAGING_SIZE = 1 << 20 }; /* to pin a MiB takes about 0.25 ms */

struct bi_device {
    const struct bi_env *env;
    const struct bi_gpu_driver *driver;
    bi_gpu_handle gpu;
    struct bi_gpu_facts facts;
    const struct bi_cpu_kernels *host; /* they convert weights */
    int n_threads;
    atomic_int lost;      /* the driver's code of an error that nothing survives, 0 = none */
    pthread_mutex_t lock; /* guards modules, functions and staging */
    bool locked;          /* the mutex exists */
    struct loaded modules[BI_GPU_N_ENTRIES];
    size_t n_modules;
    bi_gpu_handle functions[BI_GPU_N_ENTRIES];
    bi_gpu_handle weights;             /* stream of the weights, made when one is written */
    struct staging *staging, **newest; /* free to be used, oldest copy first */
    int n_staging;
};

/* A driver's code as a status, naming what was tried. After one that nothing survives, the
 * driver is not called any more: some would wait for ever. */
static int failed(struct bi_device *d, int code, const char *what, struct bioinfer_error *err)
{
    char text[120] = "";
    int status = d->driver->describe(code, text, sizeof text);
    if (status == BIOINFER_DEVICE_LOST)
        atomic_store(&d->lost, code);
    return bi_fail(err, status, "%s: %s: %s", d->driver->name, what, text);
}

/* Makes the device current on this thread; 0 = do the calls, then leave. */
static int enter(struct bi_device *d, int *was, const char *what, struct bioinfer_error *err)
{
    int code = atomic_load(&d->lost);
    if (!code)
        code = d->driver->enter(d->gpu, was);
    return code ? failed(d, code, what, err) : 0;
}

static int leave(struct bi_device *d, int was, int code, const char *what,
                 struct bioinfer_error *err)
{
    d->driver->leave(d->gpu, was);
    return code ? failed(d, code, what, err) : 0;
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
    d->host = bi_cpu_kernels_usable(0);
    d->n_threads = params->n_threads > 0 ? params->n_threads : 1;
    d->newest = &d->staging;
    st = driver->open(&d->gpu, env, params->ordinal, &d->facts, err);
    if (params->n_devices)
        *params->n_devices = d->facts.n_devices;
    if (st)
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
    int was = 0;
    struct bi_device *d = *device;
    if (!d)
        return;
    bi_gpu_weight_flush(d, NULL);
    if (d->gpu && !enter(d, &was, "close", NULL)) {
        for (size_t i = 0; i < d->n_modules; i++)
            d->driver->module_unload(d->gpu, d->modules[i].handle);
        if (d->weights)
            d->driver->stream_free(d->gpu, d->weights);
        d->driver->leave(d->gpu, was);
    }
    if (d->gpu)
        d->driver->close(d->gpu);
    for (size_t i = 0; i < d->n_modules; i++)
        bi_free(d->env, d->modules[i].image);
    if (d->locked)
        pthread_mutex_destroy(&d->lock);
    bi_free(d->env, d);
    *device = NULL;
}

void bi_gpu_caps(const struct bi_device *d, struct bi_caps *caps)
{
    *caps = (struct bi_caps){.kernels = d->facts.arch[0],
                             .memory_size = d->facts.memory_size,
                             .memory_free = d->facts.memory_free,
                             .weight_panel = 1,
                             .gate_block = 16,
                             .runs = true,
                             .half = true,
                             .async = true,
                             .traits = BI_TARGET_GPU};
    if (d->facts.hopper)
        caps->traits |= BI_TARGET_ROTATES | BI_TARGET_FOLLOWS;
    snprintf(caps->description, sizeof caps->description, "%s", d->facts.description);
}

int bi_gpu_alloc(struct bi_device *d, struct bi_buffer *buffer, uint64_t size,
                 struct bioinfer_error *err)
{
    int was = 0;
    char what[64];
    int st;
    snprintf(what, sizeof what, "%llu bytes of device memory", (unsigned long long)size);
    if ((st = enter(d, &was, what, err)) ||
        (st = leave(d, was, d->driver->alloc(d->gpu, &buffer->ptr, size), what, err)))
        return st;
    buffer->size = size;
    return 0;
}

void bi_gpu_free(struct bi_device *d, struct bi_buffer *buffer)
{
    int was = 0;
    if (buffer->ptr && !enter(d, &was, "free", NULL)) {
        d->driver->free(d->gpu, buffer->ptr);
        d->driver->leave(d->gpu, was);
    }
    *buffer = (struct bi_buffer){0};
}

int bi_gpu_host_alloc(struct bi_device *d, void **ptr, uint64_t size, struct bioinfer_error *err)
{
    int was = 0;
    char what[64];
    int st;
    snprintf(what, sizeof what, "%llu bytes of pinned memory", (unsigned long long)size);
    if ((st = enter(d, &was, what, err)) ||
        (st = leave(d, was, d->driver->host_alloc(d->gpu, ptr, size), what, err)))
        return st;
    memset(*ptr, 0, (size_t)size);
    return 0;
}

void bi_gpu_host_free(struct bi_device *d, void *ptr)
{
    int was = 0;
    if (ptr && !enter(d, &was, "free", NULL)) {
        d->driver->host_free(d->gpu, ptr);
        d->driver->leave(d->gpu, was);
    }
}

/* ---- weights: rows ---- */

/* The layout that a device makes of the one asked for: Hopper's of products in float32 is its own.
 */
static enum bi_layout layout_on(const struct bi_device *d, enum bi_layout layout, int64_t n,
                                int64_t k)
{
    return layout == BI_LAYOUT_LINEAR && d->facts.hopper && bi_terms_fit(n, k)
               ? BI_LAYOUT_LINEAR_TERMS
               : layout;
}

uint64_t bi_gpu_weight_size(const struct bi_device *d, enum bi_layout layout, int64_t n, int64_t k)
{
    return (uint64_t)n * bi_gpu_rows_size(layout_on(d, layout, n, k), (size_t)k);
}

static void staging_free(struct bi_device *d, struct staging *s)
{
    if (s->copied)
        d->driver->event_free(d->gpu, s->copied);
    if (s->host)
        d->driver->host_free(d->gpu, s->host);
    bi_free(d->env, s);
}

static void staging_put(struct bi_device *d, struct staging *s)
{
    pthread_mutex_lock(&d->lock);
    s->next = NULL;
    *d->newest = s;
    d->newest = &s->next;
    d->n_staging++;
    pthread_mutex_unlock(&d->lock);
}

/* Staging that nobody uses: the one whose copy is oldest, or a new one while fewer than two
 * wait, so that a thread fills one while the other is copied. */
static int staging_take(struct bi_device *d, struct staging **out, struct bioinfer_error *err)
{
    struct staging *s = NULL;
    int code = 0;
    pthread_mutex_lock(&d->lock);
    if (!d->weights)
        code = d->driver->stream_new(d->gpu, &d->weights);
    if (!code && d->n_staging >= 2) {
        s = d->staging;
        d->staging = s->next;
        if (!d->staging)
            d->newest = &d->staging;
        d->n_staging--;
    }
    pthread_mutex_unlock(&d->lock);
    *out = s;
    if (code)
        return failed(d, code, "stream of the weights", err);
    if (s) {
        if ((code = d->driver->event_wait(d->gpu, s->copied)))
            staging_put(d, s); /* the copy may be on the way: flush waits for it */
        return code ? failed(d, code, "staging of weights", err) : 0;
    }
    if (!(*out = s = bi_zalloc(d->env, sizeof *s)))
        return bi_fail(err, BIOINFER_NOMEM, "rows of a weight");
    code = d->driver->host_alloc(d->gpu, &s->host, STAGING_SIZE);
    if (!code)
        code = d->driver->event_new(d->gpu, &s->copied, false);
    if (!code)
        return 0;
    staging_free(d, s);
    return failed(d, code, "staging of weights", err);
}

/* count elements, rows of width k, from src to dst in a layout. */
static int write_piece(struct bi_device *d, char *dst, const float *src, size_t count, size_t k,
                       enum bi_layout layout, struct bioinfer_error *err)
{
    const size_t unit = bi_gpu_rows_unit(layout, k);
    struct staging *s;
    int code, st = staging_take(d, &s, err);
    if (st)
        return st;
    bi_gpu_rows_write(d->host, layout, s->host, src, count, k);
    code = d->driver->copy_in(d->gpu, d->weights, dst, s->host,
                              count / unit * bi_gpu_rows_size(layout, unit));
    if (!code)
        code = d->driver->event_record(d->gpu, s->copied, d->weights);
    if (code) {
        st = failed(d, code, "upload of weights", err);
        if (!atomic_load(&d->lost)) /* without the event, reuse must find the copy done */
            d->driver->wait(d->gpu, d->weights);
    }
    staging_put(d, s);
    return st;
}

int bi_gpu_weight_write(struct bi_device *d, void *dst, enum bi_layout layout, int64_t n, int64_t k,
                        int64_t first, int64_t rows, const float *src, struct bioinfer_error *err)
{
    int was = 0;
    layout = layout_on(d, layout, n, k);
    const size_t unit = bi_gpu_rows_unit(layout, (size_t)k),
                 unit_size = bi_gpu_rows_size(layout, unit);
    size_t left = (size_t)rows * (size_t)k;
    const size_t most = STAGING_SIZE / unit_size * unit;
    char *to = (char *)dst + (size_t)first * bi_gpu_rows_size(layout, (size_t)k);
    int st;
    if (!most)
        return bi_fail(err, BIOINFER_UNSUPPORTED,
                       "a weight of %lld columns: a row is more than the %d bytes that "
                       "are staged",
                       (long long)k, STAGING_SIZE);
    st = enter(d, &was, "upload of weights", err);
    if (st)
        return st;
    while (left && !st) {
        size_t count = left < most ? left : most;
        st = write_piece(d, to, src, count, (size_t)k, layout, err);
        to += count / unit * unit_size;
        src += count;
        left -= count;
    }
    d->driver->leave(d->gpu, was);
    return st;
}

int bi_gpu_weight_flush(struct bi_device *d, struct bioinfer_error *err)
{
    int was = 0;
    int st;
    bool alive;
    if (!d->weights)
        return 0;
    if (!(st = enter(d, &was, "upload of weights", err)))
        st = leave(d, was, d->driver->wait(d->gpu, d->weights), "upload of weights", err);
    alive = !enter(d, &was, "staging of weights", NULL);
    if (alive && st) /* a wait may end early, with the error of something before it */
        d->driver->wait(d->gpu, d->weights);
    for (struct staging *s = d->staging, *next; s; s = next) {
        next = s->next;
        if (alive)
            staging_free(d, s);
        else
            bi_free(d->env, s);
    }
    if (alive)
        d->driver->leave(d->gpu, was);
    d->staging = NULL;
    d->newest = &d->staging;
    d->n_staging = 0;
    return st;
}

/* ---- kernels ---- */

const struct bi_gpu_blob *bi_gpu_find_blob(const struct bi_gpu_facts *facts,
                                           const struct bi_gpu_entry *e)
{
    for (size_t a = 0; a < BI_COUNT(facts->arch) && facts->arch[a]; a++)
        for (const struct bi_gpu_blob *b = bi_gpu_blobs; b->arch; b++)
            if (!strcmp(b->arch, facts->arch[a]) && !strcmp(b->module, e->module) &&
                (!b->entry || !strcmp(b->entry, e->name)))
                return b;
    return NULL;
}

static int load_module(struct bi_device *d, struct loaded *m, struct bioinfer_error *err)
{
    int was = 0;
    const struct bi_gpu_blob *blob = m->blob;
    unsigned char *image = NULL;
    uLongf size = 0;
    const char *name = m->entry ? m->entry : m->module;
    int st = 0;
    if (d->driver->needs_images) {
        if (!blob)
            return bi_fail(err, BIOINFER_UNSUPPORTED,
                           "%s: %s: this build has no kernels for it "
                           "(%s)%s",
                           d->driver->name, d->facts.arch[0], name,
                           bi_gpu_blobs[0].arch ? "" : ": it was made without clang-19");
        size = (uLongf)blob->raw_size;
        if (!(image = bi_alloc(d->env, size + 1)))
            return bi_fail(err, BIOINFER_NOMEM, "kernel %s", name);
        if (uncompress(image, &size, blob->data, (uLong)blob->size) != Z_OK ||
            size != blob->raw_size) {
            st = bi_fail(err, BIOINFER_INTERNAL, "kernel %s is damaged", name);
            goto out;
        }
        image[size] = '\0';
    }
    if (!(st = enter(d, &was, name, err)))
        st = leave(d, was, d->driver->module_load(d->gpu, d->env, &m->handle, name, image, size),
                   name, err);
    if (!st && d->driver->keeps_images) {
        m->image = image;
        image = NULL;
    }
out:
    bi_free(d->env, image);
    return st;
}

/* Looks among the first n. */
static struct loaded *find_module(struct bi_device *d, const struct bi_gpu_entry *e, size_t n)
{
    for (struct loaded *m = d->modules; m < d->modules + n; m++)
        if (!strcmp(m->module, e->module) && (!m->entry || !strcmp(m->entry, e->name)))
            return m;
    return NULL;
}

struct loading {
    struct bi_device *device;
    struct loaded *modules;
    pthread_mutex_t lock; /* guards what is below */
    struct bioinfer_error why;
    int worst;
};

static void load_some(void *user, int thread, int64_t first, int64_t end)
{
    struct loading *l = user;
    (void)thread;
    for (int64_t i = first; i < end; i++) {
        struct bioinfer_error mine = {0};
        int st = load_module(l->device, &l->modules[i], &mine);
        pthread_mutex_lock(&l->lock);
        if (st && !l->worst) {
            l->worst = st;
            l->why = mine;
        }
        pthread_mutex_unlock(&l->lock);
    }
}

/* Loads what the launches need and is not there, several at once. */
static int load_modules(struct bi_device *d, const struct bi_launch *launches, int n,
                        struct bioinfer_error *err)
{
    struct loading loading = {
        .device = d, .modules = d->modules + d->n_modules, .lock = PTHREAD_MUTEX_INITIALIZER};
    size_t end = d->n_modules, kept = end;
    for (int i = 0; i < n; i++) {
        const struct bi_gpu_entry *e = launches[i].function;
        for (const struct bi_gpu_entry *last = e + bi_gpu_parts(e); e < last; e++)
            if (!find_module(d, e, end)) {
                const struct bi_gpu_blob *b = d->driver->needs_images
                                                  ? bi_gpu_find_blob(&d->facts, e)
                                                  : NULL;
                d->modules[end++] = (struct loaded){
                    .blob = b, .module = e->module, .entry = b ? b->entry : NULL};
            }
    }
    bi_team_for(d->env, d->n_threads, (int64_t)(end - d->n_modules), 1, load_some, &loading);
    for (size_t i = d->n_modules; i < end; i++) /* modules that failed are not remembered */
        if (d->modules[i].handle)
            d->modules[kept++] = d->modules[i];
    d->n_modules = kept;
    return loading.worst ? bi_fail(err, loading.worst, "%s", loading.why.text) : 0;
}

const struct bi_gpu_entry *bi_gpu_entry_of(const struct bi_gpu_facts *facts,
                                           const struct bi_launch *l)
{
    struct bi_call call = bi_launch_call(l, facts->n_units);
    call.near_f32 = facts->near_f32;
    return bi_gpu_choose(l->entry, &call, facts->hopper);
}

bool bi_gpu_takes(const struct bi_device *d, const struct bi_launch *l)
{
    return bi_gpu_entry_of(&d->facts, l) != NULL;
}

static int find_entry(const struct bi_device *d, struct bi_launch *l, struct bioinfer_error *err)
{
    l->function = bi_gpu_entry_of(&d->facts, l);
    return l->function ? 0
                       : bi_fail(err, BIOINFER_UNSUPPORTED,
                                 "%s: no GPU kernel takes the types and sizes of a launch of %s: "
                                 "use --device cpu",
                                 d->driver->name, l->entry);
}

/* Finds the functions of all parts. */
static int find_function(struct bi_device *d, const struct bi_gpu_entry *e,
                         struct bioinfer_error *err)
{
    int code = 0;
    for (const struct bi_gpu_entry *end = e + bi_gpu_parts(e); e < end; e++) {
        bi_gpu_handle *f = &d->functions[e - bi_gpu_entries];
        if (!*f && (code = d->driver->function(d->gpu, find_module(d, e, d->n_modules)->handle,
                                               e->name, e->shared, f)))
            return failed(d, code, e->name, err);
    }
    return 0;
}

int bi_gpu_module(struct bi_device *d, struct bi_launch *launches, int n,
                  struct bioinfer_error *err)
{
    int was = 0;
    int st = 0;
    for (int i = 0; !st && i < n; i++)
        st = find_entry(d, &launches[i], err);
    if (st)
        return st;
    pthread_mutex_lock(&d->lock);
    if (!(st = load_modules(d, launches, n, err)) && !(st = enter(d, &was, "functions", err))) {
        for (int i = 0; !st && i < n; i++)
            st = find_function(d, launches[i].function, err);
        d->driver->leave(d->gpu, was);
    }
    pthread_mutex_unlock(&d->lock);
    return st;
}

/* ---- queue ---- */

/* Copies up to this many bytes stand in the stream of the programs. */
enum { SMALL_COPY = 256 << 10 };

struct slot {
    bi_gpu_handle uploaded, computed, done;
    const struct bi_program *timed; /* whose times wait() is to read */
};

struct bi_queue {
    struct bi_device *device;
    bi_gpu_handle compute, in, out; /* streams */
    struct slot slots[BI_SLOTS];
};

/* Recordings of launches [first, end). Those of a loop: one trip, and LOOP_TRIPS of them, since
 * starting a recording costs as much as several launches. */
struct recorded {
    int first, end;
    bi_gpu_handle once, trips;
};

enum { LOOP_TRIPS = 8 };

/* prepare() makes this of a program. */
struct prepared {
    struct recorded *recorded; /* in order */
    int n_recorded;
    bi_gpu_handle *events; /* instead: before each launch and after the last */
    int n_events;
};

static int queue_fill(struct bi_queue *q)
{
    const struct bi_gpu_driver *v = q->device->driver;
    bi_gpu_handle gpu = q->device->gpu;
    int code = v->stream_new(gpu, &q->compute);
    if (!code)
        code = v->stream_new(gpu, &q->in);
    if (!code)
        code = v->stream_new(gpu, &q->out);
    for (int i = 0; !code && i < BI_SLOTS; i++) {
        code = v->event_new(gpu, &q->slots[i].uploaded, false);
        if (!code)
            code = v->event_new(gpu, &q->slots[i].computed, false);
        if (!code)
            code = v->event_new(gpu, &q->slots[i].done, false);
    }
    return code;
}

int bi_gpu_queue_new(struct bi_queue **out, struct bi_device *d, struct bioinfer_error *err)
{
    int was = 0;
    struct bi_queue *q = bi_zalloc(d->env, sizeof *q);
    int st;
    if (!q)
        return bi_fail(err, BIOINFER_NOMEM, "queue");
    q->device = d;
    if (!(st = enter(d, &was, "stream", err)))
        st = leave(d, was, queue_fill(q), "stream", err);
    if (st)
        bi_gpu_queue_free(&q);
    *out = q;
    return st;
}

void bi_gpu_queue_free(struct bi_queue **queue)
{
    int was = 0;
    struct bi_queue *q = *queue;
    if (!q)
        return;
    if (!enter(q->device, &was, "stream", NULL)) {
        const struct bi_gpu_driver *v = q->device->driver;
        const bi_gpu_handle streams[] = {q->compute, q->in, q->out};
        for (int i = 0; i < BI_SLOTS; i++) {
            const bi_gpu_handle events[] = {q->slots[i].uploaded, q->slots[i].computed,
                                            q->slots[i].done};
            for (size_t k = 0; k < BI_COUNT(events); k++)
                if (events[k])
                    v->event_free(q->device->gpu, events[k]);
        }
        for (size_t i = 0; i < BI_COUNT(streams); i++)
            if (streams[i])
                v->stream_free(q->device->gpu, streams[i]);
        v->leave(q->device->gpu, was);
    }
    bi_free(q->device->env, q);
    *queue = NULL;
}

int bi_gpu_upload(struct bi_queue *q, int slot, void *dst, const void *src, uint64_t size,
                  struct bioinfer_error *err)
{
    int was = 0;
    const struct bi_gpu_driver *v = q->device->driver;
    bi_gpu_handle gpu = q->device->gpu, ready = q->slots[slot].uploaded;
    bool apart = size > SMALL_COPY;
    int code, st = enter(q->device, &was, "upload", err);
    if (st)
        return st;
    code = v->copy_in(gpu, apart ? q->in : q->compute, dst, src, size);
    if (!code && apart)
        code = v->event_record(gpu, ready, q->in);
    if (!code && apart)
        code = v->stream_wait(gpu, q->compute, ready);
    return leave(q->device, was, code, "upload", err);
}

int bi_gpu_download(struct bi_queue *q, int slot, void *dst, const void *src, uint64_t size,
                    struct bioinfer_error *err)
{
    int was = 0;
    const struct bi_gpu_driver *v = q->device->driver;
    struct slot *s = &q->slots[slot];
    bi_gpu_handle gpu = q->device->gpu, stream = size > SMALL_COPY ? q->out : q->compute;
    int code = 0, st = enter(q->device, &was, "download", err);
    if (st)
        return st;
    if (stream == q->out && !(code = v->event_record(gpu, s->computed, q->compute)))
        code = v->stream_wait(gpu, stream, s->computed);
    if (!code && size)
        code = v->copy_out(gpu, stream, dst, src, size);
    if (!code)
        code = v->event_record(gpu, s->done, stream);
    return leave(q->device, was, code, "download", err);
}

/* In the stream of the programs, which is what keeps the order. */
int bi_gpu_copy(struct bi_queue *q, enum bi_copy_way way, void *dst, const void *src, uint64_t size,
                struct bioinfer_error *err)
{
    int was = 0;
    const struct bi_gpu_driver *v = q->device->driver;
    bi_gpu_handle gpu = q->device->gpu;
    int code, st = enter(q->device, &was, "copy", err);
    if (st)
        return st;
    code = way == BI_COPY_WITHIN ? v->copy_within(gpu, q->compute, dst, src, size)
           : way == BI_COPY_IN   ? v->copy_in(gpu, q->compute, dst, src, size)
                                 : v->copy_out(gpu, q->compute, dst, src, size);
    return leave(q->device, was, code, "copy", err);
}

/* Adds the times between the events of a program that is done. */
static int read_times(struct bi_device *d, struct slot *s)
{
    const struct bi_program *program = s->timed;
    const struct prepared *p = program->prepared;
    double seconds = 0;
    int code = 0;
    s->timed = NULL;
    for (int i = 0; !code && i < program->n_launches; i++) {
        code = d->driver->event_seconds(d->gpu, p->events[i], p->events[i + 1], &seconds);
        program->seconds[i] += seconds;
    }
    return code;
}

int bi_gpu_wait(struct bi_queue *q, int slot, struct bioinfer_error *err)
{
    int was = 0;
    const struct bi_gpu_driver *v = q->device->driver;
    bi_gpu_handle gpu = q->device->gpu;
    int code, st = enter(q->device, &was, "batch", err);
    if (st)
        return st;
    if (slot != BI_ALL_SLOTS) {
        code = v->event_wait(gpu, q->slots[slot].done);
        if (!code && q->slots[slot].timed)
            code = read_times(q->device, &q->slots[slot]);
    } else {
        int in = v->wait(gpu, q->in), out;
        code = v->wait(gpu, q->compute);
        out = v->wait(gpu, q->out);
        code = in ? in : code ? code : out;
        for (int i = 0; i < BI_SLOTS; i++)
            q->slots[i].timed = NULL;
    }
    return leave(q->device, was, code, "batch", err);
}

/* ---- program ---- */

int bi_gpu_sm90_params(const struct bi_gpu_driver *v, bi_gpu_handle gpu,
                       const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                       void *out)
{
    struct bi_tensor_map *maps = out;
    struct bi_gpu_box boxes[BI_GPU_MOST_MAPS] = {{0}};
    int code = 0;
    memset(maps, 0, e->head);
    memcpy((char *)out + e->head, params,
           e->size - e->head < BI_PARAMS_SIZE ? e->size - e->head : BI_PARAMS_SIZE);
    e->sm90->maps(e, params, n_tokens, boxes);
    for (int i = 0; !code && i < BI_GPU_MOST_MAPS; i++)
        if (boxes[i].base)
            code = v->tensor_map(gpu, &maps[i], boxes[i].base, boxes[i].rows, boxes[i].columns,
                                 boxes[i].ld, boxes[i].box_rows, boxes[i].box_columns);
    return code;
}

/* Launches [first, end), with an event before each when there are events. */
static int launch_some(struct bi_queue *q, const struct bi_program *program, int first, int end,
                       const bi_gpu_handle *events, int *at)
{
    const struct bi_device *d = q->device;
    const struct bi_counts bucket = program->bucket;
    int code = 0;
    for (int i = first; !code && i < end; i++) {
        struct bi_launch *l = &program->launches[i];
        const struct bi_gpu_entry *e = l->function;
        int32_t grid[2];
        _Alignas(64) unsigned char own[BI_GPU_SM90_PARAMS];
        void *params = l->params;
        *at = i;
        if (events && (code = d->driver->event_record(d->gpu, events[i], q->compute)))
            break;
        if (e->sm90) {
            code = bi_gpu_sm90_params(d->driver, d->gpu, e, l->params, bucket.n_tokens, own);
            params = own;
        }
        for (const struct bi_gpu_entry *part = e; !code && part < e + bi_gpu_parts(e); part++) {
            bi_gpu_entry_grid(part, l->params, &bucket, d->facts.n_units, grid);
            code = d->driver->launch(d->gpu, q->compute, d->functions[part - bi_gpu_entries], grid,
                                     part->threads, part->shared, params);
        }
    }
    return code;
}

/* The end of the run of launches from `first` that are of one phase. */
static int phase_end(const struct bi_program *program, int first)
{
    int end = first + 1;
    while (end < program->n_launches &&
           program->launches[end].phase == program->launches[first].phase)
        end++;
    return end;
}

static bool is_loop(const struct bi_program *program, int at)
{
    return program->launches[at].phase & 1;
}

/* How often the run of launches from `first` is queued. */
static int32_t trips_of(const struct bi_program *program, int first, const struct bi_counts *counts)
{
    return is_loop(program, first) ? bi_counter_value(counts, program->launches[first].trips) : 1;
}

/* Queues every launch, those of a loop as often as its count says: its trips come one behind the
 * other and are all alike, as what differs between them lies on the device. The times of a loop are
 * those of its last trip. */
static int launch_all(struct bi_queue *q, const struct bi_program *program,
                      const struct bi_counts *counts, const bi_gpu_handle *events, int *at)
{
    int code = 0, n = program->n_launches;
    for (int first = 0, end; !code && first < n; first = end) {
        const int32_t trips = trips_of(program, first, counts);
        end = phase_end(program, first);
        for (int32_t trip = 0; !code && trip < trips; trip++)
            code = launch_some(q, program, first, end, events, at);
    }
    if (!code && events)
        code = q->device->driver->event_record(q->device->gpu, events[n], q->compute);
    return code;
}

/* The entry a failure is told of. */
static const char *launch_name(const struct bi_program *program, int at)
{
    const struct bi_gpu_entry *e = program->launches[at].function;
    return e->name;
}

static int make_events(struct bi_device *d, struct prepared *p, int n)
{
    int code = 0;
    while (!code && p->n_events < n)
        if (!(code = d->driver->event_new(d->gpu, &p->events[p->n_events], true)))
            p->n_events++;
    return code;
}

static int record(struct bi_queue *q, const struct bi_program *program, int first, int end,
                  int trips, bi_gpu_handle *graph, int *at)
{
    const struct bi_gpu_driver *v = q->device->driver;
    int launched = 0, code = v->capture_begin(q->device->gpu, q->compute);
    if (code)
        return code;
    for (int i = 0; !launched && i < trips; i++)
        launched = launch_some(q, program, first, end, NULL, at);
    code = v->capture_end(q->device->gpu, q->compute, graph);
    return launched ? launched : code;
}

/* A program without loops is one recording. */
static int record_all(struct bi_queue *q, const struct bi_program *program, struct prepared *p,
                      int *at)
{
    int code = 0;
    for (int first = 0; !code && first < program->n_launches;) {
        struct recorded *r = &p->recorded[p->n_recorded++];
        *r = (struct recorded){.first = first,
                               .end = program->loops ? phase_end(program, first)
                                                     : program->n_launches};
        code = record(q, program, r->first, r->end, 1, &r->once, at);
        if (!code && is_loop(program, first))
            code = record(q, program, r->first, r->end, LOOP_TRIPS, &r->trips, at);
        first = r->end;
    }
    return code;
}

static int replay_all(struct bi_queue *q, const struct bi_program *program,
                      const struct prepared *p, const struct bi_counts *counts)
{
    const struct bi_gpu_driver *v = q->device->driver;
    int code = 0;
    for (int i = 0; !code && i < p->n_recorded; i++) {
        const struct recorded *r = &p->recorded[i];
        int32_t left = trips_of(program, r->first, counts);
        for (; !code && left >= LOOP_TRIPS; left -= LOOP_TRIPS)
            code = v->graph_launch(q->device->gpu, q->compute, r->trips);
        for (; !code && left > 0; left--)
            code = v->graph_launch(q->device->gpu, q->compute, r->once);
    }
    return code;
}

int bi_gpu_prepare(struct bi_queue *q, struct bi_program *program, struct bioinfer_error *err)
{
    int was = 0;
    struct bi_device *d = q->device;
    const struct bi_gpu_driver *v = d->driver;
    struct prepared *p;
    int code = 0, at = 0, st;
    bi_gpu_release(q, program);
    if ((!v->capture_begin && !program->seconds) || !program->n_launches)
        return 0;
    if (!(program->prepared = p = bi_zalloc(d->env, sizeof *p)))
        return bi_fail(err, BIOINFER_NOMEM, "program");
    if (program->seconds &&
        !(p->events = bi_calloc(d->env, (size_t)program->n_launches + 1, sizeof *p->events)))
        return bi_fail(err, BIOINFER_NOMEM, "program");
    if (!program->seconds &&
        !(p->recorded = bi_calloc(d->env, (size_t)program->n_launches, sizeof *p->recorded)))
        return bi_fail(err, BIOINFER_NOMEM, "program");
    if ((st = enter(d, &was, "program", err)))
        return st;
    code = p->events ? make_events(d, p, program->n_launches + 1) : record_all(q, program, p, &at);
    return leave(d, was, code, launch_name(program, at), err);
}

void bi_gpu_release(struct bi_queue *q, struct bi_program *program)
{
    int was = 0;
    struct prepared *p = program->prepared;
    if (!p)
        return;
    if (!enter(q->device, &was, "program", NULL)) {
        const struct bi_gpu_driver *v = q->device->driver;
        for (int i = 0; i < p->n_events; i++)
            v->event_free(q->device->gpu, p->events[i]);
        for (int i = 0; i < p->n_recorded; i++) {
            if (p->recorded[i].once)
                v->graph_free(q->device->gpu, p->recorded[i].once);
            if (p->recorded[i].trips)
                v->graph_free(q->device->gpu, p->recorded[i].trips);
        }
        v->leave(q->device->gpu, was);
    }
    bi_free(q->device->env, p->recorded);
    bi_free(q->device->env, p->events);
    bi_free(q->device->env, p);
    program->prepared = NULL;
}

int bi_gpu_submit(struct bi_queue *q, int slot, const struct bi_program *program,
                  const struct bi_counts *counts, struct bioinfer_error *err)
{
    int was = 0;
    const struct prepared *p = program->prepared;
    int at = 0, code, st;
    if (!program->n_launches)
        return 0;
    if ((st = enter(q->device, &was, "submit", err)))
        return st;
    code = p && p->recorded ? replay_all(q, program, p, counts)
                            : launch_all(q, program, counts, p ? p->events : NULL, &at);
    q->slots[slot].timed = !code && p && p->events ? program : NULL;
    return leave(q->device, was, code, launch_name(program, at), err);
}
