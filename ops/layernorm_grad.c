/* layernorm_grad.c - layernorm_grad: the derivative of layernorm and of rmsnorm by x.
 *   x [R, D], w [D], dy [R, D] -> [R, D]
 *   groups: as of layernorm. rms: of rmsnorm. */
#include <math.h>
#include <string.h>

#include "../kernels/layernorm_grad.h"
#include "shared.h"

static int grad_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int32_t groups = BI_ATTR(node, layernorm_grad)->groups;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, x->shape[1], err);
    if (!st)
        st = bi_expect(g, node, 2, 2, x->shape[1], err);
    if (!st && bi_in(g, node, 2)->shape[0] != x->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "layernorm_grad: dy %s beside x %s",
                     bi_shape_text(bi_in(g, node, 2)).text, bi_shape_text(x).text);
    if (!st && groups > 1 && x->shape[1] % groups)
        st = bi_fail(err, BIOINFER_INTERNAL, "layernorm_grad: %d groups in %s", groups,
                     bi_shape_text(x).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void grad_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const struct bi_layernorm_grad_attr *a = BI_ATTR(node, layernorm_grad);
    const int32_t groups = a->groups > 1 ? a->groups : 1;
    BI_LAUNCH(launch, "layernorm_grad", struct bi_layernorm_grad_params, .counts = b->counts,
              .x = b->in[0], .w = b->in[1], .dy = b->in[2], .dx = b->out[0], .ldx = b->in_ld[0],
              .lddy = b->in_ld[2], .lddx = b->out_ld[0], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1] / groups, .groups = groups,
              .rms = a->rms, .eps = a->eps);
}

static void grad_reference(const void *params)
{
    const struct bi_layernorm_grad_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t at = 0; at < rows * p->groups; at++) {
        const int64_t r = at / p->groups, first = at % p->groups * p->width;
        const float *x = p->x + r * p->ldx + first, *dy = p->dy + r * p->lddy + first;
        const float *w = p->w + first;
        float *dx = p->dx + r * p->lddx + first;
        double mean = 0, var = 0, h = 0, hz = 0;
        for (int32_t c = 0; c < p->width && !p->rms; c++)
            mean += (double)x[c] / p->width;
        for (int32_t c = 0; c < p->width; c++)
            var += ((double)x[c] - mean) * ((double)x[c] - mean) / p->width;
        const double by = 1 / sqrt(var + (double)p->eps);
        for (int32_t c = 0; c < p->width; c++) {
            const double t = (double)w[c] * (double)dy[c];
            h += p->rms ? 0 : t / p->width;
            hz += t * ((double)x[c] - mean) * by / p->width;
        }
        for (int32_t c = 0; c < p->width; c++)
            dx[c] = (float)(by *
                            ((double)w[c] * (double)dy[c] - h - ((double)x[c] - mean) * by * hz));
    }
}

bi_value_id bi_layernorm_grad(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id dy,
                              int32_t groups, float eps)
{
    return bi_node_add(g, BI_OP_LAYERNORM_GRAD, BI_IN(x, w, dy),
                       BI_ATTRS(layernorm_grad, .eps = eps, .groups = groups));
}

bi_value_id bi_rmsnorm_grad(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id dy,
                            float eps)
{
    return bi_node_add(g, BI_OP_LAYERNORM_GRAD, BI_IN(x, w, dy),
                       BI_ATTRS(layernorm_grad, .eps = eps, .rms = 1));
}

const struct bi_op bi_op_layernorm_grad = {
    .name = "layernorm_grad",
    .infer = grad_infer,
    .launch = grad_launch,
    .reference = grad_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
