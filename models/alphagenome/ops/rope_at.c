/* rope_at.c - rope_at: cosine and sine of given positions times frequency.
 *   at [R] i32, inv_freq [n] -> [R, 2 n] */
#include <math.h>
#include <string.h>

#include "../../../kernels/junctions.h"
#include "../../../ops/shared.h"

static int rope_at_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *at = bi_in(g, node, 0);
    int st = bi_expect(g, node, 0, 1, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && (at->dtype != BI_I32 || at->axis != BI_AXIS_FIXED))
        st = bi_fail(err, BIOINFER_INTERNAL, "rope_at: positions %s of %s, expected int32",
                     bi_shape_text(at).text, bi_dtype_name(at->dtype));
    if (!st)
        bi_out_shape(g, node, 0, at->axis, 2,
                     (int64_t[]){at->shape[0], 2 * bi_in(g, node, 1)->shape[0]});
    return st;
}

static void rope_at_launch(const struct bi_graph *g, const struct bi_node *node,
                           const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "rope_at", struct bi_rope_at_params, .counts = b->counts, .at = b->in[0],
              .inv_freq = b->in[1], .y = b->out[0], .rows = bi_in(g, node, 0)->shape[0],
              .n = (int32_t)bi_in(g, node, 1)->shape[0]);
}

static void rope_at_reference(const void *params)
{
    const struct bi_rope_at_params *p = params;
    for (int64_t r = 0; r < p->rows; r++)
        for (int32_t i = 0; i < p->n; i++) {
            const float angle = (float)p->at[r] * p->inv_freq[i];
            p->y[r * 2 * p->n + i] = (float)cos((double)angle);
            p->y[r * 2 * p->n + p->n + i] = (float)sin((double)angle);
        }
}

bi_value_id bi_rope_at(struct bi_graph *g, bi_value_id at, bi_value_id inv_freq)
{
    return bi_node_add(g, BI_OP_ROPE_AT, BI_IN(at, inv_freq), NULL);
}

const struct bi_op bi_op_rope_at = {
    .name = "rope_at",
    .infer = rope_at_infer,
    .launch = rope_at_launch,
    .reference = rope_at_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
