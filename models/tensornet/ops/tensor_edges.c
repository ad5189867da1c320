/* tensor_edges.c - what ops on the edges of atoms have in common (kernels/tensor_edges.h). */
#include <math.h>

#include "tensors.h"

static int expect_numbers(const struct bi_graph *g, const struct bi_node *node, int i, int64_t n,
                          struct bioinfer_error *err)
{
    const struct bi_value *v = bi_in(g, node, i);
    if (v && v->rank == 1 && v->dtype == BI_I32 && (n < 0 || v->shape[0] == n))
        return 0;
    return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d %s, expected int32 [%lld]",
                   bi_ops[node->op]->name, i, v ? bi_shape_text(v).text : "is missing",
                   (long long)n);
}

int bi_expect_edge_list(const struct bi_graph *g, const struct bi_node *node, int table,
                        int64_t width, float cutoff, struct bioinfer_error *err)
{
    const int first = table < 0 ? 1 : 0;
    int st = bi_expect(g, node, first, 2, 3, err);
    if (!st)
        st = expect_numbers(g, node, first + 1, -1, err);
    for (int k = 2; !st && k < 4; k++)
        st = expect_numbers(g, node, first + k, bi_in(g, node, first)->shape[0], err);
    if (!st && table >= 0)
        st = bi_expect(g, node, table, 2, 12 * width, err);
    if (!st && table >= 0 && (bi_in(g, node, table)->shape[0] < 1 || !(cutoff > 0)))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: a table %s up to %g", bi_ops[node->op]->name,
                     bi_shape_text(bi_in(g, node, table)).text, (double)cutoff);
    return st;
}

int bi_expect_same(const struct bi_graph *g, const struct bi_node *node, int i, int like,
                   struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, i), *y = bi_in(g, node, like);
    if (x && x->dtype == BI_F32 && x->rank == y->rank && x->shape[0] == y->shape[0] &&
        x->shape[1] == y->shape[1])
        return 0;
    return bi_fail(err, BIOINFER_INTERNAL, "%s: input %d %s, expected %s", bi_ops[node->op]->name,
                   i, x ? bi_shape_text(x).text : "is missing", bi_shape_text(y).text);
}

struct bi_edge_list bi_edge_list_of(const struct bi_graph *g, const struct bi_node *node,
                                    const struct bi_bind *b, int first, int table, int64_t width,
                                    float cutoff)
{
    return (struct bi_edge_list){.counts = b->counts,
                                 .vector = b->in[first],
                                 .start = b->in[first + 1],
                                 .col = b->in[first + 2],
                                 .reverse = b->in[first + 3],
                                 .table = table < 0 ? NULL : b->in[table],
                                 .rows = bi_in(g, node, first + 1)->shape[0] - 1,
                                 .cutoff = cutoff,
                                 .knots = table < 0 ? 0 : (int32_t)bi_in(g, node, table)->shape[0],
                                 .width = (int32_t)width};
}

double bi_ref_edge_length(const struct bi_edge_list *l, int64_t e, double u[3])
{
    double square = 0;
    for (int k = 0; k < 3; k++) {
        u[k] = (double)l->vector[3 * e + k];
        square += u[k] * u[k];
    }
    const double r = sqrt(square);
    for (int k = 0; k < 3; k++)
        u[k] /= r;
    return r;
}

double bi_ref_edge_factor(const struct bi_edge_list *l, double r, int k, int64_t f, double *slope)
{
    const double per = (double)l->knots / (double)l->cutoff, t = r * per;
    int64_t at = (int64_t)t;
    if (at > l->knots - 1)
        at = l->knots - 1;
    const double x = t - (double)at;
    const int64_t w = l->width;
    const float *c = l->table + at * 12 * w + k * w + f;
    const double c1 = (double)c[3 * w], c2 = (double)c[6 * w], c3 = (double)c[9 * w];
    *slope = per * (c1 + x * (2 * c2 + x * 3 * c3));
    return (double)c[0] + x * (c1 + x * (c2 + x * c3));
}
