/* checkkernel.h - how a file of cases describes what to run; see checkkernel.c for what is
 * then checked.
 *
 * A case is a parameter struct with its numbers filled in, and a list of its arrays: the
 * harness allocates and fills them, sets pointers, strides, counts and starts, and can cut a
 * batch into other batches, because it knows which count goes along the rows of each array.
 * Sequences are what must not see each other; where an op has none, rows are cut alike. */
#ifndef BI_CHECKKERNEL_H
#define BI_CHECKKERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/counts.h"
#include "ops/op.h"

struct ck; /* the run: options, random numbers, results */

enum ck_role {
    CK_IN,
    CK_OUT,
    CK_WORK,  /* memory that a kernel may use: not compared */
    CK_WEIGHT /* input in plain layout for the reference, packed for the kernel: w of linear */
};

enum ck_fill {
    CK_NORMAL, /* mean 0, deviation `scale` */
    CK_GAIN,   /* 1 + CK_NORMAL */
    CK_WIDE,   /* from 1e-8 to 1e4 times `scale`, both signs, and some zeros and denormals */
    CK_MAPS,   /* [heads][limit]: attention maps, zero beyond the length */
    CK_IDS     /* int32 in [0, limit) */
};

enum { CK_NONE = 0, CK_ARRAYS = 11 };

struct ck_array {
    size_t pointer; /* offsetof(params, x) */
    size_t ld;      /* offsetof(params, ldx), CK_NONE = rows are packed */
    enum ck_role role;
    enum bi_axis axis; /* rows count these */
    int64_t rows;      /* BI_AXIS_FIXED only */
    int64_t width;
    enum ck_fill fill;
    double scale; /* 0 = 1 */
    int64_t limit;
    int packed; /* ld = width always: the op writes whole strides */
    int absent; /* the pointer stays NULL */
};

struct ck_case {
    const char *entry;
    void (*reference)(const void *params);
    void *params; /* numbers filled in; counts is its first member */
    size_t params_size;
    size_t start, rows; /* offsetof, CK_NONE = the params have none */
    size_t grid_start;  /* offsetof the starts of grids (kernels/grids.h), likewise */
    bool row_start;     /* the sequences of the op are rows of grids, where start says */
    struct ck_array arrays[CK_ARRAYS];
    const int32_t *lengths; /* tokens of each sequence */
    int32_t n_seqs;
    size_t gated;  /* offsetof the int32 of a gated linear (linear.h), CK_NONE = it is none: w
                      * is stacked for the reference and in blocks for the kernel */
    int gpu_only;  /* no kernel of the CPU has it */
    int cpu_only;  /* no kernel of a GPU has it */
    int in_place;  /* array 0 is given the memory of array 1, the output */
    int32_t blind; /* sequences of up to so many tokens give no NaN for NaN */
    double nmse;   /* sum of squared errors over sum of squares; 0 = 1e-12 */
    double absolute, relative; /* |error| <= absolute + relative |reference| */
    double flops;              /* for --bench */
    const char *note;          /* for --bench and messages: "H=20 d=16 S=475" */
};

/* An entry of the GPU kernels: which of its arrays are f16, and how far off it may be beside what
 * the case allows in f32. An entry that is not named, and has no f16 in its name, is all in f32. */
struct ck_entry {
    const char *name;
    size_t halves[8]; /* offsets of the pointers to f16, up to CK_END */
    double absolute, relative, nmse;
    const char *same_as; /* an entry with the same bits */
};
#define CK_AT(type, member) offsetof(struct bi_##type##_params, member)
#define CK_END SIZE_MAX

struct ck_op {
    const char *stem;
    void (*cases)(struct ck *ck);
    const struct ck_entry *entries; /* the kernel's, up to one without a name; may be NULL */
};

/* A case whose arrays the caller has made and put into params: for graphs, where what a number
 * may be depends on the others. Only outputs (and what is changed in place) are listed; they are
 * copied before a kernel runs. */
enum ck_fixed_kind {
    CK_FIXED_F32,   /* compared within the bounds */
    CK_FIXED_I32,   /* equal */
    CK_FIXED_SQUARE /* an input: the weight [size, size] of a linear, packed for the kernel */
};

enum { CK_FIXED_ARRAYS = 8 };

