/* op.h - what an op is: shapes, meaning, cost, and how its launch is described.
 *
 * An op never talks to a device, so it can be tested, fused, captured and printed without
 * one. One op = one file ops/<stem>.c; its parameters are in kernels/<entry>.h. */
#ifndef BI_OP_H
#define BI_OP_H

#include "../graph/graph.h"
#include "../kernels/call.h"

enum { BI_PARAMS_SIZE = 320 };

/* How an input that is a weight lies in memory. */
enum bi_layout {
    BI_LAYOUT_PLAIN,         /* row-major float32 */
    BI_LAYOUT_LINEAR,        /* as the backend packs the matrix of a linear layer */
    BI_LAYOUT_PANELS,        /* as the backend packs a matrix of float32 for other kernels */
    BI_LAYOUT_LINEAR_F16,    /* the same, rounded to float16, for float16 operands */
    BI_LAYOUT_LINEAR_HALVES, /* in two terms of float16, for operands of HALVES (halves.h) */
    BI_LAYOUT_LINEAR_TWIN,   /* five taps as eight, in float16 (linear_twin.h) */
    BI_LAYOUT_LINEAR_TERMS   /* in two terms of float16: Hopper's, for LINEAR (linear_terms.h) */
};

/* One kernel launch, ready to submit: entry name and parameters with addresses. */
struct bi_launch {
    const char *entry; /* "linear": resolved by the backend's module() */
    const struct bi_op *op;
    const void *function;  /* as module() found it */
    double flops, bytes;   /* at the bucket's sizes */
    int32_t phase;         /* odd: of a loop with its neighbours of this phase ... */
    enum bi_counter trips; /* ... which runs as often as this count says */
    enum bi_dtype in_dtype[BI_NODE_IN], out_dtype[BI_NODE_OUT];
    _Alignas(16) unsigned char params[BI_PARAMS_SIZE];
};

/* The launch as rows of kernels see it, on a device of so many multiprocessors; it points to the
 * launch's params, and is valid as long as these are. */
struct bi_call bi_launch_call(const struct bi_launch *launch, int32_t units);

/* Where the values of one node are. ld: elements between rows of a rank 2 value. */
struct bi_bind {
    const struct bi_counts *counts;
    void *in[BI_NODE_IN];
    int64_t in_ld[BI_NODE_IN];
    void *out[BI_NODE_OUT];
    int64_t out_ld[BI_NODE_OUT];
    int32_t gate_block; /* rows of a block of gates (linear.h); 0 = the matrices are stacked */
};

/* Which values of a node may be float16 where a graph is lowered (graph/lower.c). Bit i of a mask
 * speaks of input i or output i. */
struct bi_half {
    unsigned out;     /* outputs that the kernels can write in float16 */
    unsigned in;      /* inputs that the kernels can read in float16 */
    unsigned all;     /* inputs that are all float16 or none is, with output 0 where `out` has it */
    unsigned if_out;  /* inputs that are float16 only if output 0 is */
    unsigned for_out; /* inputs that must be float16 for output 0 to be */
};

/* An op whose output is a part of the memory of input 0; it runs nothing. */
enum bi_view {
    BI_VIEW_NONE,     /* the op runs */
    BI_VIEW_ELEMENTS, /* bi_op.first counts elements of a row */
    BI_VIEW_ROWS,     /* it counts rows */
    BI_VIEW_TRIPS,    /* input 0 is the part: each trip of its stage makes rows of the output */
    BI_VIEW_STEPS     /* it counts rows from the part of a trip of its stage to the next trip's */
};

/* How a weight of a node lies. */
struct bi_weight_form {
    enum bi_layout layout;
    bool gated; /* in blocks of gates and values, as the backend has them (bi_bind.gate_block) */
};

/* An op: one constant of this type for each, bi_op_<stem>. */
struct bi_op {
    const char *name;
    /* Sets rank, shape, dtype and axis of node->out from its inputs, or says why not. It is called
     * again where a graph is lowered or checked, so it adds nothing to the graph. */
    int (*infer)(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err);
    /* Fills launch->entry and launch->params. NULL: a view, nothing to run. */
    void (*launch)(const struct bi_graph *g, const struct bi_node *node, const struct bi_bind *bind,
                   struct bi_launch *launch);
    /* The plain loops that define the op; sums in double; weights in plain layout. */
    void (*reference)(const void *params);
    /* Multiply and add count as two. */
    void (*cost)(const struct bi_graph *g, const struct bi_node *node, double *flops,
                 double *bytes);
    /* Appends the nodes of the derivative by the inputs: dy[i] is that of the result by output i,
     * BI_NONE where it is 0, and dx[k] is to be set for each input k of the mask `wanted`; it stays
     * BI_NONE where it is 0. The node is a copy. NULL: the op has no gradient. */
    void (*grad)(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                 unsigned wanted, bi_value_id *dx);
    enum bi_layout layout[BI_NODE_IN]; /* for inputs that are weights */
    enum bi_view view;
    int64_t (*first)(const struct bi_node *node); /* views: where the part begins */
    bool in_place;                                /* runs, and its output 0 is input 0, changed */
    /* An input that must be there: bit i = input i */
    unsigned required;
    /* Outputs, a bit each, that are not written where nobody reads them: NULL for launch. */
    unsigned spare;
    struct bi_half half;
    bool pairs; /* the work grows with the squares of lengths */
    /* Changes the masks for a node whose attributes or inputs ask for others. NULL: never. */
    void (*half_of)(const struct bi_graph *g, const struct bi_node *node, struct bi_half *half);
    /* Changes the form of input k, a weight, for a node whose attributes ask for another. NULL:
     * never. */
    void (*weight_form)(const struct bi_node *node, int k, struct bi_weight_form *form);
};

