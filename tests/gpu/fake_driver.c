/* fake_driver.c - a driver library for tests: libamdhip64 or, with FAKE_CUDA, libcuda, whose
 * kernels run on the host emulation.
 *
 * Streams are lazy: what is put on one runs when somebody waits for it, in order, and with
 * what events ask for before it. So a copy whose source changed too early, or an order that
 * only luck gave, shows. The n-th call fails when told to. One lock around everything.
 *
 * As AMD's runtime does, the one here looks into the image of a module after it was loaded, and
 * ends the process when the device faults: at call $FAKE_DRIVER_ABORT_AT, once, which the file
 * $FAKE_DRIVER_ABORTED then says. $FAKE_DRIVER_ARCH names another AMD chip than gfx90a (gfx908,
 * gfx942, gfx1100) for tools/same.py. */
#include "fake_driver.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../kernels/emu/emu.h"
#include "../../kernels/gpu/gpu_entries.h"

#define API __attribute__((visibility("default"))) int
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

__attribute__((visibility("default"))) struct fake fake_driver = {.n_devices = 1,
                                                                  .arch = "gfx90a:sramecc+:xnack-"};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int lost; /* sticky code */

/* The emulated chip: of HIP that of $FAKE_DRIVER_ARCH, gfx90a when unset. */
static const struct bi_emu_target *target(void)
{
#ifdef FAKE_CUDA
    return &bi_emu_nvidia;
#else
    const char *arch = getenv("FAKE_DRIVER_ARCH");
    return !arch                        ? &bi_emu_cdna2
           : !strncmp(arch, "gfx11", 5) ? &bi_emu_rdna
           : !strcmp(arch, "gfx908")    ? &bi_emu_cdna
                                        : &bi_emu_cdna2;
#endif
}

enum {
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    LAUNCH_FAILED = 719,
    MOST_PARAMS = 512
};

static const struct {
    const char *name;
    size_t params;
} entries[] = {
#define E(name, module, params, ...) {#name, sizeof(struct bi_##params##_params)},
    BI_GPU_ENTRIES(E)
#undef E
};

enum what { COPY, LAUNCH, RECORD, AWAIT, GRAPH };

struct event {
    struct stream *stream; /* stream of the last record */
    long made, done;       /* records put on streams, records passed */
};

struct op {
    enum what what;
    void *dst;
    const void *src;
    size_t size;
    const struct bi_emu_kernel *kernel;
    int32_t grid[2], block, shared;
    unsigned char params[MOST_PARAMS];
    struct event *event;
    long number;
    struct graph *graph;
};

struct graph {
    struct op *ops;
    size_t n, cap;
};

struct stream {
    struct graph queue;
    size_t next;
    struct graph *captured; /* being recorded */
    int error;              /* an op's, told at the next wait */
};

