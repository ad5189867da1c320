/* cuda.c - the CUDA driver behind gpu.h: symbols by dlopen, so that one binary runs anywhere.
 *
 * Types and values follow the CUDA Driver API (stable since 11.0); no vendor header is needed.
 * The primary context is retained and made current around each group of calls, never reset, so
 * that other users of the device in this process are not disturbed. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

typedef int cu_result;
typedef int cu_device;
typedef unsigned long long cu_ptr;

enum { /* attributes and flags that matter here */
       CU_ATTRIBUTE_UNITS = 16,
       CU_ATTRIBUTE_MAJOR = 75,
       CU_ATTRIBUTE_MINOR = 76,
       CU_FUNCTION_SHARED = 8,
       CU_LAUNCH_EARLY = 6 /* programmatic stream serialization */,
       CU_TENSOR_FLOAT16 = 6,
       CU_SWIZZLE_32B = 1,
       CU_SWIZZLE_64B = 2,
       CU_SWIZZLE_128B = 3,
       CU_PROMOTE_L2_256B = 3
};

/* X(name, parameters): every symbol used */
#define CUDA_SYMBOLS(X)                                                                            \
    X(cuInit, (unsigned))                                                                          \
    X(cuDeviceGetCount, (int *))                                                                   \
    X(cuDeviceGet, (cu_device *, int))                                                             \
    X(cuDeviceGetName, (char *, int, cu_device))                                                   \
    X(cuDeviceGetAttribute, (int *, int, cu_device))                                               \
    X(cuDevicePrimaryCtxRetain, (void **, cu_device))                                              \
    X(cuDevicePrimaryCtxRelease_v2, (cu_device))                                                   \
    X(cuCtxPushCurrent_v2, (void *))                                                               \
    X(cuCtxPopCurrent_v2, (void **))                                                               \
    X(cuMemAlloc_v2, (cu_ptr *, size_t))                                                           \
    X(cuMemFree_v2, (cu_ptr))                                                                      \
    X(cuMemcpyHtoDAsync_v2, (cu_ptr, const void *, size_t, void *))                                \
    X(cuMemcpyDtoHAsync_v2, (void *, cu_ptr, size_t, void *))                                      \
    X(cuMemcpyDtoDAsync_v2, (cu_ptr, cu_ptr, size_t, void *))                                      \
    X(cuFuncSetAttribute, (void *, int, int))                                                      \
    X(cuGraphInstantiateWithFlags, (void **, void *, unsigned long long))

/* Absent from drivers before 12.3; Hopper's own kernels need them. */
#define CUDA_HOPPER_SYMBOLS(X)                                                                     \
    X(cuTensorMapEncodeTiled, (void *, int, unsigned, void *, const uint64_t *, const uint64_t *,  \
                               const uint32_t *, const uint32_t *, int, int, int, int))            \
    X(cuLaunchKernelEx, (const struct cu_launch *, void *, void **, void **))

struct cu_launch_attribute {
    int id, pad;
    int64_t value[8];
};

struct cu_launch {
    unsigned grid[3], block[3], shared_size;
    void *stream;
    struct cu_launch_attribute *attributes;
    unsigned n_attributes;
};

struct cuda {
    struct bi_driver driver; /* first */
    cu_device device;
    void *context;
    bool retained, hopper;
#define X(name, params) cu_result(*name) params;
    CUDA_SYMBOLS(X)
    CUDA_HOPPER_SYMBOLS(X)
#undef X
};

static void cuda_close(bi_gpu_handle gpu)
{
    struct cuda *c = gpu;
    if (c->retained)
        c->cuDevicePrimaryCtxRelease_v2(c->device);
    if (c->driver.library)
        dlclose(c->driver.library);
    bi_free(c->driver.env, c);
}

static int cuda_describe(int code, char *text, size_t size)
{
    return bi_driver_describe("CUDA", code, text, size);
}

