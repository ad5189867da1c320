/* motions.h - what ops of atoms that move have in common (kernels/motion.h, kernels/fire.h). */
#ifndef BI_OPS_MOTIONS_H
#define BI_OPS_MOTIONS_H

#include "../kernels/motion.h"
#include "shared.h"

/* Checks that input i is n frames; one that is missing stands for one frame. This and the next give
 * 0, or INTERNAL and what does not fit. */
static inline int bi_expect_frames(const struct bi_graph *g, const struct bi_node *node, int i,
                                   int64_t n, struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    if (v ? v->dtype == BI_I32 && v->rank == 2 && v->shape[0] == n && v->shape[1] == BI_FRAME_WORDS
          : n == 1)
        return 0;
    return bi_fail(err, BIOINFER_INTERNAL, "%s: %lld states and frames %s", bi_ops[node->op]->name,
                   (long long)n, v ? bi_shape_text(v).text : "that are missing");
}

/* Checks that inputs 0 and 1 are atoms and facts, and that input i is the frames of these, which
 * may be missing where there is one. */
static inline int bi_expect_motion(const struct bi_graph *g, const struct bi_node *node, int i,
                                   struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *facts = bi_in(g, node, 1);
    if (x->dtype == BI_F64 && x->rank == 2 && x->shape[1] == BI_MOTION_NUMBERS &&
        facts->dtype == BI_I32 && facts->rank == 2 && facts->shape[1] == BI_MOTION_WORDS)
        return bi_expect_frames(g, node, i, facts->shape[0], err);
    return bi_fail(err, BIOINFER_INTERNAL, "%s: atoms %s by facts %s", bi_ops[node->op]->name,
                   bi_shape_text(x).text, bi_shape_text(facts).text);
}

#endif
