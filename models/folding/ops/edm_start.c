/* edm_start.c - edm_start: the noise that a sampler of atoms begins with.
 *   noise [A, 3 or more], plan [S, 16 n], start [S + 1] -> state [A, 4] (kernels/edm.h) */
#include <string.h>

#include "edm.h"

static int edm_start_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect_edm(g, node, 0, 1, err);
    if (!st)
        bi_out_shape(g, node, 0, bi_in(g, node, 0)->axis, 2,
                     (int64_t[]){bi_in(g, node, 0)->shape[0], BI_EDM_STATE});
    return st;
}

static void edm_start_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "edm_start", struct bi_edm_params, .counts = b->counts, .noise = b->in[0],
              .plan = b->in[1], .start = b->in[2], .state = b->out[0], .ldn = b->in_ld[0],
              .ldp = b->in_ld[1], .lds = b->out_ld[0], .rows = bi_in(g, node, 0)->shape[0],
              .n_steps = bi_edm_steps(g, node, 1));
}

static void edm_start_reference(const void *params)
{
    const struct bi_edm_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++)
        for (int64_t i = p->start[s]; i < p->start[s + 1]; i++)
            bi_edm_start_atom(p, s, i);
}

bi_value_id bi_edm_start(struct bi_graph *g, bi_value_id noise, bi_value_id plan, bi_value_id start)
{
    return bi_node_add(g, BI_OP_EDM_START, BI_IN(noise, plan, start), NULL);
}

const struct bi_op bi_op_edm_start = {
    .name = "edm_start",
    .infer = edm_start_infer,
    .launch = edm_start_launch,
    .reference = edm_start_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
