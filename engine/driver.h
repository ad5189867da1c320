/* driver.h - what cuda.c and hip.c share: a driver library found at run time, its symbols, calls
 * and error codes, which the two number alike. */
#ifndef BI_DRIVER_H
#define BI_DRIVER_H

#include "gpu.h"

/* One function pointer of a driver's struct. */
struct bi_driver_symbol {
    const char *name;
    size_t at;
    bool needed; /* false: its pointer may stay NULL */
};

/* Where a driver's library may be, and what it is called in messages. */
struct bi_driver_library {
    const char *const *names;   /* NULL ends */
    const char *const *folders; /* to look in where the loader finds none; NULL ends; NULL = none */
    const char *driver, *vendor; /* "cuda", "NVIDIA" */
};

/* X(member, name in CUDA, name in HIP, parameters): functions that both have, with the same values
 * of flags. They return 0 or a code. */
#define BI_DRIVER_SHARED(X)                                                                        \
    X(mem_info, cuMemGetInfo_v2, hipMemGetInfo, (size_t *, size_t *))                              \
    X(host_alloc, cuMemHostAlloc, hipHostMalloc, (void **, size_t, unsigned))                      \
    X(host_free, cuMemFreeHost, hipHostFree, (void *))                                             \
    X(module_load, cuModuleLoadData, hipModuleLoadData, (void **, const void *))                   \
    X(module_unload, cuModuleUnload, hipModuleUnload, (void *))                                    \
    X(module_function, cuModuleGetFunction, hipModuleGetFunction, (void **, void *, const char *)) \
    X(launch, cuLaunchKernel, hipModuleLaunchKernel,                                               \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))                                                                          \
    X(stream_create, cuStreamCreate, hipStreamCreateWithFlags, (void **, unsigned))                \
    X(stream_destroy, cuStreamDestroy_v2, hipStreamDestroy, (void *))                              \
    X(stream_synchronize, cuStreamSynchronize, hipStreamSynchronize, (void *))                     \
    X(stream_wait_event, cuStreamWaitEvent, hipStreamWaitEvent, (void *, void *, unsigned))        \
    X(event_create, cuEventCreate, hipEventCreateWithFlags, (void **, unsigned))                   \
    X(event_destroy, cuEventDestroy_v2, hipEventDestroy, (void *))                                 \
    X(event_record, cuEventRecord, hipEventRecord, (void *, void *))                               \
    X(event_synchronize, cuEventSynchronize, hipEventSynchronize, (void *))                        \
    X(event_elapsed, cuEventElapsedTime, hipEventElapsedTime, (float *, void *, void *))           \
    X(capture_begin, cuStreamBeginCapture_v2, hipStreamBeginCapture, (void *, int))                \
    X(capture_end, cuStreamEndCapture, hipStreamEndCapture, (void *, void **))                     \
    X(graph_launch, cuGraphLaunch, hipGraphLaunch, (void *, void *))                               \
    X(graph_destroy, cuGraphDestroy, hipGraphDestroy, (void *))                                    \
    X(graph_exec_destroy, cuGraphExecDestroy, hipGraphExecDestroy, (void *))

/* The begin of either driver's struct. */
struct bi_driver {
    const struct bi_env *env;
    void *library;
#define X(member, cuda, hip, params) int(*member) params;
    BI_DRIVER_SHARED(X)
#undef X
};

/* Opens a library and fills the pointers of `table`. One that the process has loaded already comes
 * first, as two copies of a runtime in a process do not get along; then what the loader finds, then
 * the folders. Pointers of symbols that are not needed and not there become NULL. ordinal is for
 * messages. On failure *library is what was opened, for the caller's close, or NULL, and some
 * pointers are filled. DEVICE: there is no such library, or it lacks a symbol that is needed. */
int bi_driver_load(void **library, void *table, const struct bi_driver_library *what,
                   const struct bi_driver_symbol *symbols, size_t n, int ordinal,
                   struct bioinfer_error *err);

/* Writes words for an error code of CUDA or HIP, cut to `size` bytes with the NUL. Returns its
 * status: NOMEM, DEVICE_LOST when the device's state is undefined from then on, else DEVICE, as of
 * a code that is not known, whose word is "error". */
int bi_driver_describe(const char *api, int code, char *text, size_t size);

/* Members of the table of functions (gpu.h) that are alike for both; the handle begins with a
 * struct bi_driver. */
int bi_driver_host_alloc(bi_gpu_handle gpu, void **ptr, uint64_t size);
void bi_driver_host_free(bi_gpu_handle gpu, void *ptr);
int bi_driver_module_load(bi_gpu_handle gpu, const struct bi_env *env, bi_gpu_handle *module,
                          const char *name, const void *image, size_t size);
void bi_driver_module_unload(bi_gpu_handle gpu, bi_gpu_handle module);
int bi_driver_stream_new(bi_gpu_handle gpu, bi_gpu_handle *stream);
void bi_driver_stream_free(bi_gpu_handle gpu, bi_gpu_handle stream);
int bi_driver_capture_begin(bi_gpu_handle gpu, bi_gpu_handle stream);
int bi_driver_graph_launch(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle graph);
void bi_driver_graph_free(bi_gpu_handle gpu, bi_gpu_handle graph);
int bi_driver_wait(bi_gpu_handle gpu, bi_gpu_handle stream);
int bi_driver_event_new(bi_gpu_handle gpu, bi_gpu_handle *event, bool timed);
void bi_driver_event_free(bi_gpu_handle gpu, bi_gpu_handle event);
int bi_driver_event_record(bi_gpu_handle gpu, bi_gpu_handle event, bi_gpu_handle stream);
int bi_driver_event_wait(bi_gpu_handle gpu, bi_gpu_handle event);
int bi_driver_stream_wait(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle event);
int bi_driver_event_seconds(bi_gpu_handle gpu, bi_gpu_handle from, bi_gpu_handle to,
                            double *seconds);

enum { /* codes that have a meaning here */
       BI_DRIVER_NO_MEMORY = 2,
       BI_DRIVER_NO_DEVICE = 100,
       BI_DRIVER_INVALID_DEVICE = 101
};

/* The table of functions: those called <prefix>_<member>, and those that are alike for both. */
#define BI_GPU_DRIVER(prefix)                                                                      \
    .name = #prefix, .open = prefix##_open, .close = prefix##_close, .enter = prefix##_enter,      \
    .leave = prefix##_leave, .alloc = prefix##_alloc, .free = prefix##_free,                       \
    .function = prefix##_function, .copy_in = prefix##_copy_in, .copy_out = prefix##_copy_out,     \
    .copy_within = prefix##_copy_within, .launch = prefix##_launch,                                \
    .capture_end = prefix##_capture_end, .describe = prefix##_describe,                            \
    .host_alloc = bi_driver_host_alloc, .host_free = bi_driver_host_free,                          \
    .module_load = bi_driver_module_load, .module_unload = bi_driver_module_unload,                \
    .stream_new = bi_driver_stream_new, .stream_free = bi_driver_stream_free,                      \
    .capture_begin = bi_driver_capture_begin, .graph_launch = bi_driver_graph_launch,              \
    .graph_free = bi_driver_graph_free, .wait = bi_driver_wait, .event_new = bi_driver_event_new,  \
    .event_free = bi_driver_event_free, .event_record = bi_driver_event_record,                    \
    .event_wait = bi_driver_event_wait, .stream_wait = bi_driver_stream_wait,                      \
    .event_seconds = bi_driver_event_seconds, .needs_images = true

#endif
