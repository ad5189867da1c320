/* rope_table.c - cosine and sine of position times frequency.   inv_freq [n] -> [longest, 2 n] */
#include <math.h>
#include <string.h>

#include "../kernels/rope_table.h"
#include "shared.h"

static int rope_table_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 1, -1, err);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_LONGEST, 2,
                     (int64_t[]){BI_ATTR(node, rope_table)->rows, 2 * bi_in(g, node, 0)->shape[0]});
    return st;
}

static void rope_table_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "rope_table", struct bi_rope_table_params, .counts = b->counts,
              .inv_freq = b->in[0], .y = b->out[0], .rows = BI_ATTR(node, rope_table)->rows,
              .n = (int32_t)bi_in(g, node, 0)->shape[0]);
}

static void rope_table_reference(const void *params)
{
    const struct bi_rope_table_params *p = params;
    for (int64_t r = 0; r < p->counts->longest; r++)
        for (int32_t i = 0; i < p->n; i++) {
            float angle = (float)r * p->inv_freq[i]; /* in float32, as the references do */
            p->y[r * 2 * p->n + i] = (float)cos((double)angle);
            p->y[r * 2 * p->n + p->n + i] = (float)sin((double)angle);
        }
}

bi_value_id bi_rope_table(struct bi_graph *g, bi_value_id inv_freq, int64_t rows)
{
    return bi_node_add(g, BI_OP_ROPE_TABLE, BI_IN(inv_freq),
                       BI_ATTRS(rope_table, .rows = (int32_t)rows));
}

const struct bi_op bi_op_rope_table = {
    .name = "rope_table",
    .infer = rope_table_infer,
    .launch = rope_table_launch,
    .reference = rope_table_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