static int cuda_open(bi_gpu_handle *gpu, const struct bi_env *env, int ordinal,
                     struct bi_gpu_facts *facts, struct bioinfer_error *err)
{
    static const char *const names[] = {"libcuda.so.1", NULL};
    static const struct bi_driver_library library = {
        .names = names, .driver = "cuda", .vendor = "NVIDIA"};
    static const struct bi_driver_symbol symbols[] = {
#define X(name, params) {#name, offsetof(struct cuda, name), true},
        CUDA_SYMBOLS(X)
#undef X
#define X(member, cuda, hip, params) {#cuda, offsetof(struct bi_driver, member), true},
            BI_DRIVER_SHARED(X)
#undef X
#define X(name, params) {#name, offsetof(struct cuda, name), false},
                CUDA_HOPPER_SYMBOLS(X)
#undef X
    };
    struct cuda *c = bi_zalloc(env, sizeof *c);
    int st, code, major = 0, minor = 0, count = 0, n = 0;
    size_t available = 0, total = 0;
    char name[48] = "", words[96];
    if (!c)
        return bi_fail(err, BIOINFER_NOMEM, "device");
    c->driver.env = env;
    if ((st = bi_driver_load(&c->driver.library, c, &library, symbols, BI_COUNT(symbols), ordinal,
                             err)))
        goto out;
    if ((code = c->cuInit(0)) || (code = c->cuDeviceGetCount(&count)))
        goto fail;
    facts->n_devices = count;
    if ((code = ordinal < count ? 0
                : count         ? BI_DRIVER_INVALID_DEVICE
                                : BI_DRIVER_NO_DEVICE) ||
        (code = c->cuDeviceGet(&c->device, ordinal)) ||
        (code = c->cuDeviceGetName(name, sizeof name, c->device)) ||
        (code = c->cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, c->device)) ||
        (code = c->cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, c->device)) ||
        (code = c->cuDeviceGetAttribute(&facts->n_units, CU_ATTRIBUTE_UNITS, c->device)) ||
        (code = c->cuDevicePrimaryCtxRetain(&c->context, c->device)))
        goto fail;
    c->retained = true;
    if ((code = c->cuCtxPushCurrent_v2(c->context)))
        goto fail;
    code = c->driver.mem_info(&available, &total);
    c->cuCtxPopCurrent_v2(&(void *){NULL});
    if (code)
        goto fail;
    if (major < 8) {
        st = bi_fail(err, BIOINFER_UNSUPPORTED,
                     "cuda:%d: %s has compute capability %d.%d; kernels "
                     "need 8.0 or newer",
                     ordinal, name, major, minor);
        goto out;
    }
    c->hopper = major == 9 && minor == 0 && c->cuTensorMapEncodeTiled && c->cuLaunchKernelEx;
    facts->hopper = c->hopper;
    facts->near_f32 = true;
    if (c->hopper)
        facts->arch[n++] = "sm_90a";
    facts->arch[n++] = "sm_80"; /* PTX: newer devices compile it too */
    facts->memory_size = total;
    facts->memory_free = available;
    snprintf(facts->description, sizeof facts->description, "%s, compute capability %d.%d", name,
             major, minor);
    *gpu = c;
    return 0;
fail:
    st = cuda_describe(code, words, sizeof words);
    st = bi_fail(err, st, "cuda:%d: %s", ordinal, words);
out:
    cuda_close(c);
    return st;
}

static int cuda_enter(bi_gpu_handle gpu, int *was)
{
    struct cuda *c = gpu;
    (void)was; /* contexts are a stack */
    return c->cuCtxPushCurrent_v2(c->context);
}

static void cuda_leave(bi_gpu_handle gpu, int was)
{
    struct cuda *c = gpu;
    void *popped;
    (void)was;
    c->cuCtxPopCurrent_v2(&popped);
}

static cu_ptr device(const void *ptr)
{
    return (cu_ptr)(uintptr_t)ptr;
}

static int cuda_alloc(bi_gpu_handle gpu, void **ptr, uint64_t size)
{
    cu_ptr p = 0;
    int code = ((struct cuda *)gpu)->cuMemAlloc_v2(&p, (size_t)size);
    *ptr = code ? NULL : (void *)(uintptr_t)p;
    return code;
}

