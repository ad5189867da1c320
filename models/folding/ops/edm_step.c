/* edm_step.c - edm_step: a step of a sampler of atoms, in place.
 *   state [A, 4], position, update [A, 3], plan [S, 16 n], start [S + 1] -> state (kernels/edm.h)
 */
#include <string.h>

#include "edm.h"

static int edm_step_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_edm(g, node, 0, 3, err);
    if (!st)
        st = bi_expect(g, node, 0, 2, BI_EDM_STATE, err);
    for (int i = 1; !st && i <= 2; i++)
        st = bi_expect_atoms(g, node, i, 0, 3, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void edm_step_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edm_step", struct bi_edm_params, .counts = b->counts, .position = b->in[1],
              .update = b->in[2], .plan = b->in[3], .start = b->in[4], .state = b->out[0],
              .lds = b->out_ld[0], .ldx = b->in_ld[1], .ldu = b->in_ld[2], .ldp = b->in_ld[3],
              .rows = bi_in(g, node, 0)->shape[0], .n_steps = bi_edm_steps(g, node, 3),
              .data = BI_ATTR(node, edm_step)->data, .scale = BI_ATTR(node, edm_step)->scale,
              .plain = BI_ATTR(node, edm_step)->plain);
}

static void edm_step_reference(const void *params)
{
    const struct bi_edm_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        const int64_t first = p->start[s], end = p->start[s + 1];
        const struct bi_edm_step *step;
        double means[6] = {0}, products[9] = {0}, work[BI_EDM_WORK], r[9];
        if (first >= end)
            continue;
        step = bi_edm_step_of(p, s, bi_edm_at(p, p->state, first));
        for (int64_t i = first; i < end; i++)
            for (int k = 0; k < 6; k++)
                means[k] += (k < 3 ? (double)p->position[i * p->ldx + k]
                                   : bi_edm_denoised(p, step, i, k - 3)) /
                            (double)(end - first);
        for (int64_t i = first; i < end; i++)
            for (int k = 0; k < 9; k++)
                products[k] += bi_edm_product(p, step, i, k, means);
        bi_edm_rotation(products, work, r);
        for (int64_t i = first; i < end; i++)
            bi_edm_step_atom(p, step, i, r, means);
    }
}

/* in: state, position, update, plan, start. data: as of edm_move; scale: of the step; plain: atoms
 * are not moved onto what the network made of them. */
bi_value_id bi_edm_step(struct bi_graph *g, const bi_value_id in[5], float data, float scale,
                        bool plain)
{
    return bi_node_add(g, BI_OP_EDM_STEP, in, 5,
                       BI_ATTRS(edm_step, .data = data, .scale = scale, .plain = plain));
}

const struct bi_op bi_op_edm_step = {
    .name = "edm_step",
    .infer = edm_step_infer,
    .launch = edm_step_launch,
    .reference = edm_step_reference,
    .cost = bi_cost_bytes,
    .required = 0x1f,
    .in_place = true,
};
