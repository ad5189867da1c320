/* pickle_machine.h - the unpickler's stack machine; internal to pickle.c, which runs
 * it, and pickle_names.c, which knows what names mean. */
#ifndef BI_PICKLE_MACHINE_H
#define BI_PICKLE_MACHINE_H

#include "pickle.h"

enum {
    BI_PICKLE_MAX_STACK = 1000000,
    BI_PICKLE_MAX_MARKS = 10000,
    BI_PICKLE_MAX_MEMO = 1 << 24,
    BI_PICKLE_MAX_OPCODES = 100000000,
    BI_PICKLE_MAX_ITEMS = 100000000,
    BI_PICKLE_MAX_LINE = 1024,
    BI_PICKLE_INPUT_SIZE = 16384,
    BI_PICKLE_MEMO_PAGE = 256,
    BI_PICKLE_MAX_CHUNK = 1024,
    BI_PICKLE_MAX_METADATA = 64, /* for one tensor: looked through for each */
};
#define BI_PICKLE_BASE_MEMORY ((uint64_t)64 << 20)

struct bi_pickle_machine {
    struct bi_pickle *p;
    const struct bi_env *env;
    struct bioinfer_error *err;
    /* input */
    const struct bi_file *file;
    uint64_t begin, end, at; /* at: next byte to take */
    uint64_t buffer_at;
    size_t buffered;
    uint64_t op_at; /* where the current opcode stands */
    /* stack */
    struct bi_pickle_value *stack;
    size_t depth, stack_cap;
    size_t *marks;
    size_t n_marks, mark_cap;
    /* memo: pages of BI_PICKLE_MEMO_PAGE values */
    struct bi_pickle_value **pages;
    size_t n_pages, page_cap;
    size_t n_memo; /* entries set: the next index of MEMOIZE */
    uint64_t n_items;
    bool stopped;
    uint8_t buffer[BI_PICKLE_INPUT_SIZE];
};

/* Each int returned is a status; `st` receives one when the result is NULL. */

/* ---- pickle.c ---- */

/* bi_fail() with the file and the byte of the opcode in front; returns `status`. no_memory: the
 * same with NOMEM. */
int bi_pickle_fail(struct bi_pickle_machine *m, int status, const char *fmt, ...) BI_PRINTF(3, 4);
int bi_pickle_no_memory(struct bi_pickle_machine *m);
/* Arena memory within the bound that makes a small pickle unable to use much. NULL with *st: LIMIT
 * beyond the bound, NOMEM. */
void *bi_pickle_alloc(struct bi_pickle_machine *m, size_t size, int *st);
/* A value of a type, its content zero. */
struct bi_pickle_value bi_pickle_make(enum bi_pickle_type type);
/* An empty tuple, list, set, dict or object. */
int bi_pickle_new_list(struct bi_pickle_machine *m, enum bi_pickle_type type,
                       struct bi_pickle_value *out);
/* Appends n values; `exact`: a new chunk has room for those alone (a tuple). LIMIT: beyond
 * BI_PICKLE_MAX_ITEMS, or the memory; list->n may count values then that are not there. */
int bi_pickle_append(struct bi_pickle_machine *m, struct bi_pickle_list *list,
                     const struct bi_pickle_value *values, size_t n, bool exact);
/* Puts a value on the stack. LIMIT: BI_PICKLE_MAX_STACK are there. */
int bi_pickle_push(struct bi_pickle_machine *m, struct bi_pickle_value v);
/* 0 where n values or more lie above the last mark, or on the stack without one, else FORMAT. */
int bi_pickle_need(struct bi_pickle_machine *m, size_t n);
/* The value with `below` others above it, until the next push; bi_pickle_need() comes first. */
static inline struct bi_pickle_value *bi_pickle_top(struct bi_pickle_machine *m, size_t below)
{
    return &m->stack[m->depth - 1 - below];
}

/* ---- pickle_names.c: one opcode each ---- */

/* GLOBAL and STACK_GLOBAL: pushes a name, or the dtype it stands for; a name without a meaning is
 * pushed as well. Both parts have at most BI_PICKLE_MAX_LINE bytes. FORMAT: a NUL in one;
 * UNSUPPORTED: with `strict`, a name without a meaning. */
int bi_pickle_push_symbol(struct bi_pickle_machine *m, const char *module, size_t module_len,
                          const char *name, size_t name_len);
/* BINPERSID: ('storage', class, key, location, n[, view]) becomes a storage, the same one for a key
 * that was there. FORMAT: it is no such tuple, or the key was there with another class or n;
 * UNSUPPORTED: a whole module, an unknown or quantised class, a view. */
int bi_pickle_persistent_id(struct bi_pickle_machine *m);
/* REDUCE and NEWOBJ: callee, args -> result. `extra` values lie above (NEWOBJ_EX), and are dropped.
 * A callee without a meaning gives an opaque value, whatever its arguments. FORMAT: args is no
 * tuple, callee no name, or a call that is known has other arguments, or a tensor that leaves its
 * storage; UNSUPPORTED: a conjugate or negative tensor; LIMIT: too many dimensions. */
int bi_pickle_reduce(struct bi_pickle_machine *m, size_t extra);
/* BUILD: object, state -> object. An object takes the state's attributes, a tensor of old files its
 * storage; containers and opaque values stay as they are. FORMAT: any other value, or a state that
 * does not fit. */
int bi_pickle_build(struct bi_pickle_machine *m);

#endif
