/* tensor_mix.c - tensor_mix: each part of matrices times a weight of its own, plus a residual.
 *   X [N, F], [3 N, F], [5 N, F], W [G, F] three times, R [N, G], [3 N, G], [5 N, G]?
 *   -> [N, G], [3 N, G], [5 N, G] */
#include <string.h>

#include "../../../kernels/tensor_mix.h"
#include "tensors.h"

static int mix_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    static const enum bi_axis axes[3] = {BI_AXIS_TOKENS, BI_AXIS_VECTORS, BI_AXIS_TENSORS};
    const struct bi_value *first = bi_in(g, node, 0), *w = bi_in(g, node, 3);
    const bool residual = bi_in(g, node, 6) != NULL;
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int k = 0; !st && k < 3; k++) {
        const struct bi_value *x = bi_in(g, node, k), *r = bi_in(g, node, 6 + k);
        const int64_t rows = (2 * k + 1) * first->shape[0];
        if (!(st = bi_expect(g, node, k, 2, first->shape[1], err)) &&
            !(st = bi_expect(g, node, 3 + k, 2, first->shape[1], err)) && r)
            st = bi_expect(g, node, 6 + k, 2, w->shape[0], err);
        if (!st && (x->shape[0] != rows || x->axis != axes[k] || (r != NULL) != residual ||
                    (r && r->shape[0] != rows) || bi_in(g, node, 3 + k)->shape[0] != w->shape[0]))
            st = bi_fail(err, BIOINFER_INTERNAL, "tensor_mix: part %d %s", k,
                         bi_shape_text(x).text);
        if (!st)
            bi_out_shape(g, node, k, axes[k], 2, (int64_t[]){rows, w->shape[0]});
    }
    return st;
}

static void mix_launch(const struct bi_graph *g, const struct bi_node *node,
                       const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *w = bi_in(g, node, 3);
    BI_LAUNCH(launch, "tensor_mix", struct bi_tensor_mix_params, .counts = b->counts,
              .x = {b->in[0], b->in[1], b->in[2]}, .w = {b->in[3], b->in[4], b->in[5]},
              .residual = {b->in[6], b->in[7], b->in[8]}, .y = {b->out[0], b->out[1], b->out[2]},
              .rows = bi_in(g, node, 0)->shape[0], .n = (int32_t)w->shape[0],
              .k = (int32_t)w->shape[1]);
}

static void mix_reference(const void *params)
{
    for (int k = 0; k < 3; k++) {
        const struct bi_linear_params part = bi_tensor_mix_part(params, k);
        bi_op_linear.reference(&part);
    }
}

static void mix_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                     double *bytes)
{
    *flops = 18.0 * (double)bi_in(g, node, 0)->shape[0] *
             (double)bi_value_elements(bi_in(g, node, 3));
    *bytes = bi_bytes(g, node);
}

const struct bi_op bi_op_tensor_mix = {
    .name = "tensor_mix",
    .infer = mix_infer,
    .launch = mix_launch,
    .reference = mix_reference,
    .cost = mix_cost,
    .required = 63,
};
