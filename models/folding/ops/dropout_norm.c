/* dropout_norm.c - layernorm whose bias by the dropout of training is taken out.
 *   x [R, D], w [D], b [D] -> [R, D]
 * kernels/dropout_norm.h says what is computed. */
#include <math.h>
#include <string.h>

#include "../../../kernels/dropout_norm.h"
#include "../../../ops/shared.h"

static int dropout_norm_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const float keep = BI_ATTR(node, dropout_norm)->keep;
    int st = bi_expect_norm(g, node, 1, err);
    if (!st && !(keep > 0 && keep <= 1))
        st = bi_fail(err, BIOINFER_INTERNAL, "dropout_norm: a part of %g is kept, expected (0, 1]",
                     (double)keep);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void dropout_norm_launch(const struct bi_graph *g, const struct bi_node *node,
                                const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "dropout_norm", struct bi_dropout_norm_params, .counts = b->counts,
              .x = b->in[0], .w = b->in[1], .b = b->in[2], .y = b->out[0], .ldx = b->in_ld[0],
              .ldy = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .width = (int32_t)x->shape[1], .eps = BI_ATTR(node, dropout_norm)->eps,
              .keep = BI_ATTR(node, dropout_norm)->keep);
}

static void dropout_norm_reference(const void *params)
{
    const struct bi_dropout_norm_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    const double keep = (double)p->keep;
    for (int64_t r = 0; r < rows; r++) {
        const float *x = p->x + r * p->ldx;
        double mean = 0, var = 0;
        for (int32_t c = 0; c < p->width; c++)
            mean += (double)x[c];
        mean /= p->width;
        for (int32_t c = 0; c < p->width; c++)
            var += ((double)x[c] - mean) * ((double)x[c] - mean);
        var /= p->width;
        const double s = var == 0 ? 0 : sqrt(keep / (1 + (1 - keep) * mean * mean / var));
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = (float)(s * ((double)x[c] - mean) / sqrt(var + (double)p->eps) *
                                               (double)p->w[c] +
                                           (double)p->b[c]);
    }
}

/* keep: the part of the numbers that training did not drop, 1 = layernorm. */
bi_value_id bi_dropout_norm(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id b,
                            float eps, float keep)
{
    return bi_node_add(g, BI_OP_DROPOUT_NORM, BI_IN(x, w, b),
                       BI_ATTRS(dropout_norm, .eps = eps, .keep = keep));
}

const struct bi_op bi_op_dropout_norm = {
    .name = "dropout_norm",
    .infer = dropout_norm_infer,
    .launch = dropout_norm_launch,
    .reference = dropout_norm_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
