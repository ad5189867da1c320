/* knn.c - knn: the nearest residues of each residue.
 *   x [N, W], mask [N], start [B + 1], cells [C]?, grid [B, 8]? -> index [N, k], distance [N, k]
 * first: column of the point in x. The cells only save work (kernels/edges.h). */
#include <math.h>
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int knn_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0);
    int64_t shape[2];
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 1, x->shape[0], err);
    if (!st)
        st = bi_expect_start(g, node, 2, err);
    if (!st && (BI_ATTR(node, knn)->k < 1 || BI_ATTR(node, knn)->k > BI_NEIGHBORS_MAX ||
                BI_ATTR(node, knn)->first < 0 || BI_ATTR(node, knn)->first + 3 > x->shape[1]))
        st = bi_fail(err, BIOINFER_INTERNAL, "knn: %d neighbours of points at column %d of %lld",
                     BI_ATTR(node, knn)->k, BI_ATTR(node, knn)->first, (long long)x->shape[1]);
    if (st)
        return st;
    shape[0] = x->shape[0];
    shape[1] = BI_ATTR(node, knn)->k;
    bi_out_shape(g, node, 0, x->axis, 2, shape);
    bi_out_shape(g, node, 1, x->axis, 2, shape);
    bi_out(g, node, 0)->dtype = BI_I32;
    return 0;
}

static void knn_launch(const struct bi_graph *g, const struct bi_node *node,
                       const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "knn", struct bi_knn_params, .counts = b->counts, .x = b->in[0],
              .mask = b->in[1], .start = b->in[2], .cells = b->in[3], .grid = b->in[4],
              .index = b->out[0], .distance = b->out[1], .rows = x->shape[0],
              .width = (int32_t)x->shape[1], .first = BI_ATTR(node, knn)->first,
              .k = BI_ATTR(node, knn)->k);
}

/* In float32, as the kernels: which of two near equals comes first is part of the result. */
static float knn_distance(const float *a, const float *b)
{
    float dx = b[0] - a[0], dy = b[1] - a[1], dz = b[2] - a[2];
    return sqrtf(dx * dx + dy * dy + dz * dz + 1e-6f);
}

static void knn_reference(const void *params)
{
    const struct bi_knn_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++) {
        int32_t begin = p->start[s], end = p->start[s + 1];
        for (int32_t i = begin; i < end; i++) {
            const float *xi = p->x + (int64_t)i * p->width + p->first;
            float far = 0;
            int n = 0;
            for (int32_t j = begin; j < end; j++) {
                float m = p->mask[i] * p->mask[j];
                float d = m * knn_distance(xi, p->x + (int64_t)j * p->width + p->first);
                far = d > far ? d : far;
            }
            for (int32_t j = begin; j < end; j++) { /* insertion into a sorted list of k */
                float m = p->mask[i] * p->mask[j];
                float d = m * knn_distance(xi, p->x + (int64_t)j * p->width + p->first) +
                          (1 - m) * far;
                int at = n < p->k ? n++ : p->k;
                while (at && p->distance[(int64_t)i * p->k + at - 1] > d) {
                    if (at < p->k) {
                        p->distance[(int64_t)i * p->k + at] =
                            p->distance[(int64_t)i * p->k + at - 1];
                        p->index[(int64_t)i * p->k + at] = p->index[(int64_t)i * p->k + at - 1];
                    }
                    at--;
                }
                if (at < p->k) {
                    p->distance[(int64_t)i * p->k + at] = d;
                    p->index[(int64_t)i * p->k + at] = j;
                }
            }
            for (; n < p->k; n++) {
                p->distance[(int64_t)i * p->k + n] = 0;
                p->index[(int64_t)i * p->k + n] = -1;
            }
        }
    }
}

static void knn_cost(const struct bi_graph *g, const struct bi_node *node, double *flops,
                     double *bytes)
{
    *flops = 10.0 * (double)bi_in(g, node, 0)->shape[0] * (double)g->longest;
    *bytes = bi_bytes(g, node);
}

/* Returns the indices; *distance [N, k]. cells: residues sorted into cells, or BI_NONE. */
bi_value_id bi_knn(struct bi_graph *g, bi_value_id x, int32_t first, bi_value_id mask,
                   bi_value_id start, bi_value_id cells, bi_value_id grid, int32_t k,
                   bi_value_id *distance)
{
    bi_value_id id = bi_node_add(g, BI_OP_KNN, BI_IN(x, mask, start, cells, grid),
                                 BI_ATTRS(knn, .first = first, .k = k));
    *distance = bi_other_output(g, id, 1);
    return id;
}

const struct bi_op bi_op_knn = {
    .name = "knn",
    .infer = knn_infer,
    .launch = knn_launch,
    .reference = knn_reference,
    .cost = knn_cost,
    .required = 7,
};
