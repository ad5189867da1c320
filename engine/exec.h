/* exec.h - the executor: plans, buffers and batches of one task, whatever its family.
 *
 * A task packs records into the input block and cuts results out of the output
 * block; everything between is here: the queue, the cache of plans, device memory, staging,
 * the memory limit, the figures. A batch is
 *
 *     bi_exec_begin   plan for the batch, a slot whose input block is to be filled
 *     bi_exec_input   where named graph inputs lie in that block (counts are written already)
 *     bi_exec_submit  one upload, one submit of the whole program, one download; returns at once
 *     bi_exec_wait    until the output block is there: bi_exec_output
 *
 * There are two slots, so a batch can be filled, or the results of one be cut, while another one
 * computes. One thread at a time. */
#ifndef BI_EXEC_H
#define BI_EXEC_H

#include "../graph/plan.h"
#include "../graph/rules.h"
#include "backend.h"

struct bioinfer_model;

enum {
    BI_EXEC_INPUTS = 48,
    BI_EXEC_KEPT = 16,   /* kept inputs of a graph */
    BI_EXEC_COPIES = 64, /* pieces of kept values that a batch reads and writes */
    BI_PLAN_CACHE = 64,
    BI_PLANS_MANY = 24, /* behind so many, a plan that is larger than a batch serves it */
    BI_KEY_SIZE = 192
};

/* Sets n_tokens, n_seqs, n_rows and longest of the graph and writes plain ops. Builders' errors
 * stay in the graph; a status is for a failure that is not a builder's. */
typedef int (*bi_graph_writer)(const void *user, const void *shape, struct bi_graph *g,
                               struct bioinfer_error *err);

/* All that a plan follows from, compared as bytes. */
struct bi_plan_key {
    bi_graph_writer build;
    uint32_t n_sizes, wide;
    _Alignas(8) unsigned char shape[BI_KEY_SIZE]; /* that of the recipe, and 0 behind it */
};

/* How a plan's graph comes about. */
struct bi_recipe {
    bi_graph_writer build;
    const void *user; /* is the same for all graphs of an executor */
    /* A graph follows from these shape_size bytes, which have no padding and tell plans apart. The
     * first n_sizes int64 of them are sizes that a plan has room for, those of the bucket
     * (bi_bucket), or every batch compiles anew. A plan with more room gives the same bits, as true
     * sizes are data; so once there are many plans, one that is there is taken rather than the
     * exact one made. */
    const void *shape;
    size_t shape_size, n_sizes;
    bool wide; /* stays float32 */
    /* Kept values that do not fit beside the batch are not moved to host memory: it is TOO_LONG. */
    bool kept_stay;
    const char *no_rules;        /* rules left out, comma between; NULL = none */
    struct bi_rule_trace *trace; /* NULL = none */
};

/* Builds and verifies; fuses and lowers too when `fuse` is set. No address yet. The caller frees
 * *out by bi_graph_free(); it is NULL after a failure. INVALID: no_rules names no rule, which is
 * found with `fuse` alone; statuses of the builders, which come first, and of bi_rules_apply(). */
int bi_plan_graph(struct bi_graph **out, const struct bioinfer_model *model,
                  const struct bi_recipe *recipe, bool fuse, struct bioinfer_error *err);
/* Hands out that graph as text, by one call of `write`; with `trace`, whatever `fused` says, a line
 * for each firing instead, and then the names of all rules with how often each fired. recipe->trace
 * is overwritten, and void then. IO: write gave other than 0; else as bi_plan_graph(), and write is
 * not called. */
int bi_plan_dump(const struct bioinfer_model *model, struct bi_recipe *recipe, bool fused,
                 bool trace, int (*write)(void *user, const char *text, size_t len), void *user,
                 struct bioinfer_error *err);

/* An input of a plan, by its name. */
struct bi_plan_input {
    const char *name;
    uint64_t offset; /* in the input block */
    uint64_t step;   /* bytes between those of two trips; 0: all trips read the same */
};

/* A compiled graph: its memory and, for each slot, its launches. */
struct bi_plan {
    struct bi_plan_key key;
    struct bi_graph *graph;
    struct bi_memory_plan memory;
    struct bi_program programs[BI_SLOTS];        /* one for the buffers of each slot */
    uint64_t bound[BI_SLOTS];                    /* to that generation of them, 0 = never */
    size_t n_launches;                           /* the most that a program has */
    enum bi_op_kind *op_of;                      /* per launch: op for the profile */
    struct bi_plan_input inputs[BI_EXEC_INPUTS]; /* inputs that the graph uses */
    int n_inputs;
    struct bi_plan_input kept[BI_EXEC_KEPT]; /* kept values that the graph reads */
    int n_kept;
    uint64_t used; /* for the cache */
};

/* The shape that the graph of a plan was made for. */
static inline const void *bi_plan_shape(const struct bi_plan *plan)
{
    return plan->key.shape;
}

