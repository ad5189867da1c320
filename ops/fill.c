/* fill.c - fill: one number everywhere, the first value of what a loop carries.   -> [n, width]
 * width 0: of rank 1 */
#include <string.h>

#include "../kernels/decode.h"
#include "shared.h"

static int fill_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_fill_attr *a = BI_ATTR(node, fill);
    if ((a->dtype != BI_F32 && a->dtype != BI_I32) || a->rows < 0 || a->width < 0)
        return bi_fail(err, BIOINFER_INTERNAL, "fill: [%d, %d] of dtype %d", a->rows, a->width,
                       a->dtype);
    bi_out_shape(g, node, 0, (enum bi_axis)a->axis, a->width ? 2 : 1,
                 (int64_t[]){a->rows, a->width});
    bi_out(g, node, 0)->dtype = (enum bi_dtype)a->dtype;
    return 0;
}

static void fill_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_fill_attr *a = BI_ATTR(node, fill);
    (void)g;
    BI_LAUNCH(launch, "fill", struct bi_fill_params, .counts = b->counts, .y = b->out[0],
              .rows = a->rows, .axis = a->axis, .width = a->width ? a->width : 1,
              .is_int = a->dtype == BI_I32, .value = a->value);
}

static void fill_reference(const void *params)
{
    const struct bi_fill_params *p = params;
    int64_t n = bi_live_rows(p->counts, p->axis, p->rows) * p->width;
    for (int64_t i = 0; i < n; i++) {
        if (p->is_int)
            ((int32_t *)p->y)[i] = (int32_t)p->value;
        else
            ((float *)p->y)[i] = p->value;
    }
}

bi_value_id bi_fill(struct bi_graph *g, enum bi_dtype dtype, enum bi_axis axis, int64_t n,
                    int64_t width, float value)
{
    return bi_node_add(g, BI_OP_FILL, NULL, 0,
                       BI_ATTRS(fill, .value = value, .dtype = (int32_t)dtype,
                                .axis = (int32_t)axis, .rows = (int32_t)n,
                                .width = (int32_t)width));
}

const struct bi_op bi_op_fill = {
    .name = "fill",
    .infer = fill_infer,
    .launch = fill_launch,
    .reference = fill_reference,
    .cost = bi_cost_bytes,
};
