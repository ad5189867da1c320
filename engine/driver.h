/* driver.h - what cuda.c and hip.c share: a driver library found at run time, its symbols, its
 * error codes, which the two number alike. */
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

enum { /* codes that have a meaning here */
       BI_DRIVER_NO_MEMORY = 2,
       BI_DRIVER_NO_DEVICE = 100,
       BI_DRIVER_INVALID_DEVICE = 101
};

/* The driver table of functions called <prefix>_<member>. */
#define BI_GPU_DRIVER(prefix)                                                                      \
    .name = #prefix, .open = prefix##_open, .close = prefix##_close, .enter = prefix##_enter,      \
    .leave = prefix##_leave, .alloc = prefix##_alloc, .free = prefix##_free,                       \
    .host_alloc = prefix##_host_alloc, .host_free = prefix##_host_free,                            \
    .module_load = prefix##_module_load, .module_unload = prefix##_module_unload,                  \
    .function = prefix##_function, .stream_new = prefix##_stream_new,                              \
    .stream_free = prefix##_stream_free, .copy_in = prefix##_copy_in,                              \
    .copy_out = prefix##_copy_out, .copy_within = prefix##_copy_within, .launch = prefix##_launch, \
    .capture_begin = prefix##_capture_begin, .capture_end = prefix##_capture_end,                  \
    .graph_launch = prefix##_graph_launch, .graph_free = prefix##_graph_free,                      \
    .wait = prefix##_wait, .event_new = prefix##_event_new, .event_free = prefix##_event_free,     \
    .event_record = prefix##_event_record, .event_wait = prefix##_event_wait,                      \
    .stream_wait = prefix##_stream_wait, .event_seconds = prefix##_event_seconds,                  \
    .describe = prefix##_describe, .needs_images = true

#endif
