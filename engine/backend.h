/* backend.h - what a device must do for the engine. One backend = one const table.
 *
 * The engine checks arguments once, in front; backends trust them. A device belongs to one
 * model and is used by many threads; a queue belongs to one task. Addresses (void *) are
 * device addresses: only the backend may read through them. */
#ifndef BI_BACKEND_H
#define BI_BACKEND_H

#include "../graph/rules.h"
#include "../ops/op.h"

enum {
    BI_BACKEND_ABI = 1,
    BI_SLOTS = 2,     /* batches on their way at once */
    BI_ALL_SLOTS = -1 /* wait(): for everything */
};

/* Between which memories bi_backend_ops.copy copies: the device's, and that of host_alloc. */
enum bi_copy_way { BI_COPY_WITHIN, BI_COPY_IN, BI_COPY_OUT };

struct bi_device; /* the backend's own */
struct bi_queue;

/* How a device is to be opened; zeros are defaults. */
struct bi_device_params {
    int ordinal;           /* which GPU */
    int n_threads;         /* CPU threads of one queue */
    const char *cpu_mask;  /* widest CPU kernels; NULL = best */
    const char *precision; /* the CPU's kernels: "fp32", "bf16x2"; NULL = any */
    int *n_devices;        /* NULL, or where open() tells how many there are, also when it fails */
};

/* Facts of a device, the same as long as it is open but for memory_free on the CPU; that of a GPU
 * is what was free when it was opened. */
struct bi_caps {
    const char *kernels;   /* "avx512" */
    const char *precision; /* how float32 operands are multiplied: "bf16x2"; NULL = "fp32" */
    char description[96];  /* the chip */
    uint64_t memory_size, memory_free;
    int64_t weight_panel; /* rows of a packed weight are written in multiples of this */
    int32_t gate_block;   /* rows of a block of gates (linear.h); 0 = stacked */
    uint32_t traits;      /* enum bi_target_trait (graph/rules.h): what rules ask of it */
    bool runs;            /* false: plans are recorded, results are not made (null) */
    bool half;            /* has matrix units for float16 operands */
    bool async;           /* submit() returns before the work is done */
    bool host;            /* it allocates host memory */
};

/* Memory of a device; zeros = none. */
struct bi_buffer {
    void *ptr;
    uint64_t size;
};

/* A plan ready to run: launches in order, addresses bound. */
struct bi_program {
    struct bi_launch *launches;
    int n_launches;
    struct bi_counts bucket; /* scratch and grids follow from it */
    bool loops;              /* some launches are of a loop */
    double *seconds;         /* per launch, added up when timing is on; else NULL */
    void *prepared;          /* the backend's own, made by prepare(), gone with release() */
};

