/* layernorm.c - layernorm over the last dimension.   x [R, D], w [D], b [D] -> [R, D] */
#include <math.h>
#include <string.h>

#include "../kernels/layernorm.h"
#include "shared.h"

static int layernorm_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = 1; !st && i <= 2; i++)
        st = bi_expect(g, node, i, 1, bi_in(g, node, 0)->shape[1], err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void layernorm_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "layernorm", struct bi_layernorm_params, .counts = b->counts,
              .x = b->in[0], .w = b->in[1], .b = b->in[2], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .width = (int32_t)x->shape[1], .eps = node->attr.eps);
}

void bi_ref_layernorm(const void *params)
{
    const struct bi_layernorm_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *x = p->x + r * p->ldx;
        double mean = 0, var = 0;
        if (p->add) {
            float *sum = p->sum + r * p->lds;
            for (int32_t c = 0; c < p->width; c++)
                sum[c] = x[c] + p->add[r * p->lda + c];
            x = sum;
        }
        for (int32_t c = 0; c < p->width; c++)
            mean += (double)x[c];
        mean /= p->width;
        for (int32_t c = 0; c < p->width; c++)
            var += ((double)x[c] - mean) * ((double)x[c] - mean);
        var /= p->width;
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] =
                (float)(((double)x[c] - mean) / sqrt(var + (double)p->eps) * (double)p->w[c] +
                        (double)p->b[c]);
    }
}

const struct bi_op bi_op_layernorm = {
    .name = "layernorm", .infer = layernorm_infer, .launch = layernorm_launch,
    .reference = bi_ref_layernorm, .cost = bi_cost_bytes, .required = 7,
};
