/* gpu.h - what gpu.c asks of a driver. cuda.c fills the table through dlopen; the tests fill it
 * with the host emulation. Every function returns 0 or the driver's own error code, which
 * `describe` turns into a status and words. Handles are the driver's. */
#ifndef BI_GPU_ENGINE_H
#define BI_GPU_ENGINE_H

#include "../kernels/gpu/gpu_entries.h"
#include "../kernels/gpu/sm90/sm90_maps.h"
#include "backend.h"

struct bi_cpu_kernels;

typedef void *bi_gpu_handle;

/* Facts of a GPU, as its driver tells them. */
struct bi_gpu_facts {
    char description[96];
    uint64_t memory_size, memory_free;
    int n_devices;       /* the driver has, also when open() fails then; 0 = there is no driver */
    int n_units;         /* streaming multiprocessors, compute units */
    const char *arch[4]; /* blobs it can load, best first; NULL ends */
    bool near_f32;       /* matrix units take float32, or terms of it */
    bool hopper;         /* sm_90a is the first: tensor maps, and launches that begin early */
};

struct bi_gpu_driver {
    const char *name; /* "cuda" */
    /* Device number `ordinal`. Fills err itself: the driver may be absent. */
    int (*open)(bi_gpu_handle *gpu, const struct bi_env *env, int ordinal,
                struct bi_gpu_facts *facts, struct bioinfer_error *err);
    void (*close)(bi_gpu_handle gpu);
    /* Around every group of calls below: makes the device current on this thread. was: for
     * leave, what was current before. */
    int (*enter)(bi_gpu_handle gpu, int *was);
    void (*leave)(bi_gpu_handle gpu, int was);
    int (*alloc)(bi_gpu_handle gpu, void **ptr, uint64_t size);
    void (*free)(bi_gpu_handle gpu, void *ptr);
    int (*host_alloc)(bi_gpu_handle gpu, void **ptr, uint64_t size); /* pinned */
    void (*host_free)(bi_gpu_handle gpu, void *ptr);
    int (*module_load)(bi_gpu_handle gpu, const struct bi_env *env, bi_gpu_handle *module,
                       const char *name, const void *image, size_t size);
    void (*module_unload)(bi_gpu_handle gpu, bi_gpu_handle module);
    int (*function)(bi_gpu_handle gpu, bi_gpu_handle module, const char *name, int shared_size,
                    bi_gpu_handle *function);
    int (*stream_new)(bi_gpu_handle gpu, bi_gpu_handle *stream);
    void (*stream_free)(bi_gpu_handle gpu, bi_gpu_handle stream);
    int (*copy_in)(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                   uint64_t size);
    int (*copy_out)(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                    uint64_t size);
    int (*copy_within)(bi_gpu_handle gpu, bi_gpu_handle stream, void *dst, const void *src,
                       uint64_t size);
    int (*launch)(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle function,
                  const int32_t grid[2], int block, int shared_size, void *params);
    /* Rows of f16, ld elements apart, as the copy engine of Hopper sees them: boxes of box_columns
     * (16, 32 or 64, which are also the swizzle) x box_rows. Rows may overlap: of ld a driver
     * checks that it is a multiple of 8, though its text speaks of rows and padding. NULL: the
     * device has none. */
    int (*tensor_map)(bi_gpu_handle gpu, struct bi_tensor_map *map, const void *base, int64_t rows,
                      int64_t columns, int64_t ld, int box_rows, int box_columns);
    /* Recording of launches for replay. capture_begin NULL: there is none. */
    int (*capture_begin)(bi_gpu_handle gpu, bi_gpu_handle stream);
    int (*capture_end)(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle *graph);
    int (*graph_launch)(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle graph);
    void (*graph_free)(bi_gpu_handle gpu, bi_gpu_handle graph);
    int (*wait)(bi_gpu_handle gpu, bi_gpu_handle stream);
    /* Events: what was put on a stream before `record`. timed: event_seconds may ask for it. */
    int (*event_new)(bi_gpu_handle gpu, bi_gpu_handle *event, bool timed);
    void (*event_free)(bi_gpu_handle gpu, bi_gpu_handle event);
    int (*event_record)(bi_gpu_handle gpu, bi_gpu_handle event, bi_gpu_handle stream);
    int (*event_wait)(bi_gpu_handle gpu, bi_gpu_handle event); /* the host waits */
    int (*stream_wait)(bi_gpu_handle gpu, bi_gpu_handle stream, bi_gpu_handle event);
    int (*event_seconds)(bi_gpu_handle gpu, bi_gpu_handle from, bi_gpu_handle to, double *seconds);
    /* NOMEM, DEVICE_LOST (its state is undefined from then on) or DEVICE; words into text. */
    int (*describe)(int code, char *text, size_t size);
    bool needs_images; /* modules come from the blobs of the library */
    bool keeps_images; /* images stay in memory as long as the module, which points into them */
};

/* Where the code of an entry is, in the best form that the device loads; NULL = not in this build,
 * or in no form for the device. It belongs to the library. */
struct bi_gpu_blob;
const struct bi_gpu_blob *bi_gpu_find_blob(const struct bi_gpu_facts *facts,
                                           const struct bi_gpu_entry *e);

/* The entry that a launch becomes on a device (gpu_entries.h), an element of a constant table; NULL
 * = none takes it. */
const struct bi_gpu_entry *bi_gpu_entry_of(const struct bi_gpu_facts *facts,
                                           const struct bi_launch *launch);