struct ck_fixed_array {
    size_t pointer; /* offsetof(params, y) */
    size_t size;    /* bytes */
    enum ck_fixed_kind kind;
};

struct ck_fixed {
    const char *entry;
    void (*reference)(const void *params);
    void *params; /* complete */
    size_t params_size;
    struct ck_fixed_array arrays[CK_FIXED_ARRAYS]; /* up to size 0 */
    size_t compared; /* so many bytes of each array, the first ones; 0 = all */
    double absolute, relative;
    int gpu_only; /* no kernel of the CPU has it */
    const char *note;
};

/* Every kernel against the reference, on one and several threads with tasks in random order. */
void ck_check_fixed(struct ck *ck, const struct ck_fixed *c);
/* The same of one output of n floats, at an offset of the params, up to rounding of float32. */
void ck_check_floats(struct ck *ck, const char *entry, void (*reference)(const void *params),
                     void *params, size_t params_size, size_t at, int64_t n);
/* Checks (or, with --bench, times) one case. */
void ck_check(struct ck *ck, const struct ck_case *c);
int ck_bench(const struct ck *ck); /* give the sizes worth timing instead */
/* Uniform in [low, high]. */
int64_t ck_random(struct ck *ck, int64_t low, int64_t high);

/* Lengths of a random batch: 1 to max_seqs sequences of 1 to max_length tokens, lengths near
 * multiples of the tiles among them. */
struct ck_lengths {
    int32_t n, longest, tokens, of[64];
};
struct ck_lengths ck_lengths(struct ck *ck, int max_seqs, int max_length);
/* Exactly these, up to a -1. */
struct ck_lengths ck_lengths_of(const int32_t *lengths);
/* A batch to time: so many sequences of one length. */
struct ck_lengths ck_same(int n, int length);

/* ---- for the two programs that run cases (ck_common.c) ---- */

/* The first member of either's struct ck. tiles: what lengths are near to. */
struct ck_dice {
    uint64_t seed, random;
    const int *tiles;
    int n_tiles;
};

uint64_t ck_next(uint64_t *state);       /* splitmix64 */
double ck_median(double *values, int n); /* sorts them */
void *ck_take(size_t size);              /* 64-byte aligned, or the end of the program */
/* The true sizes of a batch of sequences. */
struct bi_counts ck_counts(const int32_t *lengths, int n_seqs);
/* Writes where the grids of the sequences begin [n_seqs + 1], where their rows do [tokens + 1]. */
void ck_grid_starts(int32_t *to, const int32_t *start, int n_seqs);
void ck_row_starts(int32_t *to, const int32_t *start, int n_seqs);
/* Rows [first, end) of an array of `live` rows that belong to sequence s; shared: all. */
void ck_rows_of(const int32_t *start, enum bi_axis axis, int s, int64_t live, int64_t *first,
                int64_t *end);
bool ck_is_shared(enum bi_axis axis);
/* The sequence of row r, from s on; of an axis that is not of tokens or grids s itself. */
int ck_sequence(const int32_t *start, enum bi_axis axis, int s, int64_t r);
void ck_fill_row(struct ck *ck, const struct ck_array *a, float *row, int length);
/* Copies of what a fixed case lists, and params that point to them; "" or how two sets differ. */
void ck_fixed_copies(const struct ck_fixed *c, void **data, unsigned char *params);
void ck_fixed_compare(const struct ck_fixed *c, void *const *want, void *const *have,
                      double absolute, double relative, char text[200]);
void ck_fixed_free(void **data);
extern const struct ck_op *const ck_ops[];
extern const size_t ck_n_ops;
/* Random numbers of an op, which do not depend on what ran before. */
void ck_begin(struct ck *ck, const struct ck_op *op);
/* Returns what follows "--option=" in an argument; NULL when it is another one. */
const char *ck_value_of(const char *arg, const char *option);

/* Shorthands for arrays: pointer and stride members of a params struct. */
#define CK_ARRAY(type, p, stride) .pointer = offsetof(type, p), .ld = offsetof(type, stride)
#define CK_PLAIN(type, p) .pointer = offsetof(type, p), .ld = CK_NONE

#define OP(NAME, op, n_in, n_out, kernel) extern const struct ck_op ck_##op;
#include "ops/ops.inc"

#endif