#ifndef FAKE_CUDA
/* Ends the process at the call that the environment names, if none has been ended so before. */
static void fault(void)
{
    const char *at = getenv("FAKE_DRIVER_ABORT_AT"), *path = getenv("FAKE_DRIVER_ABORTED");
    int fd;
    if (!at || !path || atol(at) != fake_driver.counts.calls ||
        (fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0)
        return;
    close(fd);
    fprintf(stderr, "fake driver: memory access fault by GPU node-1\n");
    abort();
}
#endif

/* Counts a call and says what it returns; 0 = do it. Holds the lock on return. */
static int begin(void)
{
    pthread_mutex_lock(&lock);
    if (lost)
        return lost;
    ++fake_driver.counts.calls;
    if (fake_driver.note)
        fake_driver.note(fake_driver.counts.calls);
#ifndef FAKE_CUDA
    fault();
#endif
    if (fake_driver.counts.calls != fake_driver.fail_at)
        return 0;
    fake_driver.failed = 1;
    if (fake_driver.sticky)
        lost = fake_driver.fail_with;
    return fake_driver.fail_with;
}

static int end(int code)
{
    pthread_mutex_unlock(&lock);
    return code;
}

static void append(struct stream *s, const struct op *op)
{
    struct graph *g = s->captured ? s->captured : &s->queue;
    if (g->n == g->cap) {
        g->cap = g->cap ? 2 * g->cap : 16;
        g->ops = realloc(g->ops, g->cap * sizeof *g->ops);
    }
    g->ops[g->n++] = *op;
}

static int run_op(const struct op *op);

static int run_until(struct stream *s, size_t n)
{
    while (s->next < n) {
        int code = run_op(&s->queue.ops[s->next++]);
        s->error = s->error ? s->error : code;
    }
    return s->error;
}

static int pass(struct event *e, long number)
{
    int code = 0;
    while (e->done < number && e->stream && e->stream->next < e->stream->queue.n)
        code = run_until(e->stream, e->stream->next + 1);
    return code;
}

static int run_op(const struct op *op)
{
    struct bi_emu_launch l = {.run = op->kernel ? op->kernel->run : NULL,
                              .params = op->params,
                              .wave = target()->wave,
                              .flushes = target()->flushes,
                              .grid = {op->grid[0], op->grid[1]},
                              .block = op->block,
                              .seed = 1};
    int code = 0;
    switch (op->what) {
    case COPY:
        memcpy(op->dst, op->src, op->size);
        return 0;
    case LAUNCH:
        l.shared_size = op->shared;
#ifndef FAKE_CUDA
        l.shared_size = 65536; /* kernels declare what they use */
#endif
        return bi_emu_run(&l) ? (lost = LAUNCH_FAILED) : 0;
    case RECORD:
        op->event->done = op->number;
        return 0;
    case AWAIT:
        return pass(op->event, op->number);
    case GRAPH:
        for (size_t i = 0; !code && i < op->graph->n; i++)
            code = run_op(&op->graph->ops[i]);
        return code;
    }
    return 0;
}

/* ---- what both libraries do ---- */

static int make(void **out, size_t size, int zero)
{
    int code = begin();
    if (!code && !(*out = aligned_alloc(64, (size + 63) / 64 * 64)))
        code = OUT_OF_MEMORY;
    if (!code) {
        memset(*out, zero ? 0 : 0xff, size);
        fake_driver.counts.live++;
    }
    return end(code);
}

static int allocate(void **out, size_t size)
{
    int code = make(out, size, 0);
    fake_driver.counts.allocations += !code;
    return code;
}

/* Freeing never fails: what it would tell, nobody could use. */
static int drop(void *object)
{
    pthread_mutex_lock(&lock);
    fake_driver.counts.live -= object != NULL;
    free(object);
    return end(0);
}

static int drop_stream(struct stream *s)
{
    free(s->queue.ops);
    return drop(s);
}

static int drop_graph(struct graph *g)
{
    free(g->ops);
    return drop(g);
}

static int put(void *stream, const struct op *op)
{
    int code = begin();
    if (!code)
        append(stream, op);
    return end(code);
}

/* As HIP numbers them. */
enum way { IN = 1, OUT, WITHIN };

static int copy(void *dst, const void *src, size_t size, int way, void *stream)
{
    struct fake_counts *c = &fake_driver.counts;
    int code = put(stream, &(struct op){.what = COPY, .dst = dst, .src = src, .size = size});
    if (code)
        return code;
    ++*(way == IN ? &c->copies_in : way == OUT ? &c->copies_out : &c->copies_within);
    if (way != WITHIN)
        *(way == IN ? &c->bytes_in : &c->bytes_out) += (long)size;
    return 0;
}

static int function(void **out, void *module, const char *name)
{
    int code = begin();
    (void)module;
    *out = NULL;
    for (const struct bi_emu_kernel *k = target()->kernels; !code && k->name; k++)
        if (!strcmp(k->name, name))
            *out = (void *)(uintptr_t)k;
    return end(code ? code : *out ? 0 : NOT_FOUND);
}

static int launch(void *f, unsigned x, unsigned y, unsigned block, unsigned shared, void *stream,
                  void **params)
{
    const struct bi_emu_kernel *k = f;
    struct op op = {.what = LAUNCH,
                    .kernel = k,
                    .grid = {(int32_t)x, (int32_t)y},
                    .block = (int32_t)block,
                    .shared = (int32_t)shared};
    int code;
    for (size_t i = 0; i < COUNT(entries); i++)
        if (!strcmp(entries[i].name, k->name))
            memcpy(op.params, params[0], entries[i].params);
    code = put(stream, &op);
    fake_driver.counts.launches += !code;
    return code;
}

static int synchronize(void *stream)
{
    struct stream *s = stream;
    int code = begin();
    fake_driver.counts.waits++;
    if (!code) {
        code = run_until(s, s->queue.n);
        s->queue.n = s->next = 0;
        s->error = 0;
    }
    return end(code);
}

static int event_wait(struct event *e)
{
    int code = begin();
    fake_driver.counts.waits++;
    return end(code ? code : pass(e, e->made));
}

static int event_record(struct event *e, void *stream)
{
    int code = begin();
    if (!code) {
        e->stream = stream;
        append(stream, &(struct op){.what = RECORD, .event = e, .number = ++e->made});
    }
    return end(code);
}

static int stream_wait(void *stream, struct event *e)
{
    return put(stream, &(struct op){.what = AWAIT, .event = e, .number = e->made});
}

static int elapsed(float *ms)
{
    int code = begin();
    *ms = 1;
    return end(code);
}

static int capture_begin(struct stream *s)
{
    void *graph = NULL;
    int code = make(&graph, sizeof(struct graph), 1);
    s->captured = graph;
    return code;
}

static int capture_end(struct stream *s, void **graph)
{
    int code = begin();
    *graph = s->captured;
    s->captured = NULL;
    return end(code);
}

/* The executable graph is a copy. */
static int instantiate(void **exec, const struct graph *recorded)
{
    struct graph *g;
    int code = make(exec, sizeof(struct graph), 1);
    if (code)
        return code;
    g = *exec;
    g->n = g->cap = recorded->n;
    g->ops = malloc((recorded->n + 1) * sizeof *g->ops);
    if (recorded->n)
        memcpy(g->ops, recorded->ops, recorded->n * sizeof *g->ops);
    return 0;
}

static int graph_launch(struct graph *g, void *stream)
{
    int code = put(stream, &(struct op){.what = GRAPH, .graph = g});
    fake_driver.counts.graphs += !code;
    return code;
}

static int name_of(char *name, int size)
{
    int code = begin();
    if (size > 0) {
        name[0] = '\0';
        strncat(name, "fake GPU", (size_t)size - 1);
    }
    return end(code);
}

static int number(int *out, int value)
{
    int code = begin();
    *out = value;
    return end(code);
}

static int memory(size_t *available, size_t *total)
{
    int code = begin();
    *available = (size_t)1 << 30;
    *total = (size_t)2 << 30;
    return end(code);
}

static int plain(void)
{
    return end(begin());
}

/* The call that makes the device current: when it fails, what was to be freed stays. */
static int enter(void)
{
    int code = begin();
    if (fake_driver.failed && fake_driver.counts.calls == fake_driver.fail_at)
        fake_driver.failed = 2;
    return end(code);
}

/* A test starts anew. */
__attribute__((visibility("default"))) void fake_driver_reset(void);
void fake_driver_reset(void)
{
    pthread_mutex_lock(&lock);
    lost = 0;
    fake_driver = (struct fake){.n_devices = 1, .arch = "gfx90a:sramecc+:xnack-"};
    pthread_mutex_unlock(&lock);
}

/* ---- the two libraries ---- */

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#ifdef FAKE_CUDA
typedef unsigned long long ptr;

/* clang-format off */
API cuInit(unsigned f) { (void)f; return plain(); }
API cuDeviceGetCount(int *n) { return number(n, fake_driver.n_devices); }
API cuDeviceGet(int *d, int i) { return number(d, i); }
API cuDeviceGetName(char *s, int n, int d) { (void)d; return name_of(s, n); }
API cuDeviceGetAttribute(int *v, int a, int d)
{
    (void)d;
    return number(v, a == 75 ? 8 : a == 76 ? 0 : 2);
}
API cuDevicePrimaryCtxRetain(void **c, int d) { (void)d; return make(c, 64, 1); }
API cuDevicePrimaryCtxRelease_v2(int d)
{
    (void)d;
    fake_driver.counts.live--;
    return 0;
}
API cuCtxPushCurrent_v2(void *c)
{
    int code = enter();
    (void)c;
    fake_driver.counts.depth += !code;
    return code;
}
API cuCtxPopCurrent_v2(void **c) { *c = NULL; fake_driver.counts.depth--; return 0; }
API cuMemGetInfo_v2(size_t *a, size_t *t) { return memory(a, t); }
API cuMemAlloc_v2(ptr *p, size_t n)
{
    void *q = NULL;
    int code = allocate(&q, n);
    *p = (ptr)(uintptr_t)q;
    return code;
}
API cuMemFree_v2(ptr p) { return drop((void *)(uintptr_t)p); }
API cuMemHostAlloc(void **p, size_t n, unsigned f) { (void)f; return allocate(p, n); }
API cuMemFreeHost(void *p) { return drop(p); }
API cuMemcpyHtoDAsync_v2(ptr d, const void *s, size_t n, void *q)
{
    return copy((void *)(uintptr_t)d, s, n, IN, q);
}
API cuMemcpyDtoHAsync_v2(void *d, ptr s, size_t n, void *q)
{
    return copy(d, (const void *)(uintptr_t)s, n, OUT, q);
}
API cuMemcpyDtoDAsync_v2(ptr d, ptr s, size_t n, void *q)
{
    return copy((void *)(uintptr_t)d, (const void *)(uintptr_t)s, n, WITHIN, q);
}
API cuModuleLoadData(void **m, const void *image) { (void)image; return make(m, 64, 1); }
API cuModuleUnload(void *m) { return drop(m); }
API cuModuleGetFunction(void **f, void *m, const char *s) { return function(f, m, s); }
API cuFuncSetAttribute(void *f, int a, int v) { (void)f; (void)a; (void)v; return plain(); }
API cuStreamCreate(void **s, unsigned f) { (void)f; return make(s, sizeof(struct stream), 1); }
API cuStreamDestroy_v2(void *s) { return drop_stream(s); }
API cuStreamSynchronize(void *s) { return synchronize(s); }
API cuStreamWaitEvent(void *s, void *e, unsigned f) { (void)f; return stream_wait(s, e); }
API cuEventCreate(void **e, unsigned f) { (void)f; return make(e, sizeof(struct event), 1); }
API cuEventDestroy_v2(void *e) { return drop(e); }
API cuEventRecord(void *e, void *s) { return event_record(e, s); }
API cuEventSynchronize(void *e) { return event_wait(e); }
API cuEventElapsedTime(float *ms, void *a, void *b) { (void)a; (void)b; return elapsed(ms); }
API cuStreamBeginCapture_v2(void *s, int mode) { (void)mode; return capture_begin(s); }
API cuStreamEndCapture(void *s, void **g) { return capture_end(s, g); }
API cuGraphInstantiateWithFlags(void **x, void *g, unsigned long long f)
{
    (void)f;
    return instantiate(x, g);
}
API cuGraphLaunch(void *g, void *s) { return graph_launch(g, s); }
API cuGraphDestroy(void *g) { return drop_graph(g); }
API cuGraphExecDestroy(void *g) { return drop_graph(g); }
API cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *s, void **params, void **extra)
{
    (void)gz; (void)by; (void)bz; (void)extra;
    return launch(f, gx, gy, bx, shared, s, params);
}
API cuGetErrorName(int code, const char **s) { (void)code; *s = ""; return 0; }
#else
API hipInit(unsigned f) { (void)f; return plain(); }
API hipGetDeviceCount(int *n) { return number(n, fake_driver.n_devices); }
/* clang-format on */
enum { HOSTS_OWN = 77 }; /* the device that the program around the library uses */
static _Thread_local int current = HOSTS_OWN;

