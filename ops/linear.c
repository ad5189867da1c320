/* linear.c - linear: act(x w^T + bias) + residual.   x [R, K], w [N, K], bias [N], residual [R, N]
 *   table [S, d], start [B + 1]: the first n columns are heads of width d, rotated (rope.h); then
 *   there is no act and no residual.
 *   terms: x is of 3 K columns, as HALVES makes it, and w in the same terms (halves.h)
 *   gated: act(x w1^T) * (x w2^T), w = w1 over w2 [2 N, K]; no bias, no residual. */
#include <math.h>
#include <string.h>

#include "../kernels/linear.h"
#include "shared.h"

const char *const bi_act_names[] = {[BI_ACT_GELU] = "gelu",
                                    [BI_ACT_RELU] = "relu",
                                    [BI_ACT_SILU] = "silu",
                                    [BI_ACT_GELU_TANH] = "gelu_tanh"};

/* A product's attributes, as those of a linear; all 0 for an op that only launches one. */
static struct bi_linear_attr attr_of(const struct bi_node *node)
{
    if (node->op == BI_OP_LINEAR)
        return *BI_ATTR(node, linear);
    return (struct bi_linear_attr){.terms = node->op == BI_OP_MATMUL ? BI_ATTR(node, matmul)->terms
                                                                     : 0};
}

static int32_t terms_of(const struct bi_node *node)
{
    const int32_t terms = attr_of(node).terms;
    return terms ? terms : 1;
}

static int linear_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1), *r = bi_in(g, node, 3);
    const struct bi_linear_attr a = attr_of(node);
    const int64_t terms = terms_of(node);
    int64_t shape[2];
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && x->shape[1] % terms)
        st = bi_fail(err, BIOINFER_INTERNAL, "linear: x %s of %lld terms", bi_shape_text(x).text,
                     (long long)terms);
    if (!st)
        st = bi_expect(g, node, 1, 2, x->shape[1] / terms, err);
    if (!st && bi_in(g, node, 2))
        st = bi_expect(g, node, 2, 1, w->shape[0], err);
    if (!st && r)
        st = bi_expect(g, node, 3, 2, w->shape[0], err);
    if (!st && r && r->shape[0] != x->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "linear: residual %s beside x %s",
                     bi_shape_text(r).text, bi_shape_text(x).text);
    if (!st && bi_in(g, node, 4) && !(st = bi_expect(g, node, 4, 2, a.head_dim, err)))
        st = bi_expect_start(g, node, 5, err);
    if (!st && bi_in(g, node, 4) && (r || a.act || a.gated))
        st = bi_fail(err, BIOINFER_INTERNAL, "linear: a rotation beside act, gates or residual");
    if (!st && a.gated && (w->shape[0] % 2 || r || bi_in(g, node, 2)))
        st = bi_fail(err, BIOINFER_INTERNAL, "linear: gates: w %s, bias or residual",
                     bi_shape_text(w).text);
    if (st)
        return st;
    shape[0] = x->shape[0];
    shape[1] = a.gated ? w->shape[0] / 2 : w->shape[0];
    bi_out_shape(g, node, 0, x->axis, 2, shape);
    return 0;
}

static void linear_launch(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    const struct bi_linear_attr a = attr_of(node);
    const int32_t block = b->gate_block ? b->gate_block : (int32_t)w->shape[0] / 2;
    BI_LAUNCH(launch, "linear", struct bi_linear_params, .counts = b->counts, .x = b->in[0],
              .w = b->in[1], .bias = b->in[2], .residual = b->in[3], .y = b->out[0],
              .ldx = b->in_ld[0], .ldr = b->in_ld[3], .ldy = b->out_ld[0], .rows = x->shape[0],
              .axis = (int32_t)x->axis, .n = (int32_t)w->shape[0],
              .k = (int32_t)w->shape[1] * terms_of(node), .act = a.act,
              .gated = a.gated ? block : 0, .n_rotated = a.n_rotated, .head_dim = a.head_dim,
              .table = b->in[4], .start = b->in[5]);
}

struct bi_linear_params *bi_launch_linear(const struct bi_graph *g, const struct bi_node *node,
                                          const struct bi_bind *b, struct bi_launch *launch,
                                          int32_t then)
{
    struct bi_bind bind = *b;
    struct bi_linear_params *p = (void *)launch->params;
    for (int i = 3; i < bi_op_n_in(BI_OP_LINEAR); i++)
        bind.in[i] = NULL;
    linear_launch(g, node, &bind, launch);
    p->then = then;
    return p;
}

