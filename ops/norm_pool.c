/* norm_pool.c - mean of the norm over residues.   x [T, D], w [D], b [D]?, start -> [B, D]
 *   rms: of the root mean square norm. */
#include <string.h>

#include "../kernels/mean_pool.h"
#include "shared.h"

static int norm_pool_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int st = bi_expect_norm(g, node, 1, err);
    if (!st)
        st = bi_expect_start(g, node, 3, err);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_SEQS, 2, (int64_t[]){g->n_seqs, x->shape[1]});
    return st;
}

static void norm_pool_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "mean_pool", struct bi_mean_pool_params, .counts = b->counts, .x = b->in[0],
              .w = b->in[1], .b = b->in[2], .start = b->in[3], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .n_prefix = BI_ATTR(node, norm_pool)->n_prefix,
              .n_suffix = BI_ATTR(node, norm_pool)->n_suffix, .rms = BI_ATTR(node, norm_pool)->rms,
              .eps = BI_ATTR(node, norm_pool)->eps);
}

const struct bi_op bi_op_norm_pool = {
    .name = "norm_pool",
    .infer = norm_pool_infer,
    .launch = norm_pool_launch,
    .reference = bi_ref_mean_pool,
    .cost = bi_cost_bytes,
    .required = 11,
};
