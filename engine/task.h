/* task.h - what a task is to the runner.
 *
 * A task is what a user asks of a family of models: embed, score, design. It turns records into
 * units, gives the graphs that compute their items, and makes results of what comes out. The runner
 * (engine/runner.c) does everything between, for all tasks in one way:
 *
 *     read      the task gives the next unit and its items    a window of units is read ahead
 *     pack      the runner sorts items, fills batches without padding, and copies their inputs
 *     compute   through the executor, one batch while the next one is packed
 *     collect   the task copies what an item gave out of the batch
 *     next      the task may give a unit further items, which need those it had
 *     result    the task hands out a unit whose items are all done, in the order of units
 *
 * A batch that memory does not hold is computed in halves. An item whose values left the range of
 * float16 is computed once more in float32. Neither changes the bytes of any other item. */
#ifndef BI_TASK_H
#define BI_TASK_H

#include "engine.h"

struct bi_unit;

/* One entry of a batch: a sequence, or a copy of it with one residue masked. */
struct bi_item {
    struct bi_unit *unit;
    int32_t number;        /* within the unit, from 0 */
    int32_t program;       /* the task's graph for it: items of one batch have the same */
    struct bi_counts size; /* added to the counts of its batch; `longest`, n_steps: the largest */
    /* A part that items have in common, told by its address; NULL = none. It counts, and is packed,
     * once for items that follow each other in a batch. */
    const void *part;
    struct bi_counts part_size;
    int64_t weight; /* items are computed by weight, the heaviest first */
    enum { BI_ITEM_WAITS, BI_ITEM_WIDE, BI_ITEM_DONE } state; /* WIDE: waits for float32 */
};

/* One record and what it gives; a task's own struct begins with one. */
struct bi_unit {
    uint64_t number; /* in the order of reading, from 0; set by the runner */
    char *id;        /* for messages; freed by the runner */
    int status;      /* not 0: the unit has no result ... */
    char *message;   /* ... and why; NULL = the status alone says it; freed by the runner */
    struct bi_item *items;
    size_t n_items;       /* 0 where the status was known at once */
    size_t n_left;        /* items that are not done; set by the runner */
    bool is_over;         /* no items follow: a task that knows sets it with the last ones, so that
                           * the device need not wait for `next`; else the runner finds out */
    bool has_piece;       /* set with items that are not the last ones: when they are done, result()
                           * hands out what there is so far before next() */
    uint64_t result_size; /* bytes that wait until the result is handed out */
    bool was_wide;        /* an item was computed again in float32 */
};

/* An input of a task's graphs that the runner packs: rows of the items, one behind the other. */
struct bi_task_input {
    const char *name;
    enum bi_axis axis;   /* how many rows an item has: that count of its size */
    size_t row_size;     /* bytes */
    enum bi_axis rebase; /* int32 rows count from the item's first row of this axis; FIXED: they are
                          * copied as they are */
    bool starts;         /* the runner makes int32 [n + 1]: where the rows of `rebase` begin for
                          * each row of `axis`, and where they end for the last one. Those of an
                          * item are shared evenly among its rows of `axis`; FIXED: it has one */
};

/* Where an item lies in a batch. */
struct bi_batch_place {
    const struct bi_exec_slot *slot;
    int64_t index;       /* the items before it */
    int64_t n_items;     /* items of the batch */
    struct bi_counts at; /* their counts: the rows of this item begin there */
    bool part_begins;    /* the rows of the part of this item begin there, too */
};

struct bioinfer_task;

/* A batch as the task's graph sees it. */
struct bi_batch {
    struct bi_counts counts;      /* the sum over its items */
    struct bi_counts capacity;    /* the same, rounded up so that few plans are compiled */
    struct bi_item *const *items; /* [n_items]; NULL where a graph is asked for without any */
    size_t n_items;
    bool wide; /* in float32 */
};

