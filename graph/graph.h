/* graph.h - the static graph: values, nodes, and the pure functions over them.
 *
 * A model's build() is called with concrete sizes, so every shape is a number. Dimension 0
 * of a packed value is the bucket's size; the true size of a batch travels as data
 * (kernels/counts.h), and `axis` says which count limits it.
 *
 * Life of a graph: bi_graph_new, inputs, weights and ops by their builders, outputs, verify,
 * rules (rules.h), dead code, verify, plan (plan.h), free. Everything lives in one arena.
 *
 * Builders return a value id; after a failed one (no memory, shapes that do not fit) the
 * graph keeps its first error, later builders return BI_NONE at once, and
 * bi_graph_status() tells. So a model's build() reads straight down. BI_NONE itself may be passed
 * on to any of them then. */
#ifndef BI_GRAPH_H
#define BI_GRAPH_H

#include <assert.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/buf.h"
#include "../base/dtype.h"
#include "../kernels/counts.h"
#include "../kernels/list_sums.h"
#include "../kernels/norm_act.h"

enum bi_op_kind {
#define OP(NAME, stem, n_in, n_out, kernel) BI_OP_##NAME,
#include "../ops/ops.inc"
    BI_OP_COUNT
};

enum { BI_NONE = -1, BI_GRAPH_RANK = 4, BI_NODE_IN = 16, BI_NODE_OUT = 7, BI_WEIGHT_PARTS = 3 };
enum { BI_GRAPH_STAGES = 1024, BI_TRIPS_MAX = 64, BI_GRAPH_FOLLOWS = 8 };

typedef int32_t bi_value_id;

enum bi_value_kind { BI_VALUE_INPUT, BI_VALUE_WEIGHT, BI_VALUE_NODE };

/* An array that an op makes or reads; a value id is its index in bi_graph.values. */
struct bi_value {
    enum bi_value_kind kind;
    enum bi_dtype dtype;
    int rank;
    int64_t shape[BI_GRAPH_RANK];
    enum bi_axis axis; /* dimension 0 counts these */
    const char *name;  /* inputs and weights */
    int32_t node;      /* NODE: its producer ... */
    int32_t slot;      /* ... and which of its outputs */
    /* WEIGHT: the model's weights stacked along dimension 0 */
    int32_t n_parts, parts[BI_WEIGHT_PARTS];
    int32_t columns[BI_WEIGHT_PARTS]; /* first column taken of each part */
    const int32_t *rows; /* [shape[0]] those taken of the one part; NULL = all of all parts */
    /* Not 0: the one part, or those of its rows, [N, transposed C] becomes [C, transposed N], the
     * last of its blocks of C columns first. 1 is a transposed matrix. rows: [N] then. */
    int32_t transposed;
    int32_t n_uses;      /* by live nodes and outputs; kept by bi_graph_count_uses */
    int32_t same_weight; /* WEIGHT: the value before this one of the same first part; BI_NONE */
    bool wide;           /* stays float32 when the graph is lowered */
    bool exact;          /* products of it are near float32 then */
    bool kept;           /* INPUT: an earlier program left it on the device */
    int32_t trips;       /* INPUT: so many lie one behind the other, one for each trip; 0 = one */
};

/* Attributes: struct bi_<stem>_attr of each op that has some (ops.inc). Their fields are of 4
 * bytes, so there is no padding, and a node's attributes can be compared and copied as bytes. */
#define INT(name, shown) int32_t name;
#define ALWAYS(name, shown) int32_t name;
#define NAMED(name, shown, names) int32_t name;
#define REAL(name, shown) float name;
#define SCALE(name, shown) float name;
#define SMALL(name, shown) float name;
#define ATTRS(stem, ...)                                                                           \
    struct bi_##stem##_attr {                                                                      \
        __VA_ARGS__                                                                                \
    };
#include "../ops/ops.inc"

enum { BI_ATTR_SIZE = 24 }; /* the largest of them has so many bytes */

