/* edm.h - what the ops of a sampler of atoms have in common. */
#ifndef BI_OPS_EDM_H
#define BI_OPS_EDM_H

#include "../../../kernels/edm.h"
#include "../../../ops/shared.h"

/* Steps of the plan, input i. */
static inline int32_t bi_edm_steps(const struct bi_graph *g, const struct bi_node *node, int i)
{
    return (int32_t)(bi_in(g, node, i)->shape[1] / BI_EDM_WORDS);
}

/* Checks the rows of atoms x, and the plan and the table of starts, which follow each other. */
static inline int bi_expect_edm(const struct bi_graph *g, const struct bi_node *node, int x,
                                int plan, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, x, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, plan, 2, -1, err);
    if (!st && (bi_in(g, node, x)->shape[1] < 3 || bi_in(g, node, plan)->axis != BI_AXIS_SEQS ||
                bi_in(g, node, plan)->shape[1] % BI_EDM_WORDS || bi_edm_steps(g, node, plan) < 1))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: atoms %s by a plan %s", bi_ops[node->op]->name,
                     bi_shape_text(bi_in(g, node, x)).text,
                     bi_shape_text(bi_in(g, node, plan)).text);
    return st ? st : bi_expect_start(g, node, plan + 1, err);
}

/* Checks that input i has n columns, and a row for each one of input x. */
static inline int bi_expect_atoms(const struct bi_graph *g, const struct bi_node *node, int i,
                                  int x, int64_t n, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, i, 2, n, err);
    if (!st && (bi_in(g, node, i)->axis != bi_in(g, node, x)->axis ||
                bi_in(g, node, i)->shape[0] != bi_in(g, node, x)->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: input %d is %s beside %s", bi_ops[node->op]->name,
                     i, bi_shape_text(bi_in(g, node, i)).text,
                     bi_shape_text(bi_in(g, node, x)).text);
    return st;
}

#endif