struct bi_task_def {
    const char *name;
    const struct bi_family_kind *kind; /* the families that serve it; NULL = it needs no model */
    size_t unit_size;
    struct bi_counts smallest; /* a batch that every graph of the task is sound for */
    /* The counts of a batch of one record of so many residues; NULL = `smallest`. */
    struct bi_counts (*one)(const struct bioinfer_task *t, int64_t n_residues);
    const struct bi_task_input *inputs;
    int n_inputs;
    /* Fills the next unit, which is all zeros: 1; 0 = there is none; NONE_NOW = none at present;
     * < 0 = a status that ends the run. */
    int (*read)(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err);
    /* The share of batch_tokens that items of these counts take; NULL = their tokens, or, where
     * that is more, a 256th of their pairs of tokens. */
    int64_t (*load)(const struct bi_counts *counts);
    /* How many of items[0, n), of one program and within the load, one batch takes; NULL = all. */
    size_t (*take)(const struct bioinfer_task *t, struct bi_item *const *items, size_t n);
    /* Memory does not hold n items like this one in a batch: NULL, or take() may allow fewer from
     * now on. For one item, gives those that are computed in its place: their number, 0 = none, and
     * the unit gets the status. `instead` is NULL where n is more than 1. */
    size_t (*too_large)(struct bioinfer_task *t, const struct bi_item *item, size_t n,
                        struct bi_item ***instead);
    /* The graph for a batch. The recipe's pointers hold until the next call. NOMEM, TOO_LONG: the
     * batch is computed in halves; any other status ends the run. */
    int (*recipe)(struct bioinfer_task *t, const struct bi_batch *b, struct bi_recipe *recipe,
                  struct bioinfer_error *err);
    /* The rows of input `input` of def->inputs; NULL = this item leaves them as they are. */
    const void *(*rows)(const struct bioinfer_task *t, const struct bi_item *item, int input);
    /* Changes packed inputs, and fills those named in made[0, n_made), for one item at a time;
     * NULL = nothing. */
    void (*fill)(const struct bioinfer_task *t, const struct bi_item *item,
                 const struct bi_batch_place *place);
    const char *const *made;
    int n_made;
    /* 1: the batch had more than its graph has room for; the sizes of its items are set anew, and
     * it is computed again. NULL = there is room for all that is packed. TOO_LONG or NOMEM: it is
     * computed in halves; any other status ends the run. */
    int (*again)(struct bioinfer_task *t, struct bi_item *const *items,
                 const struct bi_batch_place *place, struct bioinfer_error *err);
    /* Copies the outputs of an item; also a second time, when its batch is run again; not of a unit
     * that has a status. NONFINITE: a value is not finite, and the item is computed again in
     * float32, or, where it was or all are, the unit gets that status. NOMEM or TOO_LONG: the batch
     * is run again in halves; any other status ends the run. */
    int (*collect)(struct bioinfer_task *t, struct bi_item *item,
                   const struct bi_batch_place *place, struct bioinfer_error *err);
    /* Gives a unit without a status further items when those it had are done: 1; 0 = there are
     * none; < 0 = a status that ends the run. NULL = units have all items at once. */
    int (*next)(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err);
    /* Computes a unit without a graph; bi_task_run_alone() or bi_task_run_direct() takes then the
     * place of bi_task_run(), and of the functions above this one read() alone is used. Other than
     * 0 ends the run; what is wrong with the unit alone is its status (bi_unit_fail()). */
    int (*direct)(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err);
    /* Runs a task that is made of another one, `inner`, from its source to its sink; none of the
     * functions above is called then. NULL = the runner does. */
    int (*run)(struct bioinfer_task *t, struct bioinfer_error *err);
    /* Hands out a unit, also one that has a status, or, where it is not over, a piece of it. Other
     * than 0 ends the run with that status. */
    int (*result)(struct bioinfer_task *t, struct bi_unit *u, struct bioinfer_error *err);
    /* Frees what the task put into a unit, also into one that read() left half made. */
    void (*drop)(struct bioinfer_task *t, struct bi_unit *u);
    /* Is called at the end of each run, also of one that failed; NULL = nothing. */
    void (*end)(struct bioinfer_task *t);
    /* Turns the times of a task without a graph on, and gives its figures. */
    void (*set_profile)(struct bioinfer_task *t, bool on);
    const struct bioinfer_profile *(*profile)(struct bioinfer_task *t);
    /* Frees what the task owns, or half of it; the executor is gone already. */
    void (*free)(struct bioinfer_task *t);
};

struct bioinfer_task {
    const struct bi_task_def *def;
    struct bioinfer_context *ctx;
    struct bioinfer_model *model; /* NULL where def has `direct`, as is exec */
    const struct bi_env *env;
    struct bi_exec *exec;        /* a task reads its figures alone */
    struct bioinfer_task *inner; /* the task that this one is made of, and closes; NULL = none */
    bioinfer_source source;
    bioinfer_sink sink;
    void *source_user, *sink_user; /* these four: of the run at hand */
    int64_t batch_tokens;
    int64_t window_load; /* this load is read ahead; 0 = that of some batches */
    int (*progress)(void *user, uint64_t records, uint64_t residues);
    void *progress_user;
    uint64_t part_residues; /* done of units that are not complete, for progress */
    bool wide;              /* all in float32, whatever operands the model takes */
    uint64_t n_wide;        /* units that were computed again in float32; counted by the runner */
    atomic_flag busy;
};

/* ---- task.c ---- */

/* Makes a task of `size` bytes, all zeros, that needs no model; bioinfer_task_close() frees it.
 * INVALID: out or ctx is NULL; FORKED. *out is NULL after a failure. */
int bi_task_new_direct(struct bioinfer_task **out, struct bioinfer_context *ctx,
                       const struct bi_task_def *def, size_t size, struct bioinfer_error *err);
