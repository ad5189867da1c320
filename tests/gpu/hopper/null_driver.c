/* null_driver.c - a libcuda of a Hopper GPU that runs nothing: memory is the host's and results are zeros.
 *
 * What a driver would refuse is refused: an entry that its module lacks, a tensor map that the copy engine
 * could not read by, more threads or shared memory than a kernel may have. The names of what is
 * launched, or recorded, go to the file $NULL_DRIVER_LOG, one a line, and `overlapping_rows` for each tensor
 * map of such. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int

enum { INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_FOUND = 500, MOST_SHARED = 232448, USUAL_SHARED = 49152 };

struct function {
    char name[96];
    unsigned threads; /* at most, by .maxntid */
    int shared;
};

static int token; /* handles of what has no state */

static int refuse(const char *what, const char *name)
{
    fprintf(stderr, "null driver: %s: %s\n", name, what);
    return INVALID_VALUE;
}

/* ---- device, memory ---- */

API cuInit(unsigned flags) { return (int)(flags * 0); }
API cuDeviceGetCount(int *n) { *n = 1; return 0; }
API cuDeviceGet(int *device, int i) { *device = i; return 0; }
API cuDeviceGetName(char *name, int size, int device)
{
    snprintf(name, (size_t)size, "null %d", device);
    return 0;
}
API cuDeviceGetAttribute(int *value, int what, int device)
{
    *value = what == 75 ? 9 : what == 76 ? 0 : what == 16 ? 132 : device * 0;
    return 0;
}
API cuDevicePrimaryCtxRetain(void **c, int device) { (void)device; *c = &token; return 0; }
API cuDevicePrimaryCtxRelease_v2(int device) { return device * 0; }
API cuCtxPushCurrent_v2(void *c) { return c != &token; }
API cuCtxPopCurrent_v2(void **c) { *c = &token; return 0; }
API cuMemGetInfo_v2(size_t *available, size_t *total)
{
    *available = *total = (size_t)2 << 30;
    return 0;
}
API cuMemHostAlloc(void **p, size_t size, unsigned flags)
{
    (void)flags;
    *p = aligned_alloc(256, (size + 255) / 256 * 256);
    if (*p)
        memset(*p, 0, size);
    return *p ? 0 : OUT_OF_MEMORY;
}
API cuMemFreeHost(void *p) { free(p); return 0; }
API cuMemAlloc_v2(uint64_t *p, size_t size)
{
    void *at = NULL;
    int code = cuMemHostAlloc(&at, size, 0);
    *p = (uint64_t)(uintptr_t)at;
    return code;
}
API cuMemFree_v2(uint64_t p) { return cuMemFreeHost((void *)(uintptr_t)p); }
API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream)
{
    memcpy((void *)(uintptr_t)to, from, size);
    return stream == NULL;
}
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    memcpy(to, (const void *)(uintptr_t)from, size);
    return stream == NULL;
}

/* ---- streams, events, graphs ---- */

API cuStreamCreate(void **s, unsigned flags) { (void)flags; *s = &token; return 0; }
API cuStreamDestroy_v2(void *s) { return s != &token; }
API cuStreamSynchronize(void *s) { return s != &token; }
API cuStreamWaitEvent(void *s, void *e, unsigned flags) { return s != e || flags; }
API cuEventCreate(void **e, unsigned flags) { (void)flags; *e = &token; return 0; }
API cuEventDestroy_v2(void *e) { return e != &token; }
API cuEventRecord(void *e, void *s) { return e != s; }
API cuEventSynchronize(void *e) { return e != &token; }
API cuEventElapsedTime(float *ms, void *a, void *b) { *ms = 1; return a != b; }
API cuStreamBeginCapture_v2(void *s, int mode) { (void)mode; return s != &token; }
API cuStreamEndCapture(void *s, void **graph) { *graph = s; return 0; }
API cuGraphInstantiateWithFlags(void **to, void *graph, unsigned long long flags)
{
    (void)flags;
    *to = graph;
    return 0;
}
API cuGraphLaunch(void *graph, void *s) { return graph != s; }
API cuGraphDestroy(void *graph) { return graph != &token; }
API cuGraphExecDestroy(void *graph) { return graph != &token; }
API cuGetErrorName(int code, const char **name)
{
    *name = code == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}

static void log_line(const char *line)
{
    const char *path = getenv("NULL_DRIVER_LOG");
    FILE *log;
    if (path && (log = fopen(path, "a"))) {
        fprintf(log, "%s\n", line);
        fclose(log);
    }
}

/* ---- kernels ---- */

API cuModuleLoadData(void **module, const void *image)
{
    *module = strdup(image); /* PTX */
    return *module ? 0 : OUT_OF_MEMORY;
}
API cuModuleUnload(void *module) { free(module); return 0; }

API cuModuleGetFunction(void **out, void *module, const char *name)
{
    static struct function made[512];
    static int n;
    struct function *f = &made[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 512];
    const char *at, *threads;
    char text[128];
    snprintf(text, sizeof text, ".visible .entry %s(", name);
    if (!(at = strstr(module, text)) || !(threads = strstr(at, ".maxntid ")))
        return NOT_FOUND;
    snprintf(f->name, sizeof f->name, "%s", name);
    f->threads = (unsigned)atoi(threads + 9);
    f->shared = USUAL_SHARED;
    *out = f;
    return 0;
}

API cuFuncSetAttribute(void *function, int what, int value)
{
    struct function *f = function;
    if (what == 8 && value > MOST_SHARED)
        return refuse("more shared memory than there is", f->name);
    if (what == 8 && value > f->shared)
        f->shared = value;
    return 0;
}

static int launched(const struct function *f, const unsigned grid[3], unsigned threads, unsigned shared)
{
    if (!grid[0] || !grid[1] || grid[0] > 0x7fffffffu || grid[1] > 65535)
        return refuse("no such grid", f->name);
    if (threads > f->threads || shared > (unsigned)f->shared)
        return refuse("more threads or shared memory than it was compiled for or given", f->name);
    log_line(f->name);
    return 0;
}

API cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned b, unsigned c,
                   unsigned shared, void *stream, void **params, void **extra)
{
    const unsigned grid[3] = {x, y, z};
    if (b != 1 || c != 1 || z != 1 || !stream || !params || extra)
        return refuse("launch", ((struct function *)f)->name);
    return launched(f, grid, threads, shared);
}

struct launch {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned n_attributes;
};

API cuLaunchKernelEx(const struct launch *l, void *f, void **params, void **extra)
{
    return cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
                          l->shared, l->stream, params, extra);
}

/* f16, two dimensions. Of the stride a driver asks that it is a multiple of 16 below 2^40 alone: rows may be
 * longer, as the device tests have found (checkkernel_gpu --op=windows). */
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *sizes,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill)
{
    const uint32_t span = swizzle == 3 ? 128 : swizzle == 2 ? 64 : swizzle == 1 ? 32 : 0;
    (void)interleave;
    (void)promotion;
    (void)fill;
    if (type != 6 || rank != 2 || (uintptr_t)map % 64 || (uintptr_t)base % 16 || strides[0] % 16 ||
        !strides[0] || strides[0] >> 40 || !sizes[0] || !sizes[1] || sizes[0] >> 32 || sizes[1] >> 32 ||
        !box[0] || !box[1] ||
        box[0] > 256 || box[1] > 256 || box[0] * 2 > span || steps[0] != 1 || steps[1] != 1)
        return refuse("tensor map", "cuTensorMapEncodeTiled");
    if (strides[0] < 2 * sizes[0])
        log_line("overlapping_rows");
    return 0;
}
