/* layernorm.c - layernorm over the last dimension.   x [R, D], w [D], b [D]? -> [R, D]
 *   groups: D is so many parts, each with a norm of its own.
 *   table [S, d], start [B + 1]: the parts are heads of width d that are rotated then (rope.h);
 *   made by bi_graph_rotate_early. */
#include <math.h>
#include <string.h>

#include "../kernels/layernorm.h"
#include "shared.h"

static int layernorm_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const int32_t groups = BI_ATTR(node, layernorm)->groups;
    int st = bi_expect_norm(g, node, 1, err);
    if (!st && groups > 1 && bi_in(g, node, 0)->shape[1] % groups)
        st = bi_fail(err, BIOINFER_INTERNAL, "layernorm: %d groups in %s", groups,
                     bi_shape_text(bi_in(g, node, 0)).text);
    if (!st && bi_in(g, node, 3) &&
        !(st = bi_expect(g, node, 3, 2, BI_ATTR(node, layernorm)->head_dim, err)))
        st = bi_expect_start(g, node, 4, err);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

static void layernorm_launch(const struct bi_graph *g, const struct bi_node *node,
                             const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int32_t groups = BI_ATTR(node, layernorm)->groups > 1 ? BI_ATTR(node, layernorm)->groups : 1;
    BI_LAUNCH(launch, "layernorm", struct bi_layernorm_params, .counts = b->counts, .x = b->in[0],
              .w = b->in[1], .b = b->in[2], .y = b->out[0], .ldx = b->in_ld[0], .ldy = b->out_ld[0],
              .rows = x->shape[0], .axis = (int32_t)x->axis, .width = (int32_t)x->shape[1] / groups,
              .groups = groups, .eps = BI_ATTR(node, layernorm)->eps,
              .head_dim = BI_ATTR(node, layernorm)->head_dim, .table = b->in[3], .start = b->in[4]);
}

/* Heads of a row, from column 0 of y on, in place; row r is a token. */
static void rotate(const struct bi_layernorm_params *p, int64_t r, float *y)
{
    int32_t d = p->head_dim, half = d / 2, s = 0;
    const float *row;
    while (p->start[s + 1] <= r)
        s++;
    row = p->table + (r - p->start[s]) * d;
    for (int32_t first = 0; first < p->width; first += d)
        for (int32_t i = 0; i < half; i++) {
            double a = (double)y[first + i], b = (double)y[first + i + half];
            double cosine = (double)row[i], sine = (double)row[i + half];
            y[first + i] = (float)(a * cosine - b * sine);
            y[first + i + half] = (float)(b * cosine + a * sine);
        }
}

void bi_ref_layernorm(const void *params)
{
    const struct bi_layernorm_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    int32_t groups = p->groups > 1 ? p->groups : 1;
    for (int64_t at = 0; at < rows * groups; at++) {
        const int64_t r = at / groups, first = at % groups * p->width;
        const float *x = p->x + r * p->ldx + first;
        double mean = 0, var = 0;
        if (p->add) {
            float *sum = p->sum + r * p->lds;
            for (int32_t c = 0; c < p->width; c++)
                sum[c] = x[c] + p->add[r * p->lda + c];
            x = sum;
        }
        for (int32_t c = 0; c < p->width && !p->rms; c++)
            mean += (double)x[c];
        mean /= p->width;
        for (int32_t c = 0; c < p->width; c++)
            var += ((double)x[c] - mean) * ((double)x[c] - mean);
        var /= p->width;
        for (int32_t c = 0; c < p->width; c++) {
            float *y = &p->y[r * p->ldy + first + c];
            *y = (float)(((double)x[c] - mean) / sqrt(var + (double)p->eps) *
                             (double)p->w[first + c] +
                         (p->b ? (double)p->b[first + c] : 0));
            if (p->copy)
                ((float *)p->copy)[r * p->ldc + c] = *y;
        }
        if (p->table)
            rotate(p, r, p->y + r * p->ldy + first);
    }
}

/* Norms of groups are those of queries and keys, in float16; others read the residual stream. */
static void layernorm_half_of(const struct bi_graph *g, const struct bi_node *node,
                              struct bi_half *half)
{
    (void)g;
    if (BI_ATTR(node, layernorm)->groups <= 1)
        half->in = half->if_out = 0;
}

/* b may be BI_NONE. */
bi_value_id bi_layernorm(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id b, float eps)
{
    return bi_node_add(g, BI_OP_LAYERNORM, BI_IN(x, w, b), BI_ATTRS(layernorm, .eps = eps));
}

bi_value_id bi_layernorm_groups(struct bi_graph *g, bi_value_id x, bi_value_id w, bi_value_id b,
                                int32_t groups, float eps)
{
    return bi_node_add(g, BI_OP_LAYERNORM, BI_IN(x, w, b),
                       BI_ATTRS(layernorm, .eps = eps, .groups = groups > 1 ? groups : 0));
}

static void layernorm_grad(struct bi_graph *g, const struct bi_node *node, const bi_value_id *dy,
                           unsigned wanted, bi_value_id *dx)
{
    if (wanted != 1 || node->in[3] != BI_NONE) {
        bi_graph_fail(g, BIOINFER_INTERNAL, "gradient: layernorm has none but by plain rows");
        return;
    }
    dx[0] = bi_layernorm_grad(g, node->in[0], node->in[1], dy[0], BI_ATTR(node, layernorm)->groups,
                              BI_ATTR(node, layernorm)->eps);
}

const struct bi_op bi_op_layernorm = {
    .name = "layernorm",
    .infer = layernorm_infer,
    .launch = layernorm_launch,
    .reference = bi_ref_layernorm,
    .cost = bi_cost_bytes,
    .grad = layernorm_grad,
    .required = 3,
    .half = {.out = 1, .in = 1, .if_out = 1},
    .half_of = layernorm_half_of,
};
