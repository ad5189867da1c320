/* emu_backend.c - a driver for gpu.c that runs kernels on the host (kernels/emu). */
#include "emu_backend.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../engine/gpu.h"
#include "../../kernels/emu/emu.h"

struct emu_counts emu_counts;

enum { EMU_NO_MEMORY = 1, EMU_NO_KERNEL, EMU_FAULT };

static int open_target(bi_gpu_handle *gpu, const struct bi_emu_target *target,
                       struct bi_gpu_facts *facts)
{
    *gpu = (void *)(uintptr_t)target;
    facts->arch[0] = target->name;
    facts->n_units = 2;
    facts->near_f32 = target != &bi_emu_rdna;
    snprintf(facts->description, sizeof facts->description, "emulated %s", target->name);
    return 0;
}

static void emu_close(bi_gpu_handle gpu)
{
    (void)gpu;
}

static int emu_enter(bi_gpu_handle gpu, int *was)
{
    (void)gpu;
    (void)was;
    return 0;
}

static void emu_leave(bi_gpu_handle gpu, int was)
{
    (void)gpu;
    (void)was;
}

static int emu_alloc(bi_gpu_handle gpu, void **ptr, uint64_t size)
{
    (void)gpu;
    emu_counts.allocations++;
    *ptr = NULL;
    if (emu_counts.most && size > emu_counts.most)
        return EMU_NO_MEMORY;
    if ((*ptr = aligned_alloc(64, (size_t)(size + 63) / 64 * 64)))
        memset(*ptr, 0xff, (size_t)size); /* device memory is not zeroed either */
    return *ptr ? 0 : EMU_NO_MEMORY;
}

static void emu_free(bi_gpu_handle gpu, void *ptr)
{
    (void)gpu;
    free(ptr);
}

/* No time passes on the host: events have nothing to do. */
static int emu_event_new(bi_gpu_handle gpu, bi_gpu_handle *event, bool timed)
{
    (void)timed;
    *event = gpu;
    return 0;
}

static int emu_event(bi_gpu_handle gpu, bi_gpu_handle event, bi_gpu_handle stream)
{
    (void)gpu;
    (void)event;
    (void)stream;
    return 0;
}

static int emu_event_wait(bi_gpu_handle gpu, bi_gpu_handle event)
{
    (void)gpu;
    (void)event;
    emu_counts.waits++;
    return 0;
}

static int emu_event_seconds(bi_gpu_handle gpu, bi_gpu_handle from, bi_gpu_handle to,
                             double *seconds)
{
    *seconds = 0;
    return emu_event(gpu, from, to);
}

static int emu_module_load(bi_gpu_handle gpu, const struct bi_env *env, bi_gpu_handle *module,
                           const char *name, const void *image, size_t size)
{
    (void)gpu;
    (void)env;
    (void)image;
    (void)size;
    *module = (void *)(uintptr_t)name;
    return 0;
}

static void emu_module_unload(bi_gpu_handle gpu, bi_gpu_handle module)
{
    (void)gpu;
    (void)module;
}

static int emu_function(bi_gpu_handle gpu, bi_gpu_handle module, const char *name, int shared_size,
                        bi_gpu_handle *function)
{
    const struct bi_emu_target *t = gpu;
    (void)module;
    (void)shared_size;
    for (const struct bi_emu_kernel *k = t->kernels; k->name; k++)
        if (!strcmp(k->name, name)) {
            *function = (void *)(uintptr_t)k;
            return 0;
        }
    return EMU_NO_KERNEL;
}

static int emu_stream_new(bi_gpu_handle gpu, bi_gpu_handle *stream)
{
    *stream = gpu;
    return 0;
}

static void emu_stream_free(bi_gpu_handle gpu, bi_gpu_handle stream)
{
    (void)gpu;
    (void)stream;
}

static int emu_copy_in(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                       uint64_t size)
{
    (void)gpu;
    (void)stream;
    emu_counts.copies_in++;
    emu_counts.bytes_in += size;
    memcpy(dst, src, (size_t)size);
    return 0;
}

