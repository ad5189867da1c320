/* symmetrise.c - symmetrise: the mean of a grid and the same turned round.
 *   x [B n n, D] -> [B n n, D] */
#include <string.h>

#include "../kernels/grids.h"
#include "shared.h"

static int symmetrise_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    const int64_t n = BI_ATTR(node, symmetrise)->n;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && (n < 1 || x->axis != BI_AXIS_FIXED || x->shape[0] % (n * n)))
        st = bi_fail(err, BIOINFER_INTERNAL, "symmetrise: %s by %lld places", bi_shape_text(x).text,
                     (long long)n);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void symmetrise_launch(const struct bi_graph *g, const struct bi_node *node,
                              const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "symmetrise", struct bi_symmetrise_params, .counts = b->counts, .x = b->in[0],
              .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0], .rows = x->shape[0],
              .width = (int32_t)x->shape[1], .n = BI_ATTR(node, symmetrise)->n);
}

static void symmetrise_reference(const void *params)
{
    const struct bi_symmetrise_params *p = params;
    const int64_t n = p->n;
    for (int64_t r = 0; r < p->rows; r++) {
        const int64_t i = r / n % n, j = r % n, turned = r - i * n - j + j * n + i;
        for (int32_t c = 0; c < p->width; c++)
            p->y[r * p->ldy + c] = (p->x[r * p->ldx + c] + p->x[turned * p->ldx + c]) * 0.5f;
    }
}

bi_value_id bi_symmetrise(struct bi_graph *g, bi_value_id x, int32_t n)
{
    return bi_node_add(g, BI_OP_SYMMETRISE, BI_IN(x), BI_ATTRS(symmetrise, .n = n));
}

/* The op is a matrix that is its own transpose. */
static void symmetrise_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                            unsigned wanted, bi_value_id *dx)
{
    (void)wanted;
    dx[0] = bi_symmetrise(g, dy[0], BI_ATTR(node, symmetrise)->n);
}

const struct bi_op bi_op_symmetrise = {
    .name = "symmetrise",
    .infer = symmetrise_infer,
    .launch = symmetrise_launch,
    .reference = symmetrise_reference,
    .cost = bi_cost_bytes,
    .grad = symmetrise_grad,
    .required = 1,
};
