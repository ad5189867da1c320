/* pair_diff.c - the difference of neighbouring rows.   x [2 R, C] -> [R, C] */
#include <string.h>

#include "../kernels/pairs.h"
#include "shared.h"

static void pair_diff_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "pair_diff", struct bi_pair_diff_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0], .rows = x->shape[0] / 2,
              .width = (int32_t)x->shape[1]);
}

static void pair_diff_reference(const void *params)
{
    const struct bi_pair_diff_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = p->x[2 * r * p->ldx + c] - p->x[(2 * r + 1) * p->ldx + c];
}

const struct bi_op bi_op_pair_diff = {
    .name = "pair_diff",
    .infer = bi_infer_pairs,
    .launch = pair_diff_launch,
    .reference = pair_diff_reference,
    .cost = bi_cost_bytes,
    .required = 1,
    .half = {.out = 1, .in = 1, .if_out = 1},
};
