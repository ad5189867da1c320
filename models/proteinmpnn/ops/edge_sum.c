/* edge_sum.c - edge_sum: what an edge, its residue and its neighbour add up to.
 *   edge [E, D], self [R, D], other [V, D]?, late [N, D]?, rank [M]?, codes [M]?,
 *   table [symbols, D]?, index [N, k]?, row [R]?, token [R]? -> act(z) [R k, D]
 * Formula and meaning of the inputs: kernels/edges.h. */
#include <math.h>
#include <string.h>

#include "../../../kernels/linear.h"
#include "edges.h"

/* The axis of what has k rows for each row of that axis. */
static enum bi_axis edges_of(enum bi_axis axis)
{
    return axis == BI_AXIS_SAMPLES   ? BI_AXIS_SAMPLE_EDGES
           : axis == BI_AXIS_SAMPLED ? BI_AXIS_SAMPLED_EDGES
                                     : BI_AXIS_EDGES;
}

int bi_expect_edges(const struct bi_graph *g, const struct bi_node *node, int32_t k,
                    struct bioinfer_error *err)
{
    const struct bi_value *self = bi_in(g, node, 1);
    int64_t width;
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (st)
        return st;
    width = bi_in(g, node, 0)->shape[1];
    st = bi_expect(g, node, 1, 2, width, err);
    for (int i = 2; !st && i <= 3; i++)
        if (bi_in(g, node, i))
            st = bi_expect(g, node, i, 2, width, err);
    if (!st && bi_in(g, node, 6))
        st = bi_expect(g, node, 6, 2, width, err);
    if (!st && bi_in(g, node, 7))
        st = bi_expect(g, node, 7, 2, k, err);
    for (int i = 8; !st && i <= 9; i++)
        if (bi_in(g, node, i))
            st = bi_expect(g, node, i, 1, self->shape[0], err);
    if (!st &&
        (k < 1 || k > BI_NEIGHBORS_MAX || !bi_in(g, node, 3) != !bi_in(g, node, 4) ||
         !bi_in(g, node, 5) != !bi_in(g, node, 6) || (bi_in(g, node, 3) && !bi_in(g, node, 2)) ||
         (bi_in(g, node, 2) && !bi_in(g, node, 7))))
        st = bi_fail(err, BIOINFER_INTERNAL, "%s: inputs that do not belong together, k = %d",
                     bi_ops[node->op]->name, k);
    return st;
}

struct bi_edge_terms bi_edge_terms_of(const struct bi_graph *g, const struct bi_node *node,
                                      const struct bi_bind *b, int32_t k)
{
    return (struct bi_edge_terms){.edge = b->in[0],
                                  .self = b->in[1],
                                  .other = b->in[2],
                                  .late = b->in[3],
                                  .rank = b->in[4],
                                  .codes = b->in[5],
                                  .table = b->in[6],
                                  .index = b->in[7],
                                  .row = b->in[8],
                                  .token = b->in[9],
                                  .width = (int32_t)bi_in(g, node, 0)->shape[1],
                                  .k = k};
}

bool bi_ref_edge(const struct bi_edge_terms *e, int64_t r, int n, double *z)
{
    int64_t token = e->token ? e->token[r] : r, row = e->row ? e->row[r] : r;
    int64_t at = token * e->k + n, j = e->index ? e->index[at] : at, mine;
    const float *v;
    if (row < 0 || j < 0)
        return false;
    mine = e->index ? j - token + row : j;
    v = e->other ? e->other + mine * e->width : NULL;
    if (e->late && e->rank[mine] >= e->rank[row])
        v = e->late + j * e->width;
    for (int32_t c = 0; c < e->width; c++) {
        z[c] = (double)e->edge[at * e->width + c] + (double)e->self[r * e->width + c];
        if (v)
            z[c] += (double)v[c];
        if (e->codes && !(e->late && e->rank[mine] >= e->rank[row]))
            z[c] += (double)e->table[(int64_t)e->codes[mine] * e->width + c];
    }
    return true;
}

double bi_ref_gelu(double x)
{
    return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
}

static int edge_sum_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *self = bi_in(g, node, 1);
    int st = bi_expect_edges(g, node, BI_ATTR(node, edge_sum)->k, err);
    if (!st) /* without an index there is a row for every row of `edge` */
        bi_out_shape(g, node, 0, bi_in(g, node, 7) ? edges_of(self->axis) : bi_in(g, node, 0)->axis,
                     2, (int64_t[]){self->shape[0] * BI_ATTR(node, edge_sum)->k, self->shape[1]});
    return st;
}

static void edge_sum_launch(const struct bi_graph *g, const struct bi_node *node,
                            const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *self = bi_in(g, node, 1);
    BI_LAUNCH(launch, "edge_sum", struct bi_edge_sum_params, .counts = b->counts,
              .terms = bi_edge_terms_of(g, node, b, BI_ATTR(node, edge_sum)->k), .y = b->out[0],
              .rows = self->shape[0], .axis = (int32_t)self->axis,
              .act = BI_ATTR(node, edge_sum)->act);
}

static void edge_sum_reference(const void *params)
{
    const struct bi_edge_sum_params *p = params;
    const struct bi_edge_terms *e = &p->terms;
    int64_t rows = bi_live_rows(p->counts, p->axis, p->rows);
    double z[1024];
    for (int64_t r = 0; r < rows; r++)
        for (int n = 0; n < e->k; n++) {
            float *y = p->y + (r * e->k + n) * e->width;
            bool there = bi_ref_edge(e, r, n, z);
            for (int32_t c = 0; c < e->width; c++)
                y[c] = !there ? 0 : (float)(p->act == BI_ACT_GELU ? bi_ref_gelu(z[c]) : z[c]);
        }
}

bi_value_id bi_edge_sum(struct bi_graph *g, const struct bi_edge_args *a, int32_t k)
{
    return bi_node_add(g, BI_OP_EDGE_SUM,
                       BI_IN(a->edge, a->self, a->other, a->late, a->rank, a->codes, a->table,
                             a->index, a->row, a->token),
                       BI_ATTRS(edge_sum, .k = k));
}

const struct bi_op bi_op_edge_sum = {
    .name = "edge_sum",
    .infer = edge_sum_infer,
    .launch = edge_sum_launch,
    .reference = edge_sum_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
