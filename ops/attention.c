/* attention.c - softmax(scale q k^T + bias) v within each sequence, one op.
 *   q, k, v [T, H d], start [B + 1], table [longest, d]? (rotates q and k),
 *   bias [H, 2 reach + 1]? (by place of key less place of query), grid_bias [G, H]?
 *   (by the pair of query and key, see grid_bias.c), grid_start [B + 1]? -> [T, H d]
 *   or rows of grids in place of tokens */
#include <math.h>
#include <string.h>

#include "../kernels/attention.h"
#include "shared.h"

static int attention_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_attention_attr *a = BI_ATTR(node, attention);
    int st = 0;
    for (int i = 0; !st && i < 3; i++)
        st = bi_expect_heads(g, node, i, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect_starts_of(g, node, 3, 0, err);
    if (!st && bi_in(g, node, 4))
        st = bi_expect(g, node, 4, 2, a->head_dim, err);
    if (!st && bi_in(g, node, 5))
        st = bi_expect_reach(g, node, 5, a->n_heads, err);
    if (!st && bi_in(g, node, 6))
        st = bi_expect_pairs(g, node, 6, 7, a->n_heads, err);
    if (!st && bi_in(g, node, 6) && bi_in(g, node, 5))
        st = bi_fail(err, BIOINFER_INTERNAL, "attention: two biases");
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void attention_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *bias = bi_in(g, node, 5);
    BI_LAUNCH(launch, "attention", struct bi_attention_params, .counts = b->counts, .q = b->in[0],
              .k = b->in[1], .v = b->in[2], .start = b->in[3], .table = b->in[4], .y = b->out[0],
              .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2], .ldy = b->out_ld[0],
              .n_heads = BI_ATTR(node, attention)->n_heads,
              .head_dim = BI_ATTR(node, attention)->head_dim,
              .scale = BI_ATTR(node, attention)->scale, .bias = b->in[5],
              .reach = bias ? (int32_t)bias->shape[1] / 2 : 0, .grid_bias = b->in[6],
              .ldgb = b->in_ld[6], .grid_start = b->in[7], .axis = (int32_t)bi_in(g, node, 0)->axis,
              .seqs = (int32_t)bi_in(g, node, 3)->axis);
}

/* Element i of head h of x at token t, rotated to position p. */
static double rotated(const float *x, const float *table, int64_t p, int32_t d, int32_t i)
{
    const float *row = table + p * d;
    int32_t half = d / 2, j = i % half;
    double c = (double)row[j], s = (double)row[half + j];
    return i < half ? (double)x[i] * c - (double)x[i + half] * s
                    : (double)x[i] * c + (double)x[i - half] * s;
}

/* grid: the first row of the grid that biases the sequence, of n tokens. */
static double score(const struct bi_attention_params *p, int32_t h, int64_t start, int64_t n,
                    int64_t grid, int64_t t, int64_t j)
{
    int32_t d = p->head_dim;
    const float *q = p->q + t * p->ldq + h * d, *k = p->k + j * p->ldk + h * d;
    double sum = 0;
    for (int32_t i = 0; i < d; i++)
        sum += p->table
                   ? rotated(q, p->table, t - start, d, i) * rotated(k, p->table, j - start, d, i)
                   : (double)q[i] * (double)k[i];
    sum *= (double)p->scale;
    if (p->bias) {
        int64_t gap = j - t, reach = p->reach;
        gap = gap < -reach ? -reach : gap > reach ? reach : gap;
        sum += (double)p->bias[h * (2 * reach + 1) + reach + gap];
    }
    if (p->grid_bias)
        sum += (double)p->grid_bias[(grid + (t - start) * n + j - start) * p->ldgb + h];
    return sum;
}

static void attention_reference(const void *params)
{
    const struct bi_attention_params *p = params;
    int32_t d = p->head_dim;
    for (int32_t s = 0; s < bi_live_rows(p->counts, p->seqs, 0); s++)
        for (int64_t t = p->start[s]; t < p->start[s + 1]; t++)
            for (int32_t h = 0; h < p->n_heads; h++) {
                int64_t start = p->start[s], end = p->start[s + 1], n = end - start;
                int64_t grid = p->grid_bias
                                   ? bi_bias_grid(p->counts, p->grid_start, p->axis, s, start)
                                   : 0;
                double max = -INFINITY, total = 0, sum[512] = {0};
                assert(d <= (int32_t)BI_COUNT(sum));
                for (int64_t j = start; j < end; j++)
                    max = fmax(max, score(p, h, start, n, grid, t, j));
                for (int64_t j = start; j < end; j++) {
                    double e = exp(score(p, h, start, n, grid, t, j) - max);
                    total += e;
                    for (int32_t i = 0; i < d; i++)
                        sum[i] += e * (double)p->v[j * p->ldv + h * d + i];
                }
                for (int32_t i = 0; i < d; i++)
                    p->y[t * p->ldy + h * d + i] = (float)(sum[i] / total);
            }
}

static void attention_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                           double *bytes)
{
    *flops = 4.0 * (double)bi_value_elements(bi_in(g, node, 0)) * (double)g->longest;
    *bytes = bi_bytes(g, node);
}

const struct bi_op bi_op_attention = {
    .name = "attention",
    .pairs = true,
    .infer = attention_infer,
    .launch = attention_launch,
    .reference = attention_reference,
    .cost = attention_cost,
    .required = 15,
    .half = {.out = 1, .in = 7, .all = 7},
};