/* One use of an op. */
struct bi_node {
    enum bi_op_kind op;
    bool dead;
    int32_t
        phase; /* odd: a loop, see bi_loop_begin; nodes are in the order of phases, bi_phase_next */
    bi_value_id in[BI_NODE_IN]; /* BI_NONE = left out */
    bi_value_id out[BI_NODE_OUT];
    /* The op's struct, and 0 behind it; BI_ATTR() and BI_ATTR_SET() read and set it. */
    _Alignas(8) unsigned char attr[BI_ATTR_SIZE];
};

/* The op of a stem. */
enum bi_stem {
#define OP(NAME, stem, n_in, n_out, kernel) BI_STEM_##stem = BI_OP_##NAME,
#include "../ops/ops.inc"
};

/* A node's attributes as bytes, for the two macros below; it asserts that the node is of this
 * op. */
static inline void *bi_attr_of(const struct bi_node *node, int op)
{
    assert((int)node->op == op);
    (void)op;
    return (void *)(uintptr_t)node->attr;
}

/* The attributes of a node, which is of the op named, to be read, and to be set. Never NULL. */
#define BI_ATTR(node, stem) ((const struct bi_##stem##_attr *)bi_attr_of(node, BI_STEM_##stem))
#define BI_ATTR_SET(node, stem) ((struct bi_##stem##_attr *)bi_attr_of(node, BI_STEM_##stem))

/* Attributes for a new node. */
struct bi_attrs {
    int op;           /* enum bi_op_kind */
    const void *data; /* the struct of that op */
};

