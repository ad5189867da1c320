/* row_bias.c - row_bias: r + c b, a bias counted c times.   r [R, D], b [D], c [R] -> [R, D] */
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int row_bias_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 1, bi_in(g, node, 0)->shape[0], err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void row_bias_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *r = bi_in(g, node, 0);
    BI_LAUNCH(launch, "row_bias", struct bi_row_bias_params, .counts = b->counts, .r = b->in[0],
              .b = b->in[1], .c = b->in[2], .y = b->out[0], .ldr = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = r->shape[0], .axis = (int32_t)r->axis, .width = (int32_t)r->shape[1]);
}

static void row_bias_reference(const void *params)
{
    const struct bi_row_bias_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = (float)((double)p->r[r * p->ldr + c] +
                                           (double)p->c[r] * (double)p->b[c]);
}

bi_value_id bi_row_bias(struct bi_graph *g, bi_value_id r, bi_value_id b, bi_value_id c)
{
    return bi_node_add(g, BI_OP_ROW_BIAS, BI_IN(r, b, c), NULL);
}

const struct bi_op bi_op_row_bias = {
    .name = "row_bias",
    .infer = row_bias_infer,
    .launch = row_bias_launch,
    .reference = row_bias_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