/* Writes the params of an entry of gpu_entries_sm90.h: tensor maps, then `params` of its op. out:
 * e->size bytes, at most BI_GPU_SM90_PARAMS, 64-byte aligned. n_tokens: of the bucket. 0, or the
 * driver's code where it makes no tensor map; out is not to be used then. Maps without an address
 * are zeros. Other entries have no such params: e->sm90 is not NULL. */
enum { BI_GPU_SM90_PARAMS = 1280 };
int bi_gpu_sm90_params(const struct bi_gpu_driver *driver, bi_gpu_handle gpu,
                       const struct bi_gpu_entry *e, const void *params, int64_t n_tokens,
                       void *out);

/* The driver tables of this build; the emulation's is in the tests. */
extern const struct bi_gpu_driver bi_gpu_driver_cuda;

/* The open() of a backend over `driver`; the rest of its table is BI_GPU_OPS. *out is untouched
 * after a failure; *params->n_devices is set then, too, unless memory for the device itself was not
 * there. DEVICE: no driver, or no such GPU; else the statuses of the driver's open(). */
int bi_gpu_open(struct bi_device **out, const struct bi_env *env,
                const struct bi_gpu_driver *driver, const struct bi_device_params *params,
                struct bioinfer_error *err);

/* Members of struct bi_backend_ops (backend.h), which says of each what it gives, on which threads
 * it is called, and what holds after a failure. A driver's error becomes NOMEM, DEVICE_LOST or
 * DEVICE with its words. After DEVICE_LOST the driver is not called any more but to close it: what
 * needs it fails with DEVICE_LOST, wait() without waiting, and what is freed is forgotten. Facts,
 * sizes, takes(), a flush where no weight was written and a program without launches go on. */
void bi_gpu_close(struct bi_device **device);
void bi_gpu_caps(const struct bi_device *device, struct bi_caps *caps);
int bi_gpu_alloc(struct bi_device *device, struct bi_buffer *buffer, uint64_t size,
                 struct bioinfer_error *err);
void bi_gpu_free(struct bi_device *device, struct bi_buffer *buffer);
int bi_gpu_host_alloc(struct bi_device *device, void **ptr, uint64_t size,
                      struct bioinfer_error *err);
void bi_gpu_host_free(struct bi_device *device, void *ptr);
/* gpu_rows.c: a row of some layouts is made of a whole row in float32, of others number by number.
 * unit: k or 1, the least that is written at once; size: bytes that a unit takes; write: count
 * numbers, a multiple of the unit, of rows of width k. */
size_t bi_gpu_rows_unit(enum bi_layout layout, size_t k);
size_t bi_gpu_rows_size(enum bi_layout layout, size_t unit);
void bi_gpu_rows_write(const struct bi_cpu_kernels *host, enum bi_layout layout, void *dst,
                       const float *src, size_t count, size_t k);
uint64_t bi_gpu_weight_size(const struct bi_device *device, enum bi_layout layout, int64_t n,
                            int64_t k);
int bi_gpu_weight_write(struct bi_device *device, void *dst, enum bi_layout layout, int64_t n,
                        int64_t k, int64_t first, int64_t rows, const float *src,
                        struct bioinfer_error *err);
int bi_gpu_weight_flush(struct bi_device *device, struct bioinfer_error *err);
bool bi_gpu_takes(const struct bi_device *device, const struct bi_launch *launch);
int bi_gpu_module(struct bi_device *device, struct bi_launch *launches, int n,
                  struct bioinfer_error *err);
int bi_gpu_queue_new(struct bi_queue **out, struct bi_device *device, struct bioinfer_error *err);
void bi_gpu_queue_free(struct bi_queue **queue);
int bi_gpu_prepare(struct bi_queue *queue, struct bi_program *program, struct bioinfer_error *err);
void bi_gpu_release(struct bi_queue *queue, struct bi_program *program);
int bi_gpu_upload(struct bi_queue *queue, int slot, void *dst, const void *src, uint64_t size,
                  struct bioinfer_error *err);
int bi_gpu_submit(struct bi_queue *queue, int slot, const struct bi_program *program,
                  const struct bi_counts *counts, struct bioinfer_error *err);
int bi_gpu_copy(struct bi_queue *queue, enum bi_copy_way way, void *dst, const void *src,
                uint64_t size, struct bioinfer_error *err);
int bi_gpu_download(struct bi_queue *queue, int slot, void *dst, const void *src, uint64_t size,
                    struct bioinfer_error *err);
int bi_gpu_wait(struct bi_queue *queue, int slot, struct bioinfer_error *err);

/* The members above as initialisers of a table, without name and open. */
#define BI_GPU_OPS                                                                                 \
    .abi = BI_BACKEND_ABI, .close = bi_gpu_close, .caps = bi_gpu_caps, .alloc = bi_gpu_alloc,      \
    .free = bi_gpu_free, .host_alloc = bi_gpu_host_alloc, .host_free = bi_gpu_host_free,           \
    .weight_size = bi_gpu_weight_size, .weight_write = bi_gpu_weight_write,                        \
    .weight_flush = bi_gpu_weight_flush, .takes = bi_gpu_takes, .module = bi_gpu_module,           \
    .queue_new = bi_gpu_queue_new, .queue_free = bi_gpu_queue_free, .prepare = bi_gpu_prepare,     \
    .release = bi_gpu_release, .upload = bi_gpu_upload, .submit = bi_gpu_submit,                   \
    .download = bi_gpu_download, .wait = bi_gpu_wait, .copy = bi_gpu_copy

#endif
