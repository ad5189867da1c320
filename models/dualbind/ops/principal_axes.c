/* principal_axes.c - principal_axes: points along the principal axes of their set.
 *   x [T, 3], start [S + 1] i32 of samples -> [T, 3]
 * The frames of frame averaging (Puny et al. 2022) are these axes with all signs: a function that
 * is averaged over them does not change with a rotation or reflection. kernels/principal_axes.h. */
#include <string.h>

#include "../../../kernels/principal_axes.h"
#include "../../../ops/shared.h"

static int principal_axes_infer(struct bi_graph *g, struct bi_node *node,
                                struct bioinfer_error *err)
{
    const struct bi_value *start = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, 3, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, -1, err);
    if (!st && (start->dtype != BI_I32 || start->axis != BI_AXIS_SAMPLES))
        st = bi_fail(err, BIOINFER_INTERNAL, "principal_axes: start %s, expected int32 of samples",
                     bi_shape_text(start).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void principal_axes_launch(const struct bi_graph *g, const struct bi_node *node,
                                  const struct bi_bind *b, struct bi_launch *launch)
{
    BI_LAUNCH(launch, "principal_axes", struct bi_principal_axes_params, .counts = b->counts,
              .x = b->in[0], .start = b->in[1], .y = b->out[0],
              .sets = bi_in(g, node, 1)->shape[0] - 1);
}

static void principal_axes_reference(const void *params)
{
    const struct bi_principal_axes_params *p = params;
    for (int32_t s = 0; s < p->counts->n_samples; s++) {
        const int64_t begin = p->start[s], end = p->start[s + 1];
        double centre[3] = {0, 0, 0}, a[3][3] = {{0}}, v[3][3];
        for (int64_t t = begin; t < end; t++)
            for (int k = 0; k < 3; k++)
                centre[k] += (double)p->x[3 * t + k] / (double)(end - begin);
        for (int64_t t = begin; t < end; t++)
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++)
                    a[i][j] += ((double)p->x[3 * t + i] - centre[i]) *
                               ((double)p->x[3 * t + j] - centre[j]);
        bi_eigenvectors(a, v);
        for (int64_t t = begin; t < end; t++)
            for (int k = 0; k < 3; k++) {
                double sum = 0;
                for (int i = 0; i < 3; i++)
                    sum += ((double)p->x[3 * t + i] - centre[i]) * v[i][k];
                p->y[3 * t + k] = (float)sum;
            }
    }
}

bi_value_id bi_principal_axes(struct bi_graph *g, bi_value_id x, bi_value_id start)
{
    return bi_node_add(g, BI_OP_PRINCIPAL_AXES, BI_IN(x, start), NULL);
}

const struct bi_op bi_op_principal_axes = {
    .name = "principal_axes",
    .infer = principal_axes_infer,
    .launch = principal_axes_launch,
    .reference = principal_axes_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