/* An ordinal that is there? */
static int known(int code, int d)
{
    return code ? code : d < 0 || d >= fake_driver.n_devices ? INVALID_DEVICE : 0;
}

/* clang-format off */
API hipGetDevice(int *d) { *d = current; return enter(); }
API hipSetDevice(int d)
{
    int code = d == HOSTS_OWN ? 0 : known(enter(), d); /* setting back never fails */
    fake_driver.counts.depth += code ? 0 : d == HOSTS_OWN ? -1 : 1;
    current = code ? current : d;
    return code;
}
API hipDeviceGetName(char *s, int n, int d) { (void)d; return name_of(s, n); }
API hipDeviceGetAttribute(int *v, int a, int d) { (void)a; (void)d; return number(v, 2); }
API hipGetDevicePropertiesR0600(void *p, int d)
{
    const char *arch = getenv("FAKE_DRIVER_ARCH");
    arch = d < fake_driver.other_until ? "gfx1036" : arch ? arch : fake_driver.arch;
    snprintf((char *)p + 1160, 256, "%s", arch);
    return known(plain(), d);
}
API hipMemGetInfo(size_t *a, size_t *t)
{
    int code = memory(a, t);
    if (current < fake_driver.full_until)
        *a = 1 << 10;
    return code;
}
API hipMalloc(void **p, size_t n) { return allocate(p, n); }
API hipFree(void *p) { return drop(p); }
API hipHostMalloc(void **p, size_t n, unsigned f) { (void)f; return allocate(p, n); }
API hipHostFree(void *p) { return drop(p); }
API hipMemcpyAsync(void *d, const void *s, size_t n, int kind, void *q)
{
    return copy(d, s, n, kind, q);
}
struct module {
    const void *image;
};
static int is_image(const void *image)
{
    return !memcmp(image, "\177ELF", 4);
}
API hipModuleLoadData(void **m, const void *image)
{
    int code = is_image(image) ? make(m, sizeof(struct module), 1) : INVALID_IMAGE;
    if (!code)
        ((struct module *)*m)->image = image;
    return code;
}
API hipModuleUnload(void *m)
{
    if (!is_image(((struct module *)m)->image))
        abort();
    return drop(m);
}
API hipModuleGetFunction(void **f, void *m, const char *s)
{
    return is_image(((struct module *)m)->image) ? function(f, m, s) : INVALID_IMAGE;
}
API hipModuleLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                          unsigned by, unsigned bz, unsigned shared, void *s, void **params,
                          void **extra)
{
    (void)gz; (void)by; (void)bz; (void)extra;
    return launch(f, gx, gy, bx, shared, s, params);
}
API hipStreamCreateWithFlags(void **s, unsigned f)
{
    (void)f;
    return make(s, sizeof(struct stream), 1);
}
API hipStreamDestroy(void *s) { return drop_stream(s); }
API hipStreamSynchronize(void *s) { return synchronize(s); }
API hipStreamWaitEvent(void *s, void *e, unsigned f) { (void)f; return stream_wait(s, e); }
API hipEventCreateWithFlags(void **e, unsigned f)
{
    (void)f;
    return make(e, sizeof(struct event), 1);
}
API hipEventDestroy(void *e) { return drop(e); }
API hipEventRecord(void *e, void *s) { return event_record(e, s); }
API hipEventSynchronize(void *e) { return event_wait(e); }
API hipEventElapsedTime(float *ms, void *a, void *b) { (void)a; (void)b; return elapsed(ms); }
API hipStreamBeginCapture(void *s, int mode) { (void)mode; return capture_begin(s); }
API hipStreamEndCapture(void *s, void **g) { return capture_end(s, g); }
API hipGraphInstantiate(void **x, void *g, void **node, char *log, size_t n)
{
    (void)node; (void)log; (void)n;
    return instantiate(x, g);
}
API hipGraphLaunch(void *g, void *s) { return graph_launch(g, s); }
API hipGraphDestroy(void *g) { return drop_graph(g); }
API hipGraphExecDestroy(void *g) { return drop_graph(g); }
/* clang-format on */
#endif