struct bi_backend_ops {
    int abi;          /* BI_BACKEND_ABI */
    const char *name; /* "cpu" */
    /* Opens the device. Called once per model, any thread. *out is untouched after a failure.
     * DEVICE: there is no driver, or no such device; UNSUPPORTED: it lacks what params ask for. */
    int (*open)(struct bi_device **out, const struct bi_env *env,
                const struct bi_device_params *params, struct bioinfer_error *err);
    void (*close)(struct bi_device **device); /* NULL-safe */
    void (*caps)(const struct bi_device *device, struct bi_caps *caps);
    /* Device memory, 64-byte aligned, whose bytes are anything. free accepts a zeroed buffer, and
     * leaves one. Any thread. */
    int (*alloc)(struct bi_device *device, struct bi_buffer *buffer, uint64_t size,
                 struct bioinfer_error *err);
    void (*free)(struct bi_device *device, struct bi_buffer *buffer);
    /* Zeroed host memory, 64-byte aligned, that copies to and from the device need not stage
     * (pinned). Any thread. */
    int (*host_alloc)(struct bi_device *device, void **ptr, uint64_t size,
                      struct bioinfer_error *err);
    void (*host_free)(struct bi_device *device, void *ptr); /* NULL-safe */
    /* Bytes of a weight [n, k] in a layout, and writing of rows [first, first + rows). Many
     * threads write at once, each rows of its own; src is free again on return. Between two
     * writes of a thread nothing waits; what is written may be used after weight_flush, which
     * one thread calls at the end (NULL = nothing to wait for). */
    uint64_t (*weight_size)(const struct bi_device *device, enum bi_layout layout, int64_t n,
                            int64_t k);
    int (*weight_write)(struct bi_device *device, void *dst, enum bi_layout layout, int64_t n,
                        int64_t k, int64_t first, int64_t rows, const float *src,
                        struct bioinfer_error *err);
    int (*weight_flush)(struct bi_device *device, struct bioinfer_error *err);
    /* Has the device a kernel for a launch? Its addresses tell no more than how they are aligned.
     * NULL = for all of them. Any thread. */
    bool (*takes)(const struct bi_device *device, const struct bi_launch *launch);
    /* Resolves entry names of launches to functions, also by their types and sizes. UNSUPPORTED or
     * INTERNAL: there is none for one of them, and what the launches have is not to be used. */
    int (*module)(struct bi_device *device, struct bi_launch *launches, int n,
                  struct bioinfer_error *err);
    int (*queue_new)(struct bi_queue **out, struct bi_device *device, struct bioinfer_error *err);
    void (*queue_free)(struct bi_queue **queue); /* NULL-safe */
    /* Readies a queue for a program (scratch); may allocate. Called when a plan is compiled
     * or bound anew, never between runs. Anything that an earlier call made goes first. After a
     * failure the program is not to be submitted; release() frees what was made. */
    int (*prepare)(struct bi_queue *queue, struct bi_program *program, struct bioinfer_error *err);
    /* Forgets what prepare() made. NULL = nothing to do. */
    void (*release)(struct bi_queue *queue, struct bi_program *program);
    /* A batch is upload, submit, download, in this order, for one of BI_SLOTS slots; programs
     * of different slots run in the order of their submits and share nothing but the
     * activation block. All three may return before their work is done; host memory from
     * host_alloc must then stay as it is until wait(slot). */
    int (*upload)(struct bi_queue *queue, int slot, void *dst, const void *src, uint64_t size,
                  struct bioinfer_error *err);
    /* The whole program, in order. counts: host copy of what the input block holds. */
    int (*submit)(struct bi_queue *queue, int slot, const struct bi_program *program,
                  const struct bi_counts *counts, struct bioinfer_error *err);
    int (*download)(struct bi_queue *queue, int slot, void *dst, const void *src, uint64_t size,
                    struct bioinfer_error *err);
    /* Copies of parts of a batch's blocks, from before its submit or to behind it: they run in the
     * order of submits. May return before the work is done. */
    int (*copy)(struct bi_queue *queue, enum bi_copy_way way, void *dst, const void *src,
                uint64_t size, struct bioinfer_error *err);
    /* Returns when the slot's download is done. BI_ALL_SLOTS: when the queue is empty, also
     * after an upload or a submit that failed. A failure may be that of any work before it on the
     * device; whether all has ended then only BI_ALL_SLOTS tells. */
    int (*wait)(struct bi_queue *queue, int slot, struct bioinfer_error *err);
    /* Has submit() ask now and then while it computes, on the thread that called it: where the
     * answer is not 0, the rest is left out and submit() gives CANCELLED. ask NULL: it asks no
     * more. NULL = a backend that does not ask, as its submits return at once or are short. */
    void (*ask)(struct bi_queue *queue, int (*ask)(void *user), void *user);
};

enum { BI_MAX_ORDINAL = 99 }; /* hosts have up to 64 devices of a kind */

/* Backends, numbered from 0: cpu, cuda, hip, and those of tests; NULL past the end and below 0. */
const struct bi_backend_ops *bi_backend(int index);
/* The backend and the number, 0 to 99, of a device name: "cpu", "cuda:0"; without a number it is 0.
 * NULL, "" and "auto" are the CPU. Whether the device is there is not looked at. DEVICE: this build
 * has none of this name, or the number has other characters or a 0 in front; *out is NULL. */
int bi_backend_find(const struct bi_backend_ops **out, int *ordinal, const char *device,
                    struct bioinfer_error *err);

extern const struct bi_backend_ops bi_backend_cpu;       /* cpu.c: packed SIMD kernels */
extern const struct bi_backend_ops bi_backend_cuda;      /* cuda.c over gpu.c */
extern const struct bi_backend_ops bi_backend_hip;       /* hip.c over gpu.c */
extern const struct bi_backend_ops bi_backend_reference; /* host.c: the ops' references */
extern const struct bi_backend_ops bi_backend_null;      /* host.c: records, runs nothing */

#endif
