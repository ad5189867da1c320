/* rope.c - rotate queries or keys by their position.   x [T, H d], table [S, d], start [B + 1]?
 *   Without start the rows are runs of S, each rotated by row r % S of the table. */
#include <string.h>

#include "../kernels/rope.h"
#include "shared.h"

static int rope_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_rope_attr *a = BI_ATTR(node, rope);
    int st = bi_expect_heads(g, node, 0, a->n_heads, a->head_dim, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, a->head_dim, err);
    if (!st && bi_in(g, node, 2))
        st = bi_expect_start(g, node, 2, err);
    else if (!st && (bi_in(g, node, 0)->axis != BI_AXIS_FIXED || bi_in(g, node, 1)->shape[0] < 1 ||
                     bi_in(g, node, 0)->shape[0] % bi_in(g, node, 1)->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "rope: rows of %s without a start",
                     bi_shape_text(bi_in(g, node, 0)).text);
    if (!st && a->head_dim % 2)
        st = bi_fail(err, BIOINFER_INTERNAL, "rope: head width %d is odd", a->head_dim);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void rope_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "rope", struct bi_rope_params, .counts = b->counts, .x = b->in[0],
              .table = b->in[1], .start = b->in[2], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .n_heads = BI_ATTR(node, rope)->n_heads, .head_dim = BI_ATTR(node, rope)->head_dim,
              .n = (int32_t)bi_in(g, node, 1)->shape[0]);
}

static void rope_reference(const void *params)
{
    const struct bi_rope_params *p = params;
    int32_t d = p->head_dim, half = d / 2;
    for (int64_t t = 0, s = 0; t < bi_live_rows(p->counts, p->axis, p->rows); t++) {
        while (p->start && p->start[s + 1] <= t)
            s++;
        for (int32_t h = 0; h < p->n_heads; h++)
            for (int32_t i = 0; i < half; i++) {
                const float *row = p->table + (p->start ? t - p->start[s] : t % p->n) * d;
                double c = (double)row[i], n = (double)row[half + i];
                double a = (double)p->x[t * p->ldx + h * d + i];
                double b = (double)p->x[t * p->ldx + h * d + i + half];
                p->y[t * p->ldy + h * d + i] = (float)(a * c - b * n);
                p->y[t * p->ldy + h * d + i + half] = (float)(b * c + a * n);
            }
    }
}

bi_value_id bi_rope(struct bi_graph *g, bi_value_id x, bi_value_id table, bi_value_id start,
                    int32_t n_heads)
{
    return bi_node_add(g, BI_OP_ROPE, BI_IN(x, table, start),
                       BI_ATTRS(rope, .n_heads = n_heads, .head_dim = bi_head_dim(g, x, n_heads)));
}

const struct bi_op bi_op_rope = {
    .name = "rope",
    .infer = rope_infer,
    .launch = rope_launch,
    .reference = rope_reference,
    .cost = bi_cost_bytes,
    .required = 3,
    .half = {.out = 1},
};
