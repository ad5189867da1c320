/* shared.c - checks and costs that several ops have in common. */
#include "shared.h"

#include <math.h>
#include <string.h>

int bi_infer_like_first(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    (void)err;
    bi_out_like(g, node, 0, 0);
    return 0;
}

void bi_cost_bytes(const struct bi_graph *g, const struct bi_node *node, double *flops,
                   double *bytes)
{
    *flops = 0;
    *bytes = bi_bytes(g, node);
}

int bi_expect_heads(const struct bi_graph *g, const struct bi_node *node, int i, int32_t n_heads,
                    int32_t head_dim, struct bioinfer_error *err)
{
    int64_t width = (int64_t)n_heads * head_dim;
    int st = bi_expect(g, node, i, 2, width, err);
    if (!st && (n_heads < 1 || head_dim < 1))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: %d heads of width %d", bi_ops[node->op]->name,
                     n_heads, head_dim);
    return st;
}

int bi_expect_reach(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n_heads,
                    struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    int st = bi_expect(g, node, i, 2, -1, err);
    if (!st && (v->shape[0] != n_heads || v->shape[1] % 2 != 1 || v->shape[1] > INT32_MAX))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: bias %s for %lld heads", bi_ops[node->op]->name,
                     bi_shape_text(v).text, (long long)n_heads);
    return st;
}

int bi_expect_pairs(const struct bi_graph *g, const struct bi_node *node, int i, int starts,
                    int64_t n_heads, struct bioinfer_error *err)
{
    int st = bi_expect(g, node, i, 2, n_heads, err);
    if (!st && bi_in(g, node, i)->axis != BI_AXIS_GRID)
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: bias on axis %s", bi_ops[node->op]->name,
                     bi_axis_name(bi_in(g, node, i)->axis));
    return st ? st : bi_expect_start(g, node, starts, err);
}

int bi_expect_norm(const struct bi_graph *g, const struct bi_node *node, int w,
                   struct bioinfer_error *err)
{
    int st = bi_expect(g, node, 0, 2, -1, err);
    for (int i = w; !st && i <= w + 1 && i < bi_op_n_in(node->op); i++)
        if (node->in[i] != BI_NONE)
            st = bi_expect(g, node, i, 1, bi_in(g, node, 0)->shape[1], err);
    return st;
}

int32_t bi_head_dim(const struct bi_graph *g, bi_value_id x, int32_t n_heads)
{
    return x == BI_NONE ? 0 : (int32_t)(g->values[x].shape[1] / n_heads);
}

bi_value_id bi_other_output(const struct bi_graph *g, bi_value_id id, int slot)
{
    return id == BI_NONE ? BI_NONE : g->nodes[g->values[id].node].out[slot];
}

void bi_node_outputs(const struct bi_graph *g, bi_value_id id, bi_value_id *out, int n)
{
    for (int k = 0; k < n; k++)
        out[k] = bi_other_output(g, id, k);
}

int bi_infer_pair_like_first(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *dy = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st && !(st = bi_expect(g, node, 1, 2, x->shape[1], err)) && dy->shape[0] != x->shape[0])
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: dy %s beside x %s", bi_ops[node->op]->name,
                     bi_shape_text(dy).text, bi_shape_text(x).text);
    if (!st)
        bi_out_like(g, node, 0, 0);
    return st;
}

void bi_launch_unary_grad(const struct bi_graph *g, const struct bi_node *node,
                          const struct bi_bind *b, struct bi_launch *launch, int function)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "unary_grad", struct bi_unary_grad_params, .counts = b->counts, .x = b->in[0],
              .dy = b->in[1], .dx = b->out[0], .ldx = b->in_ld[0], .lddy = b->in_ld[1],
              .lddx = b->out_ld[0], .rows = x->shape[0], .axis = (int32_t)x->axis,
              .width = (int32_t)x->shape[1], .function = function);
}

static double gelu_slope(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440) + x * exp(-x * x / 2) * 0.39894228040143267794;
}

void bi_ref_unary_grad(const void *params)
{
    const struct bi_unary_grad_params *p = params;
    const int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < p->width; c++) {
            const double x = (double)p->x[r * p->ldx + c], s = 1 / (1 + exp(-x));
            const double d = p->function == BI_UNARY_GELU   ? gelu_slope(x)
                             : p->function == BI_UNARY_SILU ? s + x * s * (1 - s)
                                                            : s * (1 - s);
            p->dx[r * p->lddx + c] = (float)(d * (double)p->dy[r * p->lddy + c]);
        }
}