static int emu_copy_out(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                        uint64_t size)
{
    (void)gpu;
    (void)stream;
    emu_counts.copies_out++;
    emu_counts.bytes_out += size;
    memcpy(dst, src, (size_t)size);
    return 0;
}

static int emu_copy_within(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                           uint64_t size)
{
    (void)gpu;
    (void)stream;
    emu_counts.copies_within++;
    memcpy(dst, src, (size_t)size);
    return 0;
}

static int emu_launch(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle function,
                      const int32_t grid[2], int block, int shared_size, void *params)
{
    const struct bi_emu_target *t = gpu;
    const struct bi_emu_kernel *k = function;
    struct bi_emu_launch l = {.run = k->run,
                              .params = params,
                              .wave = t->wave,
                              .flushes = t->flushes,
                              .grid = {grid[0], grid[1]},
                              .block = block,
                              .shared_size = shared_size,
                              .seed = 1};
    const char *error = bi_emu_run(&l);
    (void)stream;
    emu_counts.launches++;
    if (!error)
        return 0;
    emu_counts.error = error;
    fprintf(stderr, "%s: %s\n", k->name, error);
    return EMU_FAULT;
}

static int emu_wait(bi_gpu_handle gpu, bi_gpu_handle stream)
{
    (void)gpu;
    (void)stream;
    emu_counts.waits++;
    return 0;
}

static int emu_describe(int code, char *text, size_t size)
{
    snprintf(text, size, "%s",
             code == EMU_NO_MEMORY   ? "out of memory"
             : code == EMU_NO_KERNEL ? "no such kernel"
                                     : emu_counts.error);
    return code == EMU_NO_MEMORY ? BIOINFER_NOMEM : BIOINFER_DEVICE;
}

#define EMU(target_name)                                                                           \
    static int open_##target_name(bi_gpu_handle *gpu, const struct bi_env *env, int ordinal,       \
                                  struct bi_gpu_facts *facts, struct bioinfer_error *err)          \
    {                                                                                              \
        (void)env;                                                                                 \
        (void)ordinal;                                                                             \
        (void)err;                                                                                 \
        return open_target(gpu, &bi_emu_##target_name, facts);                                     \
    }                                                                                              \
    static const struct bi_gpu_driver driver_##target_name = {.name = "emu",                       \
                                                              .open = open_##target_name,          \
                                                              .close = emu_close,                  \
                                                              .enter = emu_enter,                  \
                                                              .leave = emu_leave,                  \
                                                              .alloc = emu_alloc,                  \
                                                              .free = emu_free,                    \
                                                              .host_alloc = emu_alloc,             \
                                                              .host_free = emu_free,               \
                                                              .module_load = emu_module_load,      \
                                                              .module_unload = emu_module_unload,  \
                                                              .function = emu_function,            \
                                                              .stream_new = emu_stream_new,        \
                                                              .stream_free = emu_stream_free,      \
                                                              .copy_in = emu_copy_in,              \
                                                              .copy_out = emu_copy_out,            \
                                                              .copy_within = emu_copy_within,      \
                                                              .launch = emu_launch,                \
                                                              .wait = emu_wait,                    \
                                                              .event_new = emu_event_new,          \
                                                              .event_free = emu_module_unload,     \
                                                              .event_record = emu_event,           \
                                                              .event_wait = emu_event_wait,        \
                                                              .stream_wait = emu_event,            \
                                                              .event_seconds = emu_event_seconds,  \
                                                              .describe = emu_describe};           \
    static int device_##target_name(struct bi_device **out, const struct bi_env *env,              \
                                    const struct bi_device_params *params,                         \
                                    struct bioinfer_error *err)                                    \
    {                                                                                              \
        return bi_gpu_open(out, env, &driver_##target_name, params, err);                          \
    }                                                                                              \
    const struct bi_backend_ops emu_##target_name = {                                              \
        .name = "emu", .open = device_##target_name, BI_GPU_OPS}

EMU(nvidia);
EMU(cdna);
EMU(cdna2);
EMU(rdna);
