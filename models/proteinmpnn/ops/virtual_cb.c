/* virtual_cb.c - virtual_cb: backbone atoms and the ideal C-beta.   x [N, 12] -> [N, 15]
 * Source: dauparas/ProteinMPNN:protein_mpnn_utils.py, ProteinFeatures.forward */
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int virtual_cb_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, 12, err);
    if (!st)
        bi_out_shape(g, node, 0, bi_in(g, node, 0)->axis, 2,
                     (int64_t[]){bi_in(g, node, 0)->shape[0], 15});
    return st;
}

static void virtual_cb_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "virtual_cb", struct bi_virtual_cb_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .rows = x->shape[0], .axis = (int32_t)x->axis);
}

static void virtual_cb_reference(const void *params)
{
    const struct bi_virtual_cb_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *x = p->x + r * 12;
        float *y = p->y + r * 15;
        double b[3], c[3];
        for (int i = 0; i < 3; i++) {
            b[i] = (double)x[3 + i] - (double)x[i];
            c[i] = (double)x[6 + i] - (double)x[3 + i];
        }
        memcpy(y, x, 12 * sizeof *y);
        for (int i = 0; i < 3; i++) {
            int j = (i + 1) % 3, k = (i + 2) % 3;
            y[12 + i] = (float)(-0.58273431 * (b[j] * c[k] - b[k] * c[j]) + 0.56802827 * b[i] -
                                0.54067466 * c[i] + (double)x[3 + i]);
        }
    }
}

bi_value_id bi_virtual_cb(struct bi_graph *g, bi_value_id x)
{
    return bi_node_add(g, BI_OP_VIRTUAL_CB, BI_IN(x), NULL);
}

const struct bi_op bi_op_virtual_cb = {
    .name = "virtual_cb",
    .infer = virtual_cb_infer,
    .launch = virtual_cb_launch,
    .reference = virtual_cb_reference,
    .cost = bi_cost_bytes,
    .required = 1,
};
