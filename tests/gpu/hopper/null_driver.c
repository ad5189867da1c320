/* null_driver.c - a libcuda of a Hopper GPU that runs nothing: memory is the host's and results are
 * zeros.
 *
 * What a driver would refuse is refused: an entry that its module lacks, a tensor map that the copy
 * engine could not read by, more threads or shared memory than a kernel may have. The names of what
 * is launched, or recorded, go to the file $NULL_DRIVER_LOG, one a line, and `overlapping_rows` for
 * each tensor map of such.
 *
 * The file $NULL_DRIVER_LAUNCHES gets a line for each launch, for tools/same.py:
 *
 *     ENTRY GRID_X GRID_Y THREADS SHARED_BYTES HASH
 *
 * HASH is of the parameters. In it a pointer into memory of this driver is the number of its
 * allocation, counted in the order in which launches first point there, and the offset in it, so it
 * is the same wherever the system places memory. A tensor map is the arguments that it was made of.
 *
 * $NULL_DRIVER_GIB is how much memory the device says it has, 2 GiB when unset. What is copied to
 * the device is not kept, so a device of 80 GiB with a large model costs the host nothing. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define API __attribute__((visibility("default"))) int

enum {
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_FOUND = 500,
    MOST_SHARED = 232448,
    USUAL_SHARED = 49152
};

struct function {
    char name[96];
    unsigned threads; /* at most, by .maxntid */
    unsigned params;  /* bytes */
    int shared;
};

enum { MOST_BLOCKS = 65536 };

struct block {
    uint64_t first, size;
    unsigned number; /* in the order in which launches point into blocks; 0 = none does yet */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block blocks[MOST_BLOCKS];
static unsigned n_blocks, n_numbered;

static int token; /* handles of what has no state */

static int refuse(const char *what, const char *name)
{
    fprintf(stderr, "null driver: %s: %s\n", name, what);
    return INVALID_VALUE;
}

/* ---- device, memory ---- */

/* clang-format off */
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
/* clang-format on */
API cuMemGetInfo_v2(size_t *available, size_t *total)
{
    const char *gib = getenv("NULL_DRIVER_GIB");
    *available = *total = (size_t)(gib && atoi(gib) > 0 ? atoi(gib) : 2) << 30;
    return 0;
}

/* Pages that nobody writes to are zeros and take no memory. */
static int allocate(uint64_t *p, size_t size)
{
    void *at = MAP_FAILED;
    size = size ? size : 1;
    pthread_mutex_lock(&lock);
    if (n_blocks < MOST_BLOCKS)
        at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (at != MAP_FAILED)
        blocks[n_blocks++] = (struct block){(uint64_t)(uintptr_t)at, size, 0};
    pthread_mutex_unlock(&lock);
    *p = at == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)at;
    return *p ? 0 : OUT_OF_MEMORY;
}

static int drop(uint64_t p)
{
    int code = INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (unsigned i = 0; code && i < n_blocks; i++)
        if (blocks[i].first == p) {
            code = munmap((void *)(uintptr_t)p, blocks[i].size);
            blocks[i] = blocks[--n_blocks];
        }
    pthread_mutex_unlock(&lock);
    return code;
}

API cuMemAlloc_v2(uint64_t *p, size_t size)
{
    return allocate(p, size);
}
API cuMemFree_v2(uint64_t p)
{
    return p ? drop(p) : 0;
}
API cuMemHostAlloc(void **p, size_t size, unsigned flags)
{
    uint64_t at;
    int code = allocate(&at, size);
    (void)flags;
    *p = (void *)(uintptr_t)at;
    return code;
}
API cuMemFreeHost(void *p)
{
    return p ? drop((uint64_t)(uintptr_t)p) : 0;
}
API cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream)
{
    (void)from;
    (void)size;
    return stream == NULL || !to;
}
API cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream)
{
    memcpy(to, (const void *)(uintptr_t)from, size);
    return stream == NULL;
}

API cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream)
{
    (void)size;
    return stream == NULL || !to || !from;
}

/* ---- streams, events, graphs ---- */

/* clang-format off */
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
/* clang-format on */
API cuGetErrorName(int code, const char **name)
{
    *name = code == NOT_FOUND ? "CUDA_ERROR_NOT_FOUND" : "CUDA_ERROR_INVALID_VALUE";
    return 0;
}

