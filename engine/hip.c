/* hip.c - the HIP runtime behind gpu.h: symbols by dlopen, so that one binary runs anywhere.
 *
 * Types and values follow the public headers of ROCm 5 to 7; none is needed. HIP has a current
 * device for each thread: it is set around each group of calls and then set back. */
#define _GNU_SOURCE /* secure_getenv */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../kernels/gpu/gpu_blobs.h"
#include "driver.h"

typedef int hip_result;

enum {
    HIP_HOST_TO_DEVICE = 1,
    HIP_DEVICE_TO_HOST = 2,
    HIP_WITHIN_DEVICE = 3,
    HIP_ATTRIBUTE_UNITS = 63,
    /* hipDeviceProp_t is 792 bytes in ROCm 5, 1,472 in 6 and 7; only the name of the
     * architecture is read from it */
    HIP_PROPERTIES_SIZE = 4096,
    HIP_ARCH_AT_5 = 396,
    HIP_ARCH_AT_6 = 1160,
    HIP_ARCH_SIZE = 256
};

/* X(name, parameters): every symbol used */
#define HIP_SYMBOLS(X)                                                                             \
    X(hipInit, (unsigned))                                                                         \
    X(hipGetDeviceCount, (int *))                                                                  \
    X(hipGetDevice, (int *))                                                                       \
    X(hipSetDevice, (int))                                                                         \
    X(hipDeviceGetName, (char *, int, int))                                                        \
    X(hipDeviceGetAttribute, (int *, int, int))                                                    \
    X(hipMalloc, (void **, size_t))                                                                \
    X(hipFree, (void *))                                                                           \
    X(hipMemcpyAsync, (void *, const void *, size_t, int, void *))                                 \
    X(hipGraphInstantiate, (void **, void *, void **, char *, size_t))

struct hip {
    struct bi_driver driver; /* first; its library is never closed: threads of the runtime go on
                              * running in it */
    int device;
    char arch[HIP_ARCH_SIZE];
#define X(name, params) hip_result(*name) params;
    HIP_SYMBOLS(X)
#undef X
};

static void hip_close(bi_gpu_handle gpu)
{
    struct hip *h = gpu;
    bi_free(h->driver.env, h);
}

static int hip_describe(int code, char *text, size_t size)
{
    return bi_driver_describe("HIP", code, text, size);
}

/* "gfx90a" of "gfx90a:sramecc+:xnack-". The function has a new name since its struct has a new
 * layout, so the name tells where to look. */
static int read_arch(struct hip *h, int ordinal)
{
    hip_result (*properties)(void *, int) = NULL;
    char bytes[HIP_PROPERTIES_SIZE] = "";
    void *symbol = dlsym(h->driver.library, "hipGetDevicePropertiesR0600");
    int at = symbol ? HIP_ARCH_AT_6 : HIP_ARCH_AT_5, code;
    if (!symbol && !(symbol = dlsym(h->driver.library, "hipGetDeviceProperties")))
        return 0;
    memcpy(&properties, &symbol, sizeof symbol);
    if ((code = properties(bytes, ordinal)))
        return code;
    memcpy(h->arch, bytes + at, sizeof h->arch - 1);
    h->arch[strcspn(h->arch, ":")] = '\0';
    return 0;
}

/* The code object that several architectures can run; NULL = there is none for this one. */
static const char *generic_arch(const char *arch)
{
    static const char *const rdna3[] = {"gfx1100", "gfx1101", "gfx1102", "gfx1103",
                                        "gfx1150", "gfx1151", "gfx1152", "gfx1153"};
    for (size_t i = 0; i < BI_COUNT(rdna3); i++)
        if (!strcmp(arch, rdna3[i]))
            return "gfx11-generic";
    return NULL;
}

/* Fills facts->arch with what the library holds for the architecture, its own code first;
 * UNSUPPORTED when that is nothing. */
static int find_arch(const struct hip *h, int ordinal, const char *name, struct bi_gpu_facts *facts,
                     struct bioinfer_error *err)
{
    const char *const takes[] = {h->arch, generic_arch(h->arch)};
    char list[96] = "";
    int n = 0;
    for (size_t i = 0; i < BI_COUNT(takes) && takes[i]; i++)
        for (const struct bi_gpu_blob *b = bi_gpu_blobs; b->arch; b++)
            if (!strcmp(b->arch, takes[i])) {
                facts->arch[n++] = b->arch;
                break;
            }
    if (n)
        return 0;
    for (const struct bi_gpu_blob *b = bi_gpu_blobs; b->arch; b++)
        if (!strncmp(b->arch, "gfx", 3) && !strstr(list, b->arch))
            snprintf(list + strlen(list), sizeof list - strlen(list), " %s", b->arch);
    return bi_fail(err, BIOINFER_UNSUPPORTED,
                   "hip:%d: %s is '%.40s'; this build has kernels for:%s", ordinal, name, h->arch,
                   *list ? list : " none (it was made without clang-19)");
}

/* $ROCM_PATH/lib, where ROCm is installed when that is not set. */
static const char *rocm_folder(char *room, size_t size)
{
    const char *path = secure_getenv("ROCM_PATH");
    const int n = snprintf(room, size, "%s/lib", path && *path ? path : "/opt/rocm");
    return n > 0 && n < (int)size ? room : "/opt/rocm/lib";
}