static void cuda_free(bi_gpu_handle gpu, void *ptr)
{
    ((struct cuda *)gpu)->cuMemFree_v2(device(ptr));
}

static int cuda_function(bi_gpu_handle gpu, bi_gpu_handle module, const char *name, int shared_size,
                         bi_gpu_handle *function)
{
    struct cuda *c = gpu;
    int code = c->driver.module_function(function, module, name);
    if (!code && shared_size > 48 << 10)
        code = c->cuFuncSetAttribute(*function, CU_FUNCTION_SHARED, shared_size);
    return code;
}

static int cuda_copy_in(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                        uint64_t size)
{
    return ((struct cuda *)gpu)->cuMemcpyHtoDAsync_v2(device(dst), src, (size_t)size, stream);
}

static int cuda_copy_out(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                         uint64_t size)
{
    return ((struct cuda *)gpu)->cuMemcpyDtoHAsync_v2(dst, device(src), (size_t)size, stream);
}

static int cuda_copy_within(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                            uint64_t size)
{
    return ((struct cuda *)gpu)
        ->cuMemcpyDtoDAsync_v2(device(dst), device(src), (size_t)size, stream);
}

/* On Hopper a launch may begin while the one before it ends: its kernels wait (gpu.h). */
static int cuda_launch(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle function,
                       const int32_t grid[2], int block, int shared_size, void *params)
{
    struct cuda *c = gpu;
    struct cu_launch_attribute early = {.id = CU_LAUNCH_EARLY, .value = {1}};
    struct cu_launch how = {{(unsigned)grid[0], (unsigned)grid[1], 1},
                            {(unsigned)block, 1, 1},
                            (unsigned)shared_size,
                            stream,
                            &early,
                            1};
    if (c->hopper)
        return c->cuLaunchKernelEx(&how, function, (void *[]){params}, NULL);
    return c->driver.launch(function, how.grid[0], how.grid[1], 1, how.block[0], 1, 1,
                            how.shared_size, stream, (void *[]){params}, NULL);
}

static int cuda_tensor_map(bi_gpu_handle gpu, struct bi_tensor_map *map, const void *base,
                           int64_t rows, int64_t columns, int64_t ld, int box_rows, int box_columns)
{
    const uint64_t sizes[] = {(uint64_t)columns, (uint64_t)rows}, strides[] = {(uint64_t)ld * 2};
    const uint32_t box[] = {(uint32_t)box_columns, (uint32_t)box_rows}, steps[] = {1, 1};
    const int swizzle = box_columns == 64   ? CU_SWIZZLE_128B
                        : box_columns == 32 ? CU_SWIZZLE_64B
                                            : CU_SWIZZLE_32B;
    return ((struct cuda *)gpu)
        ->cuTensorMapEncodeTiled(map, CU_TENSOR_FLOAT16, 2, (void *)(uintptr_t)base, sizes, strides,
                                 box, steps, 0, swizzle, CU_PROMOTE_L2_256B, 0);
}

static int cuda_capture_end(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle *graph)
{
    struct cuda *c = gpu;
    void *recorded = NULL;
    int code = c->driver.capture_end(stream, &recorded);
    if (!code)
        code = c->cuGraphInstantiateWithFlags(graph, recorded, 0);
    if (recorded)
        c->driver.graph_destroy(recorded);
    return code;
}

const struct bi_gpu_driver bi_gpu_driver_cuda = {BI_GPU_DRIVER(cuda),
                                                 .tensor_map = cuda_tensor_map};

static int open_cuda(struct bi_device **out, const struct bi_env *env,
                     const struct bi_device_params *params, struct bioinfer_error *err)
{
    return bi_gpu_open(out, env, &bi_gpu_driver_cuda, params, err);
}

const struct bi_backend_ops bi_backend_cuda = {.name = "cuda", .open = open_cuda, BI_GPU_OPS};
