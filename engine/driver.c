/* driver.c - loading a driver library; words and status of its error codes; calls that CUDA and HIP
 * have alike. */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The first of the names that opens; NULL = none does. folder NULL: where the loader looks. */
static void *open_any(const char *const *names, const char *folder, int flags, const char **name)
{
    char path[4096];
    void *library = NULL;
    for (size_t i = 0; !library && names[i]; i++) {
        const int n = folder ? snprintf(path, sizeof path, "%s/%s", folder, names[i]) : 0;
        *name = names[i];
        if (n >= 0 && n < (int)sizeof path)
            library = dlopen(folder ? path : names[i], flags | RTLD_NOW | RTLD_LOCAL);
    }
    return library;
}

int bi_driver_load(void **library, void *table, const struct bi_driver_library *what,
                   const struct bi_driver_symbol *symbols, size_t n, int ordinal,
                   struct bioinfer_error *err)
{
    const char *driver = what->driver, *name = NULL;
    *library = open_any(what->names, NULL, RTLD_NOLOAD, &name);
    if (!*library)
        *library = open_any(what->names, NULL, 0, &name);
    for (size_t i = 0; !*library && what->folders && what->folders[i]; i++)
        *library = open_any(what->names, what->folders[i], 0, &name);
    if (!*library)
        return bi_fail(err, BIOINFER_DEVICE, "%s:%d: no %s driver on this machine (%s not found)",
                       driver, ordinal, what->vendor, what->names[0]);
    for (size_t i = 0; i < n; i++) {
        void *symbol = dlsym(*library, symbols[i].name);
        if (!symbol && symbols[i].needed)
            return bi_fail(err, BIOINFER_DEVICE, "%s:%d: the driver is too old: %s has no %s",
                           driver, ordinal, name, symbols[i].name);
        memcpy((char *)table + symbols[i].at, &symbol, sizeof symbol);
    }
    return 0;
}

int bi_driver_describe(const char *api, int code, char *text, size_t size)
{
    /* after those that are lost the device's state is undefined: every later call fails */
    /* clang-format off */
    static const struct { int code; bool lost; const char *words; } known[] = {
        {1, false, "invalid value"}, {BI_DRIVER_NO_MEMORY, false, "out of device memory"},
        {3, false, "not initialised"}, {35, false, "the driver is older than the runtime"},
        {53, true, "an earlier launch failed"}, {BI_DRIVER_NO_DEVICE, false, "no device"},
        {BI_DRIVER_INVALID_DEVICE, false, "no such device"},
        {200, false, "not a kernel image"}, {209, false, "no kernel image for this device"},
        {214, true, "uncorrectable memory error"}, {218, false, "PTX could not be compiled"},
        {220, true, "NVLink error"}, {222, false, "the driver is too old for these kernels"},
        {226, true, "exception on the device"}, {500, false, "kernel not found in its module"},
        {700, true, "illegal address"}, {701, false, "out of launch resources"},
        {702, true, "launch timed out"}, {709, true, "the context is gone"},
        {710, true, "assertion in a kernel"}, {714, true, "hardware stack error"},
        {715, true, "illegal instruction"}, {716, true, "misaligned address"},
        {717, true, "invalid address space"}, {718, true, "invalid program counter"},
        {719, true, "launch failed"}, {721, true, "cluster error"},
        {999, true, "unknown error"}, {1053, true, "error of the HSA runtime"}};
    /* clang-format on */
    const char *words = "error";
    bool lost = false;
    for (size_t i = 0; i < BI_COUNT(known); i++)
        if (known[i].code == code) {
            words = known[i].words;
            lost = known[i].lost;
        }
    snprintf(text, size, "%s (%s error %d)", words, api, code);
    return code == BI_DRIVER_NO_MEMORY ? BIOINFER_NOMEM
           : lost                      ? BIOINFER_DEVICE_LOST
                                       : BIOINFER_DEVICE;
}

/* ---- functions that are alike for both ---- */

enum { /* flags */
       STREAM_NON_BLOCKING = 1,
       EVENT_NO_TIMES = 2,
       HOST_PORTABLE = 1,
       CAPTURE_THREAD_LOCAL = 1
};

static const struct bi_driver *driver(bi_gpu_handle gpu)
{
    return gpu;
}

int bi_driver_host_alloc(bi_gpu_handle gpu, void **ptr, uint64_t size)
{
    *ptr = NULL;
    return driver(gpu)->host_alloc(ptr, (size_t)size, HOST_PORTABLE);
}

void bi_driver_host_free(bi_gpu_handle gpu, void *ptr)
{
    driver(gpu)->host_free(ptr);
}

int bi_driver_module_load(bi_gpu_handle gpu, const struct bi_env *env, bi_gpu_handle *module,
                          const char *name, const void *image, size_t size)
{
    (void)env;
    (void)name;
    (void)size;
    return driver(gpu)->module_load(module, image);
}

void bi_driver_module_unload(bi_gpu_handle gpu, bi_gpu_handle module)
{
    driver(gpu)->module_unload(module);
}

int bi_driver_stream_new(bi_gpu_handle gpu, bi_gpu_handle *stream)
{
    return driver(gpu)->stream_create(stream, STREAM_NON_BLOCKING);
}

void bi_driver_stream_free(bi_gpu_handle gpu, bi_gpu_handle stream)
{
    driver(gpu)->stream_destroy(stream);
}

int bi_driver_capture_begin(bi_gpu_handle gpu, bi_gpu_handle stream)
{
    return driver(gpu)->capture_begin(stream, CAPTURE_THREAD_LOCAL);
}

int bi_driver_graph_launch(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle graph)
{
    return driver(gpu)->graph_launch(graph, stream);
}

void bi_driver_graph_free(bi_gpu_handle gpu, bi_gpu_handle graph)
{
    driver(gpu)->graph_exec_destroy(graph);
}

int bi_driver_wait(bi_gpu_handle gpu, bi_gpu_handle stream)
{
    return driver(gpu)->stream_synchronize(stream);
}

int bi_driver_event_new(bi_gpu_handle gpu, bi_gpu_handle *event, bool timed)
{
    return driver(gpu)->event_create(event, timed ? 0 : EVENT_NO_TIMES);
}

void bi_driver_event_free(bi_gpu_handle gpu, bi_gpu_handle event)
{
    driver(gpu)->event_destroy(event);
}

int bi_driver_event_record(bi_gpu_handle gpu, bi_gpu_handle event, bi_gpu_handle stream)
{
    return driver(gpu)->event_record(event, stream);
}

int bi_driver_event_wait(bi_gpu_handle gpu, bi_gpu_handle event)
{
    return driver(gpu)->event_synchronize(event);
}

int bi_driver_stream_wait(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle event)
{
    return driver(gpu)->stream_wait_event(stream, event, 0);
}

int bi_driver_event_seconds(bi_gpu_handle gpu, bi_gpu_handle from, bi_gpu_handle to,
                            double *seconds)
{
    float ms = 0;
    int code = driver(gpu)->event_elapsed(&ms, from, to);
    *seconds = 1e-3 * (double)ms;
    return code;
}
