/* gelu.c - gelu: z/2 (1 + erf(z / sqrt 2)), element by element; the shared unary launch. */
#include <math.h>
#include <string.h>

#include "../kernels/unary.h"
#include "shared.h"

void bi_launch_unary(const struct bi_graph *g, const struct bi_node *node, const struct bi_bind *b,
                     struct bi_launch *launch, int function, float factor)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "unary", struct bi_unary_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .width = (int32_t)(bi_value_elements(x) / x->shape[0]),
              .function = function, .factor = factor);
}

void bi_ref_unary(const void *params)
{
    const struct bi_unary_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            double x = (double)p->x[r * p->ldx + c], y;
            if (p->function == BI_UNARY_GELU)
                y = 0.5 * x * (1 + erf(x * 0.70710678118654752440));
            else if (p->function == BI_UNARY_SIGMOID)
                y = 1 / (1 + exp(-x));
            else if (p->function == BI_UNARY_SILU)
                y = x / (1 + exp(-x));
            else
                y = x * (double)p->factor;
            p->y[r * p->ldy + c] = (float)y;
        }
}

static void gelu_launch(const struct bi_graph *g, const struct bi_node *node,
                        const struct bi_bind *bind, struct bi_launch *launch)
{
    bi_launch_unary(g, node, bind, launch, BI_UNARY_GELU, 0);
}

bi_value_id bi_gelu(struct bi_graph *g, bi_value_id x)
{
    return bi_node_add(g, BI_OP_GELU, BI_IN(x), NULL);
}

static void gelu_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                      unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_gelu_grad(g, node->in[0], dy[0]);
}

const struct bi_op bi_op_gelu = {
    .name = "gelu",
    .infer = bi_infer_like_first,
    .launch = gelu_launch,
    .reference = bi_ref_unary,
    .cost = bi_cost_bytes,
    .grad = gelu_grad,
    .required = 1,
};
