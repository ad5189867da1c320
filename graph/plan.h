/* plan.h - the memory plan: where every value lives while it is needed.
 *
 * One activation block holds all values that nodes make; its parts are reused as soon as the
 * last user has run. Inputs and outputs have blocks of their own, so that a batch is one
 * upload and one download. */
#ifndef BI_PLAN_H
#define BI_PLAN_H

#include "graph.h"

enum bi_place {
    BI_PLACE_NONE,
    BI_PLACE_WEIGHT,
    BI_PLACE_INPUT,
    BI_PLACE_ACTIVATION,
    BI_PLACE_OUTPUT
};

/* Where a value lies. */
struct bi_slot {
    enum bi_place place;
    uint64_t offset; /* bytes in its block */
    uint64_t size;
    /* Bytes between trips, of a value that each trip has its own of, and of a view that sees
     * another part in each; else 0. */
    uint64_t step;
    int64_t ld;         /* elements between rows of a rank 2 value */
    bi_value_id base;   /* the value whose memory this is (views); itself otherwise */
    int32_t born, dies; /* nodes between which it is alive */
};

/* Where all values of a graph lie, and how large the blocks are. */
struct bi_memory_plan {
    const struct bi_env *env;
    struct bi_slot *slots; /* by value id */
    uint64_t input_size, activation_size, output_size;
    /* Bytes of inputs and outputs that cross: kept values lie behind those. */
    uint64_t upload_size, download_size;
    uint64_t unshared_size; /* size of the activations, were nothing reused */
};

/* Places all values; *plan is overwritten, and the caller frees it. The graph was verified, and its
 * uses are counted: inputs and weights without one have no place. Input offsets start behind
 * struct bi_counts, which opens the input block. After a failure *plan is zeros, which free takes.
 * INTERNAL: an output is an input, a weight or a view of another value, a node changes an input or
 * a weight in place, or what all trips give is another's memory. LIMIT: a size overflows. */
int bi_memory_plan(struct bi_memory_plan *plan, const struct bi_graph *g,
                   struct bioinfer_error *err);
/* Frees it; *plan is zeros then. */
void bi_memory_plan_free(struct bi_memory_plan *plan);
/* For tests: true where no two values of the activation block that are alive at once overlap;
 * inputs and outputs are not looked at. */
bool bi_memory_plan_check(const struct bi_memory_plan *plan, const struct bi_graph *g);

#endif