/* clang-format off */
/* Attributes of an op, by its stem; fields that are not named are 0. */
#define BI_ATTRS(stem, ...) BI_ATTRS_AT(stem, (&(const struct bi_##stem##_attr){__VA_ARGS__}))
/* The same, from a struct. */
#define BI_ATTRS_AT(stem, attr) \
    (&(const struct bi_attrs){BI_STEM_##stem, 1 ? (attr) : (const struct bi_##stem##_attr *)NULL})
/* The same, from a node, for another one of its op. */
#define BI_ATTRS_OF(node) (&(const struct bi_attrs){(int)(node)->op, (node)->attr})
/* clang-format on */

/* A value that a graph gives. */
struct bi_output {
    bi_value_id value;
    int kind; /* the model's: enum bi_output_kind of models/model.h */
    int layer;
    const char *name; /* for the dump */
    bool kept;        /* it stays on the device, for other programs */
};

/* Names a count of a batch. */
enum bi_counter {
#define BI_COUNT_ROW(field, joins) BI_COUNTER_##field,
#include "../kernels/axes.inc"
    BI_COUNTERS
};

/* Reads that count. */
static inline int32_t bi_counter_value(const struct bi_counts *counts, enum bi_counter counter)
{
    int32_t value;
    _Static_assert(sizeof *counts == BI_COUNTERS * sizeof value, "counts are all that there is");
    memcpy(&value, (const char *)counts + counter * sizeof value, sizeof value);
    return value;
}

/* A phase whose nodes run again: `trips` times (bi_trips_begin), or, where that is 0, as often as a
 * count of the batch says (bi_loop_begin). */
struct bi_stage {
    int32_t phase, trips;
    enum bi_counter counter;
};

/* An axis with `times` rows for each one of axis `of`. */
struct bi_axis_follows {
    enum bi_axis axis, of;
    int32_t times;
};

/* A graph, with all that it owns. Its builders alone add to it. */
struct bi_graph {
    struct bi_arena arena;
    struct bi_value *values;
    struct bi_node *nodes; /* in execution order */
    struct bi_output *outputs;
    size_t n_values, cap_values, n_nodes, cap_nodes, n_outputs, cap_outputs;
    bi_value_id *of_weight; /* by weight of the model: its newest value of one part */
    size_t n_of_weight, cap_of_weight;
    /* Who reads a value, while `indexed`: a list of places, node * BI_NODE_IN + input, for each
     * value; -1 ends it. Nodes in it may be dead. */
    int32_t *use_first, *use_next;
    size_t cap_use_first, cap_use_next;
    bool indexed;
    int64_t n_tokens, n_seqs, n_rows, longest, n_grid; /* the bucket */
    int32_t phase;                                     /* that nodes added now get */
    struct bi_stage stages[BI_GRAPH_STAGES];
    int n_stages;
    struct bi_axis_follows follows[BI_GRAPH_FOLLOWS];
    int n_follows;
    int status;
    struct bioinfer_error error;
};

/* Makes an empty graph, which the caller frees and which keeps env. After a failure *out is
 * untouched. */
int bi_graph_new(struct bi_graph **out, const struct bi_env *env, struct bioinfer_error *err);
/* Frees the graph with all its values, names and lists. NULL-safe. */
void bi_graph_free(struct bi_graph **graph);

/* The status of the first error of a builder, whose words *err gets; 0 when there was none. */
int bi_graph_status(const struct bi_graph *g, struct bioinfer_error *err);
/* Records a builder's error and returns BI_NONE. The first one stays, later ones are dropped; every
 * builder gives BI_NONE then, but for bi_weight() of a weight that is there. */
bi_value_id bi_graph_fail(struct bi_graph *g, int status, const char *fmt, ...) BI_PRINTF(3, 4);

/* The bucket that the graph is written for, as counts; those that the graph does not keep are 0. */
struct bi_counts bi_graph_bucket(const struct bi_graph *g);

/* Gives an axis its name in axes.inc. */
const char *bi_axis_name(enum bi_axis axis);
/* Says that an axis has `times` rows for each one of axis `of`, so that bi_axes_count() makes its
 * count. Where `of` itself follows from a third axis, that has been said before, which is not
 * checked. INTERNAL in the graph: the axis follows already, has several rows for each count (as
 * VECTORS has) or the same count as `of`, one of the two is FIXED, times < 0, or BI_GRAPH_FOLLOWS
 * are there. */
void bi_axis_times(struct bi_graph *g, enum bi_axis axis, enum bi_axis of, int32_t times);
/* Sets the counts of axes that follow from others, in the order in which that was said; all other
 * counts stay. TOO_LONG: one has more than 31 bits. */
int bi_axes_count(const struct bi_graph *g, struct bi_counts *counts, struct bioinfer_error *err);

/* An input [n] of a name that is copied; BI_NONE where the graph has failed. Each call makes a new
 * one: names that are there already are not looked for. */
bi_value_id bi_input(struct bi_graph *g, const char *name, enum bi_dtype dtype, enum bi_axis axis,
                     int64_t n);
/* An input [n, width] of float32 rows. */
bi_value_id bi_input_rows(struct bi_graph *g, const char *name, enum bi_axis axis, int64_t n,
                          int64_t width);
/* An input [n, width] of rows of any type. */
bi_value_id bi_input_matrix(struct bi_graph *g, const char *name, enum bi_dtype dtype,
                            enum bi_axis axis, int64_t n, int64_t width);
/* A kept value: float32 rows that an earlier program left on the device. */
bi_value_id bi_input_kept(struct bi_graph *g, const char *name, enum bi_axis axis, int64_t n,
                          int64_t width);
/* A weight of the model by its index, rank 1 or 2, in float32; the name is copied. Asked for again,
 * the same value, with its first name, also where the graph has failed. A new one, and what all
 * other functions here give, is BI_NONE then. */
bi_value_id bi_weight(struct bi_graph *g, int32_t index, const char *name, int rank,
                      const int64_t *shape);
/* Columns [first, first + n) of a weight of rank 2, counted in the model's; asked for again, the
 * same value. It is no stack, has all its rows and is not transposed; this, and that the columns
 * are there, is not checked. */
bi_value_id bi_weight_columns(struct bi_graph *g, bi_value_id w, int64_t first, int64_t n);
/* Rows (rank 1: elements) of a weight that is no stack and has all its rows (not checked), in the
 * order given, also twice; the list is copied, and each call makes a new value. A row that the
 * weight does not have fails the graph with INTERNAL. */
bi_value_id bi_weight_rows(struct bi_graph *g, bi_value_id w, const int32_t *rows, int64_t n);
/* A weight of rank 2, or those of its rows, with rows and columns exchanged; asked for again, the
 * same value. A stack, columns that do not begin at 0 and what is transposed already fail the graph
 * with INTERNAL; that it has all its columns behind the first is not checked. */
bi_value_id bi_weight_transposed(struct bi_graph *g, bi_value_id w);
/* Makes a transposed weight [taps C, N] a convolution [C, taps N] with the taps in reverse, a new
 * value each time. INTERNAL in the graph: it is not of bi_weight_transposed(), or taps is less than
 * 1 or does not divide its rows. */
bi_value_id bi_weight_flipped(struct bi_graph *g, bi_value_id w, int32_t taps);
/* Makes the value the graph's next output; nothing where the graph has failed. The name is copied.
 * The value is checked by bi_graph_verify(), and counts of uses know it when they are made anew. */
void bi_output(struct bi_graph *g, bi_value_id value, int kind, int layer, const char *name);
/* An output that stays on the device, as a kept value for other programs; kind 0, layer -1. */
void bi_output_kept(struct bi_graph *g, bi_value_id value, const char *name);

/* Nodes added between these two run as often as that count of the batch says, in order. Values made
 * before the loop and changed in it by ops that write in place (PUT_ROWS) are carried from one trip
 * to the next and to the nodes behind the loop; all others live for one trip. INTERNAL in the
 * graph: a loop begins in a loop or a stage, or none is there to end. LIMIT: there would be more
 * than BI_GRAPH_STAGES loops and stages. */
void bi_loop_begin(struct bi_graph *g, enum bi_counter trips);
void bi_loop_end(struct bi_graph *g);
/* Nodes added between these two are a stage of n trips: they are written, fused and planned once,
 * and their launches run n times. A trip has its own of each bi_input_trips(), and gives its own
 * rows of what bi_all_trips() makes of a value; it sees rows of its own of what was made before,
 * through bi_trip_rows(); what ops in place change is carried from trip to trip, as in a loop. All
 * other values live for one trip. One trip is no stage: the nodes are plain ones. LIMIT in the
 * graph: n is not 1 to BI_TRIPS_MAX, or there are BI_GRAPH_STAGES loops and stages. INTERNAL: it
 * begins in a loop or in another stage, or ends in a loop. The end of no stage does nothing. */
void bi_trips_begin(struct bi_graph *g, int64_t n);
void bi_trips_end(struct bi_graph *g);
/* An input [n] for each trip of the stage that is open, or a plain one where none is. */
bi_value_id bi_input_trips(struct bi_graph *g, const char *name, enum bi_dtype dtype,
                           enum bi_axis axis, int64_t n);
/* How often the nodes of a phase run: 1 but for stages, also for loops, which run as a count says,
 * and for phases that the graph does not have. */
int32_t bi_graph_trips(const struct bi_graph *g, int32_t phase);
/* Gives the count that says how often a loop runs; of other phases it is any. */
enum bi_counter bi_graph_counter(const struct bi_graph *g, int32_t phase);
/* Do nodes of a phase run again, in a loop or in a stage of several trips? */
bool bi_graph_repeats(const struct bi_graph *g, int32_t phase);
/* Nodes added from here on run behind all before them, however they are fused: what those leave
 * nobody is memory for these. In a loop or a stage the graph fails with INTERNAL. */
void bi_phase_next(struct bi_graph *g);

/* Appends a node; shapes by the op's infer. attrs: those of the op, NULL = all 0; they are copied.
 * Returns its first output (others are in `out` of its node); BI_NONE where the graph has failed,
 * or fails now: an input that the op requires is BI_NONE or behind n_in, attrs are of another op
 * (INTERNAL), or shapes do not fit (infer's status). Inputs beyond the op's: see
 * bi_graph_verify(). */
bi_value_id bi_node_add(struct bi_graph *g, enum bi_op_kind op, const bi_value_id *in, int n_in,
                        const struct bi_attrs *attrs);
/* The same, and its outputs are float16 where `half`. */
bi_value_id bi_node_add_half(struct bi_graph *g, enum bi_op_kind op, const bi_value_id *in,
                             int n_in, const struct bi_attrs *attrs, bool half);

/* Graphs over residues: kernels/edges.h says what each computes. BI_NONE = left out. */
struct bi_edge_args {
    bi_value_id edge;  /* [E, D] what each edge adds */
    bi_value_id self;  /* [R, D] what the row's own residue adds */
    bi_value_id other; /* [V, D] what the neighbour adds ... */
    bi_value_id late;  /* [N, D] ... unless it comes later in the order `rank` */
    bi_value_id rank;  /* [M] */
    bi_value_id codes; /* [M] with `table` [symbols + 1, D]: the neighbour's symbol adds */
    bi_value_id table;
    bi_value_id index;      /* [N, k] neighbours, -1 = none; left out: all k are there */
    bi_value_id row, token; /* [R] the row's token of its sample, of its structure */
};

/* Edges of atoms, as kernels/tensor_edges.h says. */
struct bi_edge_values {
    bi_value_id vector;              /* [E, 3] float32 */
    bi_value_id start, col, reverse; /* [N + 1], [E], [E] int32 */
};

/* Atoms in frames, by cells, as kernels/atom_edges.h says. */
struct bi_atom_values {
    bi_value_id position, frame;     /* [N, 3] float64, [S, words] int32 */
    bi_value_id place, order, first; /* that atom_cells makes */
};

/* In place: step + 1. row, token, alive [S]: what each sample decodes now, -1 = nothing. */
struct bi_step_values {
    bi_value_id row, token, alive;
};

/* The builders of ops: ops.inc gives shapes, ops/<op>.c says what the parameters mean. BI_NONE
 * stands for an input that is left out. Each gives the node's first output, as bi_node_add(). */
#define BUILDER(stem, ...) bi_value_id bi_##stem(struct bi_graph *g, __VA_ARGS__);
#include "../ops/ops.inc"

/* A norm of each of so many groups of columns of x [R, D]; w, b [D]; b BI_NONE = none. 1 group or
 * less: one norm of all columns. As bi_node_add(). */
bi_value_id bi_layernorm_groups(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id b,
                                int32_t groups, float eps);

/* The derivative of rmsnorm by x [R, D]; w [D], dy [R, D]. */
bi_value_id bi_rmsnorm_grad(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id dy,
                            float eps);

/* ---- whole-graph functions ---- */

/* Appends the nodes that compute the derivative of the sum of all of y by x, from the gradients of
 * the ops between them (bi_op.grad), and gives that derivative: float32 of the shape of x. Both are
 * float32 of rank 2; y follows from x through plain ops, none of them in place or in a loop that
 * has ended: in a loop, all of it is of one trip. x itself has ones. BI_NONE with INTERNAL in the
 * graph: y does not follow from x, a type or rank is another one, an op between them has no
 * gradient, or all gradients by x are left out as 0. */
bi_value_id bi_graph_gradient(struct bi_graph *g, bi_value_id y, bi_value_id x);

/* Sets n_uses of every value: by nodes that are not dead, and by outputs. */
void bi_graph_count_uses(struct bi_graph *g);
/* Counts uses and makes lists of them, which bi_node_add(), bi_graph_replace() and bi_graph_kill()
 * keep until nodes are removed or change places. NOMEM stays in the graph; one that has failed gets
 * no lists. */
void bi_graph_index(struct bi_graph *g);
/* Marks a node as dead: its inputs lose its uses, which are to be counted already. The number stays
 * until bi_graph_dce(). One that is dead stays as it is. */
void bi_graph_kill(struct bi_graph *g, size_t node);
/* Every use of `from` (nodes and outputs) becomes a use of `to`, which is wide or exact if that
 * was. n_uses follow only where there are lists (bi_graph_index()). Shapes are not compared, and
 * neither is BI_NONE; from == to changes nothing. */
void bi_graph_replace(struct bi_graph *g, bi_value_id from, bi_value_id to);
/* x is not made float16, so a graph that ends here and one that begins here give its bits. This and
 * the next do nothing where the graph has failed. */
void bi_graph_keep_wide(struct bi_graph *g, bi_value_id x);
/* Where the graph is lowered, products of x [T, K] take x and their weights in two terms of float16
 * each, at the cost of three products (kernels/halves.h). */
void bi_graph_exact(struct bi_graph *g, bi_value_id x);
/* The weight that stacks n weights, two or three, along dimension 0, a new value each time. They
 * have one width and all their rows and columns, and are neither stacks nor transposed, which is
 * not checked here. */
bi_value_id bi_weight_stack(struct bi_graph *g, const bi_value_id *part, int n);
/* Part i, from 0, of a weight that stacks several of one height: rows and columns of that part.
 * Neither the heights nor i are checked. */
bi_value_id bi_weight_part(struct bi_graph *g, bi_value_id w, int i);
/* Makes float16 of every value that only matrix products and attention read: operands in half
 * precision, residual stream, norms' inputs and outputs of the graph in float32. A node for which
 * the target, NULL = any, has no kernel then stays in float32. The rules of BI_RULE_LOWER come
 * before it. Statuses are those of bi_graph_verify(), which ends it; after a failure the graph is
 * to be freed. */
struct bi_target;
int bi_graph_lower(struct bi_graph *g, const struct bi_target *target, struct bioinfer_error *err);
/* Marks nodes whose outputs nobody uses as dead, but for those in place in loops and stages, and
 * removes dead nodes. Returns how many it marked, without those that were dead before. Uses are
 * counted then, and lists of them are void. */
int bi_graph_dce(struct bi_graph *g);
/* Restores execution order (inputs before users, phases in their order) after insertions; stable.
 * No node is dead (bi_graph_dce()). INTERNAL: a node waits for itself, for a dead one or for a
 * later phase; else the graph's own error, or NOMEM. The order is as before after a failure. Lists
 * of uses are void after success (bi_graph_index()). */
int bi_graph_sort(struct bi_graph *g, struct bioinfer_error *err);
/* Ids in range, producers before users, shapes equal to what infer says, one producer per
 * value, outputs live, no shape negative. Cheap; run after build, after every rule pass and before
 * planning, with no dead nodes. 0; the graph's own error, where it has failed, which comes first;
 * INTERNAL, naming the first node, else output, else value that is wrong; infer's own status. */
int bi_graph_verify(struct bi_graph *g, struct bioinfer_error *err);
/* Appends the stable text form. Nodes and values are numbered in order of appearance; dead nodes,
 * and values that nobody reads or gives, are left out. out->failed is set where there is no
 * memory. */
void bi_graph_dump(const struct bi_graph *g, struct bi_buf *out);
/* Appends the canonical text form: inputs and weights, ops and where their inputs come from, loops,
 * outputs, and in full all attributes that are not the default (0; of a SCALE 1, too). An op that
 * gets a further attribute, input or output leaves it as it was where the default of these is what
 * the op did before. No node may be dead (bi_graph_dce()). out->failed is set where there is no
 * memory. */
void bi_graph_canonical(const struct bi_graph *g, struct bi_buf *out);

/* Elements of a value, the product of its shape (1 at rank 0), and their bytes. Overflow is not
 * checked. */
int64_t bi_value_elements(const struct bi_value *v);
int64_t bi_value_size(const struct bi_value *v);

#endif