/* The key of the plan of a recipe, whose shape has at most BI_KEY_SIZE bytes (asserted). */
struct bi_plan_key bi_plan_key_of(const struct bi_recipe *recipe);
/* Builds the recipe's graph, fuses it and plans its memory; nothing is on the device yet. The
 * caller frees *out by bi_plan_free(). INTERNAL: the graph uses more than BI_EXEC_INPUTS inputs or
 * BI_EXEC_KEPT kept ones; statuses of bi_plan_graph() and bi_memory_plan(). */
int bi_plan_new(struct bi_plan **out, const struct bioinfer_model *model,
                const struct bi_recipe *recipe, struct bioinfer_error *err);
/* Brings the plan's weights onto the device, those that are there already excepted; as
 * bi_store_load() of all of them. */
int bi_plan_load(const struct bi_plan *plan, struct bioinfer_model *model,
                 struct bioinfer_error *err);
/* Gives every launch of a slot's program its addresses, which lie in these three blocks of device
 * memory and in the weights, and loads those that are missing. Nothing of the blocks is kept but
 * their addresses. After a failure the program is not to be run, and may be bound again. INTERNAL:
 * an input that has to be a weight is none; else as bi_store_load() and the backend's module(). */
int bi_plan_bind(struct bi_plan *plan, int slot, struct bioinfer_model *model, void *input,
                 void *activation, void *output, struct bioinfer_error *err);
/* Frees a plan and its programs; what a backend prepared of them is released before, by the caller.
 * NULL-safe. */
void bi_plan_free(struct bi_plan **plan, const struct bi_env *env);
/* Sizes a few per octave: n rounded up to 4, 5, 6 or 7 quarters of a power of two, at least 16,
 * which is also what n <= 0 gives. */
int64_t bi_bucket(int64_t n);

/* A kept value: bytes that one program gives and others read. */
struct bi_kept {
    struct bi_buffer device;
    void *host;    /* there instead, where memory of the device did not do */
    uint64_t size; /* bytes */
    bool spare;    /* nobody's: for the next one of its size */
    struct bi_kept *next;
};

/* A piece of a kept value, and where it lies in a block of a batch. */
struct bi_exec_copy {
    struct bi_kept *kept;
    uint64_t at, offset, size;
    bool gives; /* from the output block to the kept value; else from there to the input block */
};

struct bi_exec_copies {
    struct bi_exec_copy of[BI_EXEC_COPIES];
    int n;
    bool too_many;
};

/* One batch on its way. Read only for callers, but for the bytes at `input`, and `copies`, which
 * bi_kept_take() and bi_kept_give() fill. */
struct bi_exec_slot {
    int index;
    enum { BI_SLOT_IDLE, BI_SLOT_FILLING, BI_SLOT_RUNNING, BI_SLOT_DONE } state;
    struct bi_plan *plan;
    struct bi_counts counts;
    double pairs;
    unsigned char *input, *output; /* host */
    struct bi_exec_copies *copies;
    uint64_t input_size, output_size;
    struct bi_buffer device_input, device_output;
    uint64_t generation; /* generation of the addresses programs are bound to */
};

/* Bytes of a slot's blocks, on the device and on the host. */
static inline uint64_t bi_slot_size(const struct bi_exec_slot *s)
{
    return s->device_input.size + s->device_output.size + s->input_size + s->output_size;
}

/* The executor of one task. */
struct bi_exec {
    struct bioinfer_model *model;
    const struct bi_env *env;
    struct bi_queue *queue;
    struct bi_plan *plans[BI_PLAN_CACHE];
    struct bi_exec_slot slots[BI_SLOTS];
    struct bi_exec_copies copies[BI_SLOTS];
    struct bi_buffer activation; /* shared: programs run one after the other */
    struct bi_kept *kept;        /* all of them */
    uint64_t kept_size;          /* their bytes on the device */
    uint64_t generation, clock, memory_limit;
    bool profiling;
    struct bioinfer_profile profile; /* tasks add records, residues, seconds */
    struct bioinfer_op_profile ops[BI_OP_COUNT], ops_shown[BI_OP_COUNT];
};

/* memory_limit: bytes that batches and kept values may take beside the weights; 0 or less = nine
 * tenths of what was free when the model was opened, its weights not taken off; no limit where the
 * device does not tell. The model must live longer. *out is NULL after a failure: NOMEM, or a
 * status of the device. */
int bi_exec_new(struct bi_exec **out, struct bioinfer_model *model, int64_t memory_limit,
                struct bioinfer_error *err);
void bi_exec_free(struct bi_exec **exec); /* NULL-safe; waits for what is on its way */
/* Has batches to come ask, on the thread that submits them, whether to stop: some times a second on
 * the CPU, never on other devices. Where the answer is not 0, bi_exec_submit() gives CANCELLED. ask
 * NULL: they ask no more. */
void bi_exec_ask(struct bi_exec *exec, int (*ask)(void *user), void *user);

/* A batch that is to be computed. */
struct bi_exec_batch {
    const struct bi_recipe *recipe;
    struct bi_counts counts; /* true sizes */
    double pairs;            /* sum of squared lengths: attention's share of the bucket; 0 = as
                              * all other ops */
};

/* Finds or compiles the plan. *fits: a batch of it is within the memory limit, where nothing is
 * kept beside it. */
