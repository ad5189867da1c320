/* block_attention.c - attention of blocks of rows to the rows around them, with a bias by pairs.
 *   q, k, v [R, H d], bias [128 R, H], start [S + 1] -> [R, H d]
 * kernels/block_attention.h says what is computed. */
#include <math.h>
#include <string.h>

#include "../../../kernels/block_attention.h"
#include "../../../ops/shared.h"

static int block_attention_infer(struct bi_graph *g, struct bi_node *node,
                                 struct bioinfer_error *err)
{
    const struct bi_block_attention_attr *a = BI_ATTR(node, block_attention);
    const struct bi_value *q = bi_in(g, node, 0), *bias = bi_in(g, node, 3);
    int st = 0;
    for (int i = 0; !st && i < 3; i++)
        st = bi_expect_heads(g, node, i, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect(g, node, 3, 2, a->n_heads, err);
    if (!st)
        st = bi_expect_start(g, node, 4, err);
    for (int i = 1; !st && i < 3; i++)
        if (bi_in(g, node, i)->axis != q->axis || bi_in(g, node, i)->shape[0] != q->shape[0])
            st = bi_fail(err, BIOINFER_INTERNAL, "block_attention: input %d is %s beside %s", i,
                         bi_shape_text(bi_in(g, node, i)).text, bi_shape_text(q).text);
    if (!st && bias->shape[0] != BI_BLOCK_KEYS * q->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL,
                     "block_attention: a bias %s of %s, expected %d rows each",
                     bi_shape_text(bias).text, bi_shape_text(q).text, BI_BLOCK_KEYS);
    if (!st && a->head_dim > BI_BLOCK_HEAD)
        st = bi_fail(err, BIOINFER_UNSUPPORTED,
                     "block_attention: heads of width %d, expected at most %d", a->head_dim,
                     BI_BLOCK_HEAD);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void block_attention_launch(const struct bi_graph *g, const struct bi_node *node,
                                   const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_block_attention_attr *a = BI_ATTR(node, block_attention);
    BI_LAUNCH(launch, "block_attention", struct bi_block_attention_params, .counts = b->counts,
              .q = b->in[0], .k = b->in[1], .v = b->in[2], .bias = b->in[3], .start = b->in[4],
              .y = b->out[0], .ldq = b->in_ld[0], .ldk = b->in_ld[1], .ldv = b->in_ld[2],
              .ldb = b->in_ld[3], .ldy = b->out_ld[0], .rows = bi_in(g, node, 0)->shape[0],
              .n_heads = a->n_heads, .head_dim = a->head_dim,
              .scale = (float)(1 / sqrt((double)a->head_dim)));
}

/* ---- reference ---- */

typedef struct bi_block_attention_params P;

/* Head h of row i of the rows [first, end). */
static void attend(const P *p, int32_t h, int64_t i, int64_t first, int64_t end)
{
    const int32_t at = h * p->head_dim;
    double sum[BI_BLOCK_HEAD] = {0}, total = 0, top = -INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int64_t j = 0; j < BI_BLOCK_KEYS; j++) {
            const int64_t key = first + bi_block_key(i - first, j);
            double score;
            if (key < first || key >= end)
                continue;
            score = (double)p->bias[(i * BI_BLOCK_KEYS + j) * p->ldb + h];
            for (int32_t c = 0; c < p->head_dim; c++)
                score += (double)p->scale * (double)p->q[i * p->ldq + at + c] *
                         (double)p->k[key * p->ldk + at + c];
            if (!pass) {
                top = fmax(top, score);
                continue;
            }
            total += exp(score - top);
            for (int32_t c = 0; c < p->head_dim; c++)
                sum[c] += exp(score - top) * (double)p->v[key * p->ldv + at + c];
        }
    for (int32_t c = 0; c < p->head_dim; c++)
        p->y[i * p->ldy + at + c] = (float)(sum[c] / total);
}

static void block_attention_reference(const void *params)
{
    const P *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++)
        for (int64_t i = p->start[s]; i < p->start[s + 1]; i++)
            for (int32_t h = 0; h < p->n_heads; h++)
                attend(p, h, i, p->start[s], p->start[s + 1]);
}

static void block_attention_cost(const struct bi_graph *g, const struct bi_node *node,
                                 double *flops, double *bytes)
{
    *flops = 4.0 * (double)bi_value_elements(bi_in(g, node, 0)) * BI_BLOCK_KEYS;
    *bytes = bi_bytes(g, node);
}

/* in: q, k, v, bias, start. */
bi_value_id bi_block_attention(struct bi_graph *g, const bi_value_id in[5], int32_t n_heads)
{
    return bi_node_add(
        g, BI_OP_BLOCK_ATTENTION, in, 5,
        BI_ATTRS(block_attention, .n_heads = n_heads, .head_dim = bi_head_dim(g, in[0], n_heads)));
}

const struct bi_op bi_op_block_attention = {
    .name = "block_attention",
    .infer = block_attention_infer,
    .launch = block_attention_launch,
    .reference = block_attention_reference,
    .cost = block_attention_cost,
    .required = 0x1f,
};