extern const struct bi_op *const bi_ops[BI_OP_COUNT];
#define OP(NAME, stem, n_in, n_out, kernel) extern const struct bi_op bi_op_##stem;
#include "ops.inc"

enum bi_field_kind {
    BI_FIELD_INT,    /* int32_t */
    BI_FIELD_ALWAYS, /* int32_t, shown where it is 0, too */
    BI_FIELD_REAL,   /* float */
    BI_FIELD_SCALE,  /* float, not shown where it is 1 */
    BI_FIELD_SMALL   /* float, shown in three digits */
};

enum { BI_FIELD_SIZE = 4 };

/* A field of an op's attributes, as dumps show it. */
struct bi_field {
    const char *name;  /* the member's; an op has it once */
    const char *shown; /* a name; NULL: the field is not shown */
    enum bi_field_kind kind;
    const char *const *names; /* by value; NULL = it is shown as a number */
};

/* Fields in the order of the struct. */
struct bi_fields {
    size_t n;
    const struct bi_field *of;
};

/* The fields of an op's attributes; where it has none n is 0 and `of` NULL. */
struct bi_fields bi_op_fields(enum bi_op_kind op);

/* How many inputs, optional ones included, and outputs a node of this op has. */
int bi_op_n_in(enum bi_op_kind op);
int bi_op_n_out(enum bi_op_kind op);

/* ---- helpers for the files of ops ---- */

/* Input i of a node; NULL = it is left out. Valid until a value is added to the graph. */
static inline const struct bi_value *bi_in(const struct bi_graph *g, const struct bi_node *node,
                                           int i)
{
    return node->in[i] == BI_NONE ? NULL : &g->values[node->in[i]];
}

/* Output i of a node, never NULL. Valid until a value is added to the graph. */
static inline struct bi_value *bi_out(struct bi_graph *g, const struct bi_node *node, int i)
{
    return &g->values[node->out[i]];
}

/* Where the part of a view begins, in elements: first(), times ld, that of its input, where it
 * counts rows. The op is a view with `first`. */
int64_t bi_view_first(const struct bi_node *node, int64_t ld);
/* How input k of a node, which is a weight, lies: the op's layout, in float16 beside such operands,
 * unless the op's weight_form changes it. Such operands: input 0 has been made float16. */
struct bi_weight_form bi_weight_form(const struct bi_graph *g, const struct bi_node *node, int k);
/* Sets an output to the given shape, of float32 where it is not float16 already; another type is to
 * be set behind it. Dimensions from `rank` on become 1. */
void bi_out_shape(struct bi_graph *g, const struct bi_node *node, int slot, enum bi_axis axis,
                  int rank, const int64_t *shape);
/* The same, with the shape and the axis of input i. */
void bi_out_like(struct bi_graph *g, const struct bi_node *node, int slot, int i);
/* Checks rank (and, when >= 0, the last dimension) of input i, whatever its type. This and all
 * other checks called bi_expect_... give 0, or INTERNAL with the op and what does not fit; a
 * missing input does not. */
int bi_expect(const struct bi_graph *g, const struct bi_node *node, int i, int rank, int64_t last,
              struct bioinfer_error *err);
/* Checks that input i is the int32 [n_seqs + 1] table of sequence starts. */
int bi_expect_start(const struct bi_graph *g, const struct bi_node *node, int i,
                    struct bioinfer_error *err);
/* Checks that input i is the int32 table of starts of the sequences of input x: [n_seqs + 1], or,
 * where x has rows of grids, [n_tokens + 1] on axis TOKENS, as each row of a grid is a sequence. */
int bi_expect_starts_of(const struct bi_graph *g, const struct bi_node *node, int i, int x,
                        struct bioinfer_error *err);
/* "[1280, 320]" into a static-size buffer. */
struct bi_shape_text {
    char text[96];
};
/* The shape in that form, "[]" at rank 0. */
struct bi_shape_text bi_shape_text(const struct bi_value *v);
/* Is output `slot` of a node not written, as nobody reads it? Only where the op's `spare` has it;
 * uses (n_uses) were counted before. */
bool bi_op_is_spared(const struct bi_graph *g, const struct bi_node *node, int slot);
/* Bytes of reading every input and writing every output that is not spared once. */
double bi_bytes(const struct bi_graph *g, const struct bi_node *node);

#endif
