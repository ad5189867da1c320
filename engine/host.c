/* host.c - two backends for tests: `reference` runs the loops that define the ops, `null`
 * records plans and runs nothing, so plans can be tested without a device. */
#include <string.h>

#include "backend.h"

struct bi_device {
    const struct bi_env *env;
    bool runs;
};

struct bi_queue {
    struct bi_device *device;
};

static int host_open(struct bi_device **out, const struct bi_env *env, bool runs,
                     struct bioinfer_error *err)
{
    struct bi_device *d = bi_zalloc(env, sizeof *d);
    if (!d)
        return bi_fail(err, BIOINFER_NOMEM, "device");
    d->env = env;
    d->runs = runs;
    *out = d;
    return 0;
}

static int reference_open(struct bi_device **out, const struct bi_env *env,
                          const struct bi_device_params *params, struct bioinfer_error *err)
{
    (void)params;
    return host_open(out, env, true, err);
}

static int null_open(struct bi_device **out, const struct bi_env *env,
                     const struct bi_device_params *params, struct bioinfer_error *err)
{
    (void)params;
    return host_open(out, env, false, err);
}

static void host_close(struct bi_device **device)
{
    if (*device)
        bi_free((*device)->env, *device);
    *device = NULL;
}

static void host_caps(const struct bi_device *device, struct bi_caps *caps)
{
    *caps = (struct bi_caps){
        .kernels = device->runs ? "reference" : "none", .weight_panel = 1, .runs = device->runs};
}

static int host_alloc(struct bi_device *device, struct bi_buffer *buffer, uint64_t size,
                      struct bioinfer_error *err)
{
    if (!(buffer->ptr = bi_zalloc(device->env, (size_t)size)))
        return bi_fail(err, BIOINFER_NOMEM, "%llu bytes of memory", (unsigned long long)size);
    buffer->size = size;
    return 0;
}

static void host_free(struct bi_device *device, struct bi_buffer *buffer)
{
    bi_free(device->env, buffer->ptr);
    *buffer = (struct bi_buffer){0};
}

static int host_host_alloc(struct bi_device *device, void **ptr, uint64_t size,
                           struct bioinfer_error *err)
{
    struct bi_buffer b = {0};
    int st = host_alloc(device, &b, size, err);
    *ptr = b.ptr;
    return st;
}

static void host_host_free(struct bi_device *device, void *ptr)
{
    bi_free(device->env, ptr);
}

static uint64_t host_weight_size(const struct bi_device *device, enum bi_layout layout, int64_t n,
                                 int64_t k)
{
    (void)device;
    (void)layout;
    return (uint64_t)n * (uint64_t)k * sizeof(float);
}

static int host_weight_write(struct bi_device *device, void *dst, enum bi_layout layout, int64_t n,
                             int64_t k, int64_t first, int64_t rows, const float *src,
                             struct bioinfer_error *err)
{
    (void)device;
    (void)layout;
    (void)n;
    (void)err;
    memcpy((float *)dst + first * k, src, (size_t)(rows * k) * sizeof *src);
    return 0;
}

static int host_module(struct bi_device *device, struct bi_launch *launches, int n,
                       struct bioinfer_error *err)
{
    (void)device;
    (void)err;
    for (int i = 0; i < n; i++)
        launches[i].function = launches[i].op;
    return 0;
}

static int host_queue_new(struct bi_queue **out, struct bi_device *device,
                          struct bioinfer_error *err)
{
    struct bi_queue *q = bi_zalloc(device->env, sizeof *q);
    if (!q)
        return bi_fail(err, BIOINFER_NOMEM, "queue");
    q->device = device;
    *out = q;
    return 0;
}

static void host_queue_free(struct bi_queue **queue)
{
    if (*queue)
        bi_free((*queue)->device->env, *queue);
    *queue = NULL;
}

static int host_prepare(struct bi_queue *queue, struct bi_program *program,
                        struct bioinfer_error *err)
{
    (void)queue;
    (void)program;
    (void)err;
    return 0;
}

static int host_copy(struct bi_queue *queue, int slot, void *dst, const void *src, uint64_t size,
                     struct bioinfer_error *err)
{
    (void)queue;
    (void)slot;
    (void)err;
    memcpy(dst, src, (size_t)size);
    return 0;
}

static int host_copy_kept(struct bi_queue *queue, enum bi_copy_way way, void *dst, const void *src,
                          uint64_t size, struct bioinfer_error *err)
{
    (void)way;
    return host_copy(queue, 0, dst, src, size, err);
}

static int host_submit(struct bi_queue *queue, int slot, const struct bi_program *program,
                       const struct bi_counts *counts, struct bioinfer_error *err)
{
    const struct bi_launch *l = program->launches;
    int n = queue->device->runs ? program->n_launches : 0;
    (void)slot;
    (void)err;
    for (int first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && l[end].phase == l[first].phase;)
            end++;
        const int32_t trips = l[first].phase & 1 ? bi_counter_value(counts, l[first].trips) : 1;
        for (int32_t trip = 0; trip < trips; trip++)
            for (int i = first; i < end; i++)
                l[i].op->reference(l[i].params);
    }
    return 0;
}

static int host_wait(struct bi_queue *queue, int slot, struct bioinfer_error *err)
{
    (void)queue;
    (void)slot;
    (void)err;
    return 0;
}

#define HOST_OPS                                                                                   \
    .abi = BI_BACKEND_ABI, .close = host_close, .caps = host_caps, .alloc = host_alloc,            \
    .free = host_free, .host_alloc = host_host_alloc, .host_free = host_host_free,                 \
    .weight_size = host_weight_size, .weight_write = host_weight_write, .module = host_module,     \
    .queue_new = host_queue_new, .queue_free = host_queue_free, .prepare = host_prepare,           \
    .upload = host_copy, .submit = host_submit, .download = host_copy, .wait = host_wait,          \
    .copy = host_copy_kept

const struct bi_backend_ops bi_backend_reference = {
    .name = "reference", .open = reference_open, HOST_OPS};
const struct bi_backend_ops bi_backend_null = {.name = "null", .open = null_open, HOST_OPS};
