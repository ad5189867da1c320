/* engine.h - the engine's own structs behind the public handles. */
#ifndef BI_ENGINE_H
#define BI_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "../graph/plan.h"
#include "../graph/rules.h"
#include "../models/model.h"
#include "backend.h"

struct bioinfer_context {
    struct bi_env env;
    void (*log)(void *user, int level, const char *text);
    void *log_user;
    pthread_mutex_t log_lock;
    int n_threads;
    char cpu_mask[16];
    pid_t pid; /* OpenMP and drivers do not survive fork */
};

/* 0, or FORKED in a child of the process that made the context. */
int bi_context_check(const struct bioinfer_context *ctx, struct bioinfer_error *err);

/* Copies a caller's parameter struct of any version: fields it does not know stay zero, fields
 * we do not know must be zero. src NULL = all defaults. */
int bi_params_copy(void *dst, size_t size, const void *src, const char *what,
                   struct bioinfer_error *err);

/* ---- store.c: weights on the device, each once per layout ---- */

struct bi_store_entry {
    int32_t n_parts, parts[BI_WEIGHT_PARTS];
    enum bi_layout layout;
    struct bi_buffer buffer;
};

struct bi_store {
    pthread_mutex_t lock;
    bool ready; /* the lock exists */
    struct bi_store_entry *entries;
    size_t n, cap;
    uint64_t size;
};

struct bioinfer_model {
    struct bi_model base;
    struct bioinfer_context *ctx;
    const struct bi_backend_ops *ops;
    struct bi_device *device;
    struct bi_store store; /* filled on demand; everything else is immutable after open */
    struct bi_caps caps;
    char *path;
    char *name; /* as the weights are called */
    char fingerprint[33];
    bool check_weights;
    bool half; /* operands of matrix products in float16 */
};

/* bioinfer_model_open() on a given backend; NULL = the one params name. For backends that only
 * tests link, such as the host emulation. */
int bi_model_open_on(bioinfer_model **out, bioinfer_context *ctx, const char *path,
                     const struct bioinfer_model_params *params,
                     const struct bi_backend_ops *ops, struct bioinfer_error *err);

int bi_store_new(struct bi_store *store, struct bioinfer_error *err);
void bi_store_free(struct bioinfer_model *model);
/* Device address of a weight value in a layout, loading it when it is not there. */
int bi_store_get(struct bioinfer_model *model, const struct bi_value *value,
                 enum bi_layout layout, void **ptr, struct bioinfer_error *err);

/* ---- plan: compile.c ---- */

enum bi_input_kind { BI_IN_IDS, BI_IN_SCALE, BI_IN_START, BI_IN_ROWS, BI_IN_COUNT };

struct bi_plan {
    struct bi_shape shape; /* the bucket */
    struct bi_wants wants; /* layers points into the session */
    struct bi_graph *graph;
    struct bi_memory_plan memory;
    struct bi_program program;
    enum bi_op_kind *op_of;         /* per launch: op for the profile */
    int64_t input_at[BI_IN_COUNT];  /* offset in the input block, -1 = not used */
    uint64_t bound;                 /* generation of the session's buffers, 0 = never */
    uint64_t used;                  /* for the cache */
};

struct bi_compile {
    struct bioinfer_model *model;
    struct bi_shape shape;
    struct bi_wants wants;
    const char *no_rules;
    struct bi_rule_trace *trace;
};

/* Builds, fuses and plans; no address yet. `fuse` false stops before the rules. */
int bi_plan_graph(struct bi_graph **out, const struct bi_compile *c, bool fuse,
                  struct bioinfer_error *err);
int bi_plan_new(struct bi_plan **out, const struct bi_compile *c, struct bioinfer_error *err);
/* Gives every launch its addresses. */
int bi_plan_bind(struct bi_plan *plan, struct bioinfer_model *model, void *input,
                 void *activation, void *output, struct bioinfer_error *err);
void bi_plan_free(struct bi_plan **plan, const struct bi_env *env);
/* Sizes a few per octave: n rounded up to 4, 5, 6 or 7 quarters of a power of two. */
int64_t bi_bucket(int64_t n);

/* ---- session.c ---- */

enum { BI_PLAN_CACHE = 64 };

/* One sequence of a batch. */
struct bi_item {
    const int32_t *ids;
    int64_t n_tokens;
    int64_t mask_at;       /* token to replace by the mask, -1 = none */
    const int64_t *rows;   /* tokens whose logits are wanted (BI_WANT_ROW_LOGITS) */
    int64_t n_rows;
};

/* What a batch left behind, valid until the next one. */
struct bi_batch {
    const struct bi_plan *plan;
    const unsigned char *output; /* host copy of the output block */
    const int32_t *start;        /* [n_items + 1] */
    int64_t n_items;
};

struct bioinfer_session {
    struct bioinfer_model *model;
    struct bioinfer_session_params params;
    const struct bi_env *env;
    struct bi_queue *queue;
    struct bi_wants wants;      /* layers ascending, each once */
    int *layers, *layer_order;  /* layer_order: as asked for, each once */
    char *no_rules;
    struct bi_plan *plans[BI_PLAN_CACHE];
    struct bi_buffer input, activation, output; /* device */
    unsigned char *host_input, *host_output;
    uint64_t host_input_size, host_output_size;
    uint64_t generation, clock;
    int64_t batch_tokens;
    uint64_t memory_limit;
    bool profiling;
    atomic_flag busy;
    /* figures */
    struct bioinfer_profile profile;
    struct bioinfer_op_profile ops[BI_OP_COUNT];
    struct bioinfer_op_profile ops_shown[BI_OP_COUNT];
};

/* Runs one batch. TOO_LONG with figures when it does not fit the memory limit. */
int bi_session_batch(struct bioinfer_session *s, const struct bi_wants *wants,
                     const struct bi_item *items, int64_t n_items, struct bi_batch *batch,
                     struct bioinfer_error *err);
/* EMPTY or TOO_LONG for a record of so many tokens, specials included. */
int bi_session_check_length(const struct bioinfer_session *s, const char *id, int64_t n_tokens,
                            struct bioinfer_error *err);
/* One thread at a time: MISUSE when another one is inside. */
int bi_session_enter(struct bioinfer_session *s, struct bioinfer_error *err);
void bi_session_leave(struct bioinfer_session *s);

double bi_now(void); /* seconds, monotonic */

#endif