/* The same over a model, which must not be NULL (INVALID), nor of another kind (UNSUPPORTED). */
int bi_task_new(struct bioinfer_task **out, const struct bioinfer_model *model,
                const struct bi_task_def *def, size_t size, struct bioinfer_error *err);

/* ---- runner.c ---- */

/* In recipe(): is a batch of this recipe within the memory limit? */
int bi_task_fits(struct bioinfer_task *t, const struct bi_recipe *recipe, bool *fits,
                 struct bioinfer_error *err);
/* Makes the executor of a task whose def is set, and checks the names of the rules that its recipe
 * leaves out. batch_tokens: 0 or less = what fills the device, or stays in a cache. memory_limit:
 * as bi_exec_new() has it. INVALID: no rule has such a name; statuses of the recipe
 * and of bi_plan_graph(). After a failure bi_task_close() is still to be called. */
int bi_task_open(struct bioinfer_task *t, const struct bioinfer_model *model, int64_t batch_tokens,
                 int64_t memory_limit, struct bioinfer_error *err);
/* Has batches to come ask whether to stop, as bi_exec_ask() has it; the run gives CANCELLED then.
 * ask NULL: they ask no more. The task was opened, and the caller has entered it. */
void bi_task_ask(struct bioinfer_task *t, int (*ask)(void *user), void *user);
/* Frees the executor, not the task; also of one that was not opened, or was closed. */
void bi_task_close(struct bioinfer_task *t);
/* One thread at a time: FORKED in a child of the context's process, else MISUSE when another one is
 * inside, or this one is, from a callback. 0: bi_task_leave() must follow; else it must not. */
int bi_task_enter(struct bioinfer_task *t, struct bioinfer_error *err);
void bi_task_leave(struct bioinfer_task *t);
/* Loads the weights of the task's graph; without it the first run does. After a failure what was
 * there before stays, and the task may run. Neither this nor what follows enters the task. */
int bi_task_load(struct bioinfer_task *t, struct bioinfer_error *err);
/* Hands out the graph for a batch of these counts as text (trace: how often each rule fired,
 * whatever `fused` says) by one call of `write`. IO: write gave other than 0; statuses of the
 * recipe and of bi_plan_dump(). */
int bi_task_dump(struct bioinfer_task *t, const struct bi_counts *counts, int fused, int trace,
                 int (*write)(void *user, const char *text, size_t len), void *user,
                 struct bioinfer_error *err);
/* As bi_exec_get_profile(). The task was opened. */
int bi_task_get_profile(struct bioinfer_task *t, struct bioinfer_profile *profile);
/* Runs the task until read() ends. 0: every unit was handed out, those with a status of their own
 * too. NONE_NOW: so it was, and read() has none at present, also asked a second time. After a
 * failure of read() the units before it are computed and handed out first, and a failure in that is
 * returned in its place. Any other status ends the run at once; units that were not handed out by
 * then are dropped. CANCELLED: progress gave other than 0. The task may run again in any case. */
int bi_task_run(struct bioinfer_task *t, struct bioinfer_error *err);
/* Runs a task whose def has `direct`: up to BI_DIRECT_AHEAD units are read and not handed out. One
 * is read on the caller's thread while others are computed and handed out by a thread each, in
 * order.
 * Units that were read before a failure of read() are handed out; after one of direct() or
 * result(), which is returned in place of one of read(), none is. NONE_NOW as bi_task_run(). Where
 * no thread can be started it is bi_task_run_alone(). The task needs def and env alone. */
enum { BI_DIRECT_AHEAD = BIOINFER_PAIRS_AHEAD };
int bi_task_run_direct(struct bioinfer_task *t, struct bioinfer_error *err);
/* The same with one unit at a time, on the caller's thread: each is handed out before the next one
 * is read. */
int bi_task_run_alone(struct bioinfer_task *t, struct bioinfer_error *err);
/* Gives a unit a status instead of a result; the first message stays, a later status replaces. The
 * message is not NULL, and is copied; where there is no memory for it, the unit has the status
 * alone. */
void bi_unit_fail(const struct bi_env *env, struct bi_unit *u, int status, const char *message);
/* Why the unit has no result: its message, else the name of its status; "" = it has one. Never
 * NULL; it belongs to the unit. */
const char *bi_unit_message(const struct bi_unit *u);

/* Where a packed input of an item's batch begins, not the rows of this item, which begin at
 * place->at; NULL = the graph does not use it. */
void *bi_batch_input(const struct bi_batch_place *place, const char *name);
/* The same of an input that each trip, from 0, of a stage has its own of (bi_input_trips); the trip
 * is not checked. */
void *bi_batch_input_trip(const struct bi_batch_place *place, const char *name, int64_t trip);
/* An output of the batch, from its first row on, never NULL, and the elements between its rows. As
 * bi_exec_output(). */
const void *bi_batch_output(const struct bi_batch_place *place, const struct bi_output *output,
                            int64_t *ld);

#endif