static int hip_open(bi_gpu_handle *gpu, const struct bi_env *env, int ordinal,
                    struct bi_gpu_facts *facts, struct bioinfer_error *err)
{
    static const char *const names[] = {"libamdhip64.so.6", "libamdhip64.so.7", "libamdhip64.so.5",
                                        "libamdhip64.so", NULL};
    char rocm[1024];
    const char *const folders[] = {rocm_folder(rocm, sizeof rocm), "/opt/rocm/lib", NULL};
    const struct bi_driver_library library = {
        .names = names, .folders = folders, .driver = "hip", .vendor = "AMD"};
    static const struct bi_driver_symbol symbols[] = {
#define X(name, params) {#name, offsetof(struct hip, name), true},
        HIP_SYMBOLS(X)
#undef X
#define X(member, cuda, hip, params) {#hip, offsetof(struct bi_driver, member), true},
            BI_DRIVER_SHARED(X)
#undef X
    };
    struct hip *h = bi_zalloc(env, sizeof *h);
    int st, code, count = 0, was = 0;
    size_t available = 0, total = 0;
    char name[48] = "", words[96];
    if (!h)
        return bi_fail(err, BIOINFER_NOMEM, "device");
    h->driver.env = env;
    h->device = ordinal;
    if ((st = bi_driver_load(&h->driver.library, h, &library, symbols, BI_COUNT(symbols), ordinal,
                             err)))
        goto out;
    if ((code = h->hipInit(0)) || (code = h->hipGetDeviceCount(&count)))
        goto fail;
    facts->n_devices = count;
    if ((code = ordinal < count ? 0
                : count         ? BI_DRIVER_INVALID_DEVICE
                                : BI_DRIVER_NO_DEVICE) ||
        (code = h->hipDeviceGetName(name, sizeof name, ordinal)) ||
        (code = h->hipDeviceGetAttribute(&facts->n_units, HIP_ATTRIBUTE_UNITS, ordinal)) ||
        (code = read_arch(h, ordinal)) || (code = h->hipGetDevice(&was)) ||
        (code = h->hipSetDevice(ordinal)))
        goto fail;
    code = h->driver.mem_info(&available, &total);
    h->hipSetDevice(was);
    if (code)
        goto fail;
    if ((st = find_arch(h, ordinal, name, facts, err)))
        goto out;
    facts->near_f32 = !strncmp(h->arch, "gfx9", 4); /* CDNA; RDNA takes no float32 */
    facts->memory_size = total;
    facts->memory_free = available;
    snprintf(facts->description, sizeof facts->description, "%s, %.40s", name, h->arch);
    *gpu = h;
    return 0;
fail:
    st = hip_describe(code, words, sizeof words);
    st = bi_fail(
        err, st, "hip:%d: %s%s", ordinal, words,
        code == BI_DRIVER_NO_DEVICE
            ? ": /dev/kfd must be there and open to this user, who is usually to be a member of "
              "the group render"
            : "");
out:
    hip_close(h);
    return st;
}

static int hip_enter(bi_gpu_handle gpu, int *was)
{
    struct hip *h = gpu;
    int code = h->hipGetDevice(was);
    return code ? code : h->hipSetDevice(h->device);
}

static void hip_leave(bi_gpu_handle gpu, int was)
{
    ((struct hip *)gpu)->hipSetDevice(was);
}

static int hip_alloc(bi_gpu_handle gpu, void **ptr, uint64_t size)
{
    *ptr = NULL;
    return ((struct hip *)gpu)->hipMalloc(ptr, (size_t)size);
}

static void hip_free(bi_gpu_handle gpu, void *ptr)
{
    ((struct hip *)gpu)->hipFree(ptr);
}

/* Kernels declare their shared memory: nothing to raise, nothing to grant. */
static int hip_function(bi_gpu_handle gpu, bi_gpu_handle module, const char *name, int shared_size,
                        bi_gpu_handle *function)
{
    (void)shared_size;
    return ((struct hip *)gpu)->driver.module_function(function, module, name);
}

static int hip_launch(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle function,
                      const int32_t grid[2], int block, int shared_size, void *params)
{
    (void)shared_size;
    return ((struct hip *)gpu)
        ->driver.launch(function, (unsigned)grid[0], (unsigned)grid[1], 1, (unsigned)block, 1, 1, 0,
                        stream, (void *[]){params}, NULL);
}

static int hip_copy_in(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                       uint64_t size)
{
    return ((struct hip *)gpu)->hipMemcpyAsync(dst, src, (size_t)size, HIP_HOST_TO_DEVICE, stream);
}

static int hip_copy_out(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                        uint64_t size)
{
    return ((struct hip *)gpu)->hipMemcpyAsync(dst, src, (size_t)size, HIP_DEVICE_TO_HOST, stream);
}

static int hip_copy_within(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                           uint64_t size)
{
    return ((struct hip *)gpu)->hipMemcpyAsync(dst, src, (size_t)size, HIP_WITHIN_DEVICE, stream);
}

static int hip_capture_end(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle *graph)
{
    struct hip *h = gpu;
    void *recorded = NULL;
    int code = h->driver.capture_end(stream, &recorded);
    if (!code)
        code = h->hipGraphInstantiate(graph, recorded, NULL, NULL, 0);
    if (recorded)
        h->driver.graph_destroy(recorded);
    return code;
}

static const struct bi_gpu_driver hip_driver = {BI_GPU_DRIVER(hip), .keeps_images = true};

static int open_hip(struct bi_device **out, const struct bi_env *env,
                    const struct bi_device_params *params, struct bioinfer_error *err)
{
    return bi_gpu_open(out, env, &hip_driver, params, err);
}

const struct bi_backend_ops bi_backend_hip = {.name = "hip", .open = open_hip, BI_GPU_OPS};