static void log_line(const char *variable, const char *line)
{
    const char *path = getenv(variable);
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
API cuModuleUnload(void *module)
{
    free(module);
    return 0;
}

API cuModuleGetFunction(void **out, void *module, const char *name)
{
    static struct function made[512];
    static int n;
    struct function *f = &made[__atomic_fetch_add(&n, 1, __ATOMIC_RELAXED) % 512];
    const char *at, *threads, *params;
    char text[128];
    snprintf(text, sizeof text, ".visible .entry %s(", name);
    if (!(at = strstr(module, text)) || !(threads = strstr(at, ".maxntid ")) ||
        !(params = strstr(at, "_param_0[")) || params > threads)
        return NOT_FOUND;
    f->params = (unsigned)atoi(params + 9);
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

/* The number of the block that p points into, and where in it; or p itself. */
static uint64_t relative(uint64_t p)
{
    for (unsigned i = 0; i < n_blocks; i++)
        if (p - blocks[i].first < blocks[i].size) {
            if (!blocks[i].number)
                blocks[i].number = ++n_numbered;
            return (uint64_t)blocks[i].number << 40 ^ (p - blocks[i].first);
        }
    return p;
}

/* FNV-1a of the parameters, words of 8 bytes that are pointers made relative. */
static uint64_t hash(const unsigned char *params, unsigned size)
{
    uint64_t h = 0xcbf29ce484222325u;
    pthread_mutex_lock(&lock);
    for (unsigned at = 0; at < size; at += 8) {
        uint64_t word = 0;
        memcpy(&word, params + at, size - at < 8 ? size - at : 8);
        word = size - at < 8 ? word : relative(word);
        for (int i = 0; i < 8; i++)
            h = (h ^ (word >> 8 * i & 255)) * 0x100000001b3u;
    }
    pthread_mutex_unlock(&lock);
    return h;
}

static int launched(const struct function *f, const unsigned grid[3], unsigned threads,
                    unsigned shared, const void *params)
{
    char line[192];
    if (!grid[0] || !grid[1] || grid[0] > 0x7fffffffu || grid[1] > 65535)
        return refuse("no such grid", f->name);
    if (threads > f->threads || shared > (unsigned)f->shared)
        return refuse("more threads or shared memory than it was compiled for or given", f->name);
    log_line("NULL_DRIVER_LOG", f->name);
    if (getenv("NULL_DRIVER_LAUNCHES")) {
        snprintf(line, sizeof line, "%s %u %u %u %u %016llx", f->name, grid[0], grid[1], threads,
                 shared, (unsigned long long)hash(params, f->params));
        log_line("NULL_DRIVER_LAUNCHES", line);
    }
    return 0;
}

API cuLaunchKernel(void *f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned b,
                   unsigned c, unsigned shared, void *stream, void **params, void **extra)
{
    const unsigned grid[3] = {x, y, z};
    if (b != 1 || c != 1 || z != 1 || !stream || !params || extra)
        return refuse("launch", ((struct function *)f)->name);
    return launched(f, grid, threads, shared, params[0]);
}

struct launch {
    unsigned grid[3], block[3], shared;
    void *stream, *attributes;
    unsigned n_attributes;
};

API cuLaunchKernelEx(const struct launch *l, void *f, void **params, void **extra)
{
    return cuLaunchKernel(f, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                          l->block[2], l->shared, l->stream, params, extra);
}

/* All that a tensor map was asked for stands where a driver would write the map. */
struct tensor_map {
    uint64_t base, sizes[2], stride;
    uint32_t box[2];
    int32_t kinds[5], rest[17];
};
_Static_assert(sizeof(struct tensor_map) == 128, "a tensor map has 128 bytes");

/* f16, two dimensions. Of the stride a driver asks that it is a multiple of 16 below 2^40 alone:
 * rows may be longer, as the device tests have found (checkkernel_gpu --op=windows). */
API cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *base, const uint64_t *sizes,
                           const uint64_t *strides, const uint32_t *box, const uint32_t *steps,
                           int interleave, int swizzle, int promotion, int fill)
{
    const uint32_t span = swizzle == 3 ? 128 : swizzle == 2 ? 64 : swizzle == 1 ? 32 : 0;
    if (type != 6 || rank != 2 || (uintptr_t)map % 64 || (uintptr_t)base % 16 || strides[0] % 16 ||
        !strides[0] || strides[0] >> 40 || !sizes[0] || !sizes[1] || sizes[0] >> 32 ||
        sizes[1] >> 32 || !box[0] || !box[1] || box[0] > 256 || box[1] > 256 || box[0] * 2 > span ||
        steps[0] != 1 || steps[1] != 1)
        return refuse("tensor map", "cuTensorMapEncodeTiled");
    *(struct tensor_map *)map = (struct tensor_map){(uint64_t)(uintptr_t)base,
                                                    {sizes[0], sizes[1]},
                                                    strides[0],
                                                    {box[0], box[1]},
                                                    {type, interleave, swizzle, promotion, fill},
                                                    {0}};
    if (strides[0] < 2 * sizes[0])
        log_line("NULL_DRIVER_LOG", "overlapping_rows");
    return 0;
}