static double activate(double z, int act)
{
    switch (act) {
    case BI_ACT_GELU:
        return 0.5 * z * (1 + erf(z * 0.70710678118654752440));
    case BI_ACT_RELU:
        return z < 0 ? 0 : z; /* NaN stays */
    case BI_ACT_SILU:
        return z / (1 + exp(-z));
    case BI_ACT_GELU_TANH:
        return z / (1 + exp(-2 * 0.79788456080286535588 * (z + 0.044715 * z * z * z)));
    default:
        return z;
    }
}

static double silu_slope(double z)
{
    const double s = 1 / (1 + exp(-z));
    return s + z * s * (1 - s);
}

static double dot(const struct bi_linear_params *p, int64_t r, int64_t row)
{
    const float *w = (const float *)p->w + row * p->k;
    double sum = 0;
    for (int32_t k = 0; k < p->k; k++)
        sum += (double)p->x[r * p->ldx + k] * (double)w[k];
    return sum;
}

static double biased_dot(const struct bi_linear_params *p, int64_t r, int64_t row)
{
    return (p->bias ? (double)p->bias[row] : 0) + dot(p, r, row);
}

/* Column j of row r, which is x before the rotation (rope.h). */
static double rotated(const struct bi_linear_params *p, int64_t r, int32_t j, double x)
{
    int32_t half = p->head_dim / 2, i = j % p->head_dim, s = 0;
    const float *row;
    while (p->start[s + 1] <= r)
        s++;
    row = p->table + (r - p->start[s]) * p->head_dim + i % half;
    return i < half ? x * (double)row[0] - biased_dot(p, r, j + half) * (double)row[half]
                    : x * (double)row[0] + biased_dot(p, r, j - half) * (double)row[half];
}

void bi_ref_linear(const void *params)
{
    const struct bi_linear_params *p = params;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        for (int32_t h = p->n / 2, j = 0; p->gated && j < h; j++) {
            const int64_t first = j / p->gated * p->gated;
            const int64_t block = h - first < p->gated ? h - first : p->gated;
            const int64_t gate = first + j, value = gate + block;
            p->y[r * p->ldy + j] = (float)(activate(dot(p, r, gate), p->act) * dot(p, r, value));
        }
        for (int32_t j = 0; !p->gated && j < p->n; j++) {
            const double z = biased_dot(p, r, j);
            double sum = activate(z, p->act);
            if (p->before)
                p->before[r * p->ldb + j] = (float)z;
            if (p->slope)
                sum *= silu_slope((double)p->slope[r * p->ldz + j]);
            if (p->table && j < p->n_rotated)
                sum = rotated(p, r, j, sum);
            if (p->residual)
                sum += (double)p->residual[r * p->ldr + j];
            p->y[r * p->ldy + j] = (float)sum;
        }
    }
}

void bi_cost_linear(const struct bi_graph *g, const struct bi_node *node, double *flops,
                    double *bytes)
{
    const struct bi_value *x = bi_in(g, node, 0), *w = bi_in(g, node, 1);
    *flops = 2.0 * (double)x->shape[0] * (double)bi_value_elements(w) * terms_of(node);
    *bytes = bi_bytes(g, node);
}

/* Float16 gates are for float16 products. */
static void linear_half_of(const struct bi_graph *g, const struct bi_node *node,
                           struct bi_half *half)
{
    (void)g;
    if (BI_ATTR(node, linear)->gated)
        half->all |= 1;
}

void bi_linear_weight_form(const struct bi_node *node, int k, struct bi_weight_form *form)
{
    const struct bi_linear_attr a = attr_of(node);
    if (form->layout == BI_LAYOUT_LINEAR_F16 && a.terms)
        form->layout = BI_LAYOUT_LINEAR_HALVES;
    form->gated = k == 1 && a.gated;
}

const struct bi_op bi_op_linear = {
    .name = "linear",
    .infer = linear_infer,
    .launch = linear_launch,
    .reference = bi_ref_linear,
    .cost = bi_cost_linear,
    .required = 3,
    .layout = {[1] = BI_LAYOUT_LINEAR},
    /* a residual is of the type of the sum; float32 operands give float32 products */
    .half = {.out = 1, .in = 9, .all = 8, .for_out = 1},
    .half_of = linear_half_of,
    .weight_form = bi_linear_weight_form,
};
