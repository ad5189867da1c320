/* engine.h - the engine's own structs behind the public handles. */
#ifndef BI_ENGINE_H
#define BI_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "../base/named.h"
#include "../kernels/checksum.h"
#include "../models/model.h"
#include "exec.h"

struct bioinfer_context {
    struct bi_env env;
    void (*log)(void *user, int level, const char *text);
    void *log_user;
    pthread_mutex_t log_lock;
    struct bi_named named;
    int n_threads;
    char cpu_mask[16];
    pid_t pid;                    /* threads and drivers do not survive fork */
    const struct bi_watch *watch; /* hears of settings of models; NULL but in tests */
};

/* 0, or FORKED in a child of the process that made the context, which must not be NULL. */
int bi_context_check(const struct bioinfer_context *ctx, struct bioinfer_error *err);

/* Copies a caller's parameter struct of any version: fields it does not know stay zero, fields
 * we do not know must be zero, else UNSUPPORTED. INVALID: struct_size is not set, or less than its
 * own size. After a failure, and where src is NULL = all defaults, dst stays as it is, zeros. What
 * the fields point to is not copied. */
int bi_params_copy(void *dst, size_t size, const void *src, const char *what,
                   struct bioinfer_error *err);

/* ---- store.c: weights on the device, each once per layout ---- */

/* A weight on the device, in one layout. */
struct bi_store_entry {
    int32_t n_parts, parts[BI_WEIGHT_PARTS], columns[BI_WEIGHT_PARTS];
    int64_t width; /* columns taken */
    int32_t *rows; /* [n_rows] those taken; NULL = all */
    int64_t n_rows;
    int32_t transposed;
    enum bi_layout layout;
    int32_t gate_block; /* gates and values in blocks of so many rows, 0 = as they are */
    struct bi_buffer buffer;
    const struct bi_value *value; /* while it is loaded */
    unsigned sums; /* bit i: the checksum of part i is made by the load of this entry */
    int32_t next;  /* the entry before this one of the same first part; -1 = none */
};

/* The checksum of the values of one weight. */
struct bi_weight_sum {
    enum { BI_SUM_NONE, BI_SUM_BEGUN, BI_SUM_DONE } state;
    _Atomic uint64_t sum[2];
};

/* A model's weights on the device. */
struct bi_store {
    pthread_mutex_t lock;
    bool ready; /* the lock exists */
    struct bi_store_entry *entries;
    size_t n, cap;
    int32_t *of_weight;    /* by weight of the model: the newest entry whose first part it is; -1 */
    _Atomic uint64_t size; /* bytes loaded; read by tasks while others load */
    struct bi_weight_sum *sums; /* one for each weight of the model */
    struct bi_checksum_keys keys;
    void (*checksum)(uint64_t sum[2], const struct bi_checksum_keys *keys, const float *x,
                     int64_t first, int64_t rows, int64_t width);
};

enum { BI_FINGERPRINT_SIZE = 50 };

struct bioinfer_model {
    struct bi_model base;
    struct bioinfer_context *ctx;
    const struct bi_backend_ops *ops;
    struct bi_device *device;
    struct bi_store store; /* filled on demand; everything else is immutable after open */
    struct bi_caps caps;
    char *path;
    char *name;                            /* as the weights are called */
    char fingerprint[BI_FINGERPRINT_SIZE]; /* "" until somebody asks; under the store's lock */
    bool check_weights;
    bool half;       /* operands of matrix products in float16 */
    bool half_asked; /* as --precision fp16 says, not as the family has it */
};

/* Makes model->store, with no weight loaded. Also after a failure it is freed by
 * bi_store_free(). */
int bi_store_new(struct bioinfer_model *model, struct bioinfer_error *err);
/* Frees the weights on the device and the store, which is all zeros then; safe on a zeroed one. */
void bi_store_free(struct bioinfer_model *model);
/* A weight value of a graph in the layout a launch takes. */
struct bi_weight_need {
    const struct bi_value *value;
    enum bi_layout layout;
    int32_t gate_block; /* rows in the order of bi_gate_row(), 0 = as they are */
};

/* Fills ptrs[0, n) with device addresses of weights, and loads those that are not there, several at
 * once. All or nothing: after a failure ptrs is untouched, and nothing that was loaded here stays.
 * Addresses are valid until the model closes. Any thread: it takes the store's lock. NONFINITE: a
 * weight holds a value that is not finite, which is looked for where model->check_weights is set;
 * statuses of the device, such as NOMEM, and of reading the file. */
int bi_store_load(struct bioinfer_model *model, const struct bi_weight_need *needs, size_t n,
                  void **ptrs, struct bioinfer_error *err);
/* Completes store.sums: reads the weights that no plan has read as a whole, and loads none. The
 * caller holds the store's lock. After a failure those that this call began are read by the next
 * one; statuses of reading the file. */
int bi_store_sum(struct bioinfer_model *model, struct bioinfer_error *err);

#endif
