/* fires.h - what ops of relaxations have in common (kernels/fire.h). */
#ifndef BI_OPS_FIRES_H
#define BI_OPS_FIRES_H

#include "../kernels/fire.h"
#include "motions.h"

/* Checks that input i, which is there, has so many rows, or any for -1, and columns. */
static inline int bi_expect_fire_value(const struct bi_graph *g, const struct bi_node *node, int i,
                                       enum bi_dtype dtype, int64_t rows, int64_t width,
                                       struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    if (v->dtype == dtype && v->rank == 2 && v->shape[1] == width &&
        (rows < 0 || v->shape[0] == rows))
        return 0;
    return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d %s", bi_ops[node->op]->name, i,
                   bi_shape_text(v).text);
}

/* Checks that two inputs are atoms and state. All of these give 0, or INTERNAL and what does not
 * fit. */
static inline int bi_expect_fire(const struct bi_graph *g, const struct bi_node *node, int atoms,
                                 int state, struct bioinfer_error *err)
{
    int st = bi_expect_fire_value(g, node, atoms, BI_F64, -1, BI_FIRE_ATOM_NUMBERS, err);
    return st ? st : bi_expect_fire_value(g, node, state, BI_F64, -1, BI_FIRE_NUMBERS, err);
}

/* Checks that input i is the frames of the states of another input. */
static inline int bi_expect_fire_frame(const struct bi_graph *g, const struct bi_node *node, int i,
                                       int state, struct bioinfer_error *err)
{
    return bi_expect_frames(g, node, i, bi_in(g, node, state)->shape[0], err);
}

/* Checks that input i is the forces on n atoms. */
static inline int bi_expect_fire_forces(const struct bi_graph *g, const struct bi_node *node, int i,
                                        int64_t n, struct bioinfer_error *err)
{
    return bi_expect_fire_value(g, node, i, BI_F32, n, 12, err);
}

/* The counts of a launch that may set one of them. */
static inline struct bi_counts *bi_fire_counts(const struct bi_bind *b)
{
    return (struct bi_counts *)(uintptr_t)b->counts;
}

#endif
