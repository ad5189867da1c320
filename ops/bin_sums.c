/* bin_sums.c - bin_sums: what the bins of each window sum up to.
 *   x [W n, D] -> [W 2, D] | [W 4, D] */
#include <math.h>
#include <string.h>

#include "../kernels/bin_sums.h"
#include "shared.h"

static int bin_sums_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int64_t bins = BI_ATTR(node, bin_sums)->bins, kinds = BI_ATTR(node, bin_sums)->kinds;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st &&
        (x->axis != BI_AXIS_FIXED || bins < 1 || x->shape[0] % bins || kinds < 1 || kinds > 2))
        st = bi_fail(err, BIOINFER_INTERNAL, "bin_sums: %s in windows of %lld bins, %lld kinds",
                     bi_shape_text(x).text, (long long)bins, (long long)kinds);
    if (!st)
        bi_out_shape(g, node, 0, x->axis, 2,
                     (int64_t[]){x->shape[0] / bins * 2 * kinds, x->shape[1]});
    return st;
}

static void bin_sums_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "bin_sums", struct bi_bin_sums_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .bins = BI_ATTR(node, bin_sums)->bins,
              .n_windows = (int32_t)(x->shape[0] / BI_ATTR(node, bin_sums)->bins),
              .width = (int32_t)x->shape[1], .logs = BI_ATTR(node, bin_sums)->kinds > 1);
}

static void bin_sums_reference(const void *params)
{
    const struct bi_bin_sums_params *p = params;
    for (int64_t w = 0; w < p->n_windows; w++)
        for (int64_t c = 0; c < p->width; c++)
            for (int kind = 0; kind <= (p->logs != 0); kind++) {
                float *y = p->y + (w * (p->logs ? 4 : 2) + 2 * kind) * p->ldy + c;
                double sum = 0;
                for (int64_t r = w * p->bins; r < (w + 1) * p->bins; r++) {
                    const double x = (double)p->x[r * p->ldx + c];
                    sum += kind ? log2(1 + x) : x;
                }
                y[0] = (float)sum;
                y[p->ldy] = (float)(sum - (double)y[0]);
            }
}

bi_value_id bi_bin_sums(struct bi_graph *g, bi_value_id x, int64_t bins, bool logs)
{
    return bi_node_add(g, BI_OP_BIN_SUMS, BI_IN(x),
                       BI_ATTRS(bin_sums, .bins = (int32_t)bins, .kinds = logs ? 2 : 1));
}

const struct bi_op bi_op_bin_sums = {
    .name = "bin_sums",
    .infer = bin_sums_infer,
    .launch = bin_sums_launch,
    .reference = bin_sums_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