int bi_exec_fits(struct bi_exec *exec, const struct bi_recipe *recipe, bool *fits,
                 struct bioinfer_error *err);
/* Finds or compiles the plan and takes a slot that is not at work, whose batch is over then: one
 * that was waited for must have been cut, and one that was begun must have been submitted. The
 * counts stand in its input block. 0: *slot is to be filled and submitted.
 * 1: not beside the batch that is on its way (no slot, or not the memory): wait for that one,
 * cut it, and call again; never where none is. TOO_LONG with figures: more than the memory limit,
 * also alone, or a count of more than 31 bits. NOMEM: the device has no more, also with all other
 * blocks freed. *slot is NULL unless 0 is returned. */
int bi_exec_begin(struct bi_exec *exec, const struct bi_exec_batch *batch,
                  struct bi_exec_slot **slot, struct bioinfer_error *err);
/* Where the graph's input of that name lies, in host memory; NULL = this plan does not use it, or
 * it is a kept one. */
void *bi_exec_input(const struct bi_exec_slot *slot, const char *name);
/* The same of one trip, from 0, of an input that each trip has its own of (bi_input_trips); the
 * trip is not checked. */
void *bi_exec_input_trip(const struct bi_exec_slot *slot, const char *name, int64_t trip);
/* Starts the batch, which was begun, and returns at once. On failure the slot is idle again, and
 * nothing reads its blocks; a batch in the other slot is still to be waited for. INTERNAL: too many
 * copies of kept values; else the backend's statuses. */
int bi_exec_submit(struct bi_exec *exec, struct bi_exec_slot *slot, struct bioinfer_error *err);
/* Waits until the outputs of a submitted batch are there. The slot's blocks stay valid until the
 * next bi_exec_begin(), whatever that gives. INTERNAL: the slot was not submitted, or was waited
 * for. After a failure it is idle, and there are no outputs; a batch in the other slot is still to
 * be waited for. */
int bi_exec_wait(struct bi_exec *exec, struct bi_exec_slot *slot, struct bioinfer_error *err);
/* An output of the batch, in host memory, never NULL, and *ld, the elements between its rows (1 at
 * rank 1). The slot was waited for. A kept output is not there: it is not to be asked for. */
const void *bi_exec_output(const struct bi_exec_slot *slot, const struct bi_output *output,
                           int64_t *ld);
/* ---- kept.c ---- */

/* Takes room for a kept value, in host memory where that of the device, or the memory limit, does
 * not do. The bytes are anything; size 0 takes a little. No batch is being filled. The caller gives
 * it back by bi_kept_free(). NOMEM: neither memory has room; *out is NULL after any failure. */
int bi_kept_new(struct bi_kept **out, struct bi_exec *exec, uint64_t size,
                struct bioinfer_error *err);
/* Gives it back, when no batch on its way reads or writes it, and sets *kept to NULL; NULL-safe.
 * Memory on the device stays for the next one; that of the host is freed. */
void bi_kept_free(struct bi_exec *exec, struct bi_kept **kept);
/* Says of a batch that is being filled: `size` bytes of kept input `input`, from byte `to` on, are
 * those of the kept value from byte `from` on. An input that the graph does not read is passed
 * over, as is size 0; that the bytes lie within both is not checked. */
void bi_kept_take(const struct bi_exec_slot *slot, const char *input, uint64_t to,
                  struct bi_kept *kept, uint64_t from, uint64_t size);
/* The same of kept output `output`, from byte `from` on: `size` bytes go to byte `to`. Of both,
 * more than BI_EXEC_COPIES for a batch make its submit fail with INTERNAL. */
void bi_kept_give(const struct bi_exec_slot *slot, const struct bi_output *output, uint64_t from,
                  struct bi_kept *kept, uint64_t to, uint64_t size);
/* For the executor: queues the copies of a batch, those to kept values or those from them, in the
 * order of the calls above. After a failure some are queued. INTERNAL: there are too many. */
int bi_kept_copy(struct bi_exec *exec, const struct bi_exec_slot *slot, bool gives,
                 struct bioinfer_error *err);
/* For the executor: frees those that are nobody's, moves all to host memory while no batch is on
 * its way, and frees all. A failure of the second leaves each value whole, some of them moved. */
void bi_kept_drop_spare(struct bi_exec *exec);
/* Bytes of all kept values but spare ones, wherever they lie. */
uint64_t bi_kept_in_use(const struct bi_exec *exec);
int bi_kept_spill(struct bi_exec *exec, struct bioinfer_error *err);
void bi_kept_drop_all(struct bi_exec *exec);

/* Waits for everything on its way and forgets it: for a run that ends in an error. All slots are
 * idle then, also those that were waited for; failures of what was on its way are not told. Plans,
 * memory and kept values stay. */
void bi_exec_abandon(struct bi_exec *exec);

/* Fills as much of *profile as its struct_size says, with sums since the executor was made; ops,
 * those that were timed alone, stay valid until the next call. INVALID: struct_size is not set, and
 * nothing is filled. */
int bi_exec_get_profile(struct bi_exec *exec, struct bioinfer_profile *profile);

#endif
