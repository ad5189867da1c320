/* mean_pool.c - mean over the residues of each sequence.   x [T, D], start [B + 1] -> [B, D] */
#include <math.h>
#include <string.h>

#include "../kernels/mean_pool.h"
#include "shared.h"

static int mean_pool_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect_start(g, node, 1, err);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_SEQS, 2,
                     (int64_t[]){g->n_seqs, bi_in(g, node, 0)->shape[1]});
    return st;
}

static void mean_pool_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "mean_pool", struct bi_mean_pool_params, .counts = b->counts, .x = b->in[0],
              .start = b->in[1], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .width = (int32_t)bi_in(g, node, 0)->shape[1],
              .n_prefix = BI_ATTR(node, mean_pool)->n_prefix,
              .n_suffix = BI_ATTR(node, mean_pool)->n_suffix);
}

void bi_ref_mean_pool(const void *params)
{
    const struct bi_mean_pool_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        int64_t first = p->start[s] + p->n_prefix, end = p->start[s + 1] - p->n_suffix;
        for (int32_t c = 0; c < p->width; c++) {
            double sum = 0;
            for (int64_t t = first; t < end; t++) {
                const float *x = p->x + t * p->ldx;
                double value = (double)x[c];
                if (p->w) {
                    double mean = 0, var = 0;
                    for (int32_t i = 0; i < p->width && !p->rms; i++)
                        mean += (double)x[i];
                    mean /= p->width;
                    for (int32_t i = 0; i < p->width; i++)
                        var += ((double)x[i] - mean) * ((double)x[i] - mean);
                    value = (value - mean) / sqrt(var / p->width + (double)p->eps) *
                                (double)p->w[c] +
                            (p->b ? (double)p->b[c] : 0);
                }
                sum += value;
            }
            p->y[s * p->ldy + c] = end > first ? (float)(sum / (double)(end - first)) : 0;
        }
    }
}

bi_value_id bi_mean_pool(struct bi_graph *g, bi_value_id x, bi_value_id start, int32_t n_prefix,
                         int32_t n_suffix)
{
    return bi_node_add(g, BI_OP_MEAN_POOL, BI_IN(x, start),
                       BI_ATTRS(mean_pool, .n_prefix = n_prefix, .n_suffix = n_suffix));
}

const struct bi_op bi_op_mean_pool = {
    .name = "mean_pool",
    .infer = mean_pool_infer,
    .launch = mean_pool_launch,
    .reference = bi_ref_mean_pool,
    .cost = bi_cost_bytes,
    .required = 3,
};
