/* orientation.c - orientation: direction and rotation of the neighbour's frame, from CA alone.
 *   x [N, W], index [N, k], start [B + 1] -> [N k, 7].   first: column of CA in x
 * Source: dauparas/ProteinMPNN:protein_mpnn_utils.py, CA_ProteinFeatures; cross products over the
 * three coordinates, as the reference does for every batch size but 3. */
#include <math.h>
#include <string.h>

#include "../../../kernels/edges.h"
#include "../../../ops/shared.h"

static int orientation_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *index = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, -1, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, -1, err);
    if (!st)
        st = bi_expect_start(g, node, 2, err);
    if (!st &&
        (x->shape[0] != index->shape[0] || BI_ATTR(node, orientation)->first + 3 > x->shape[1]))
        st = bi_fail(err, BIOINFER_INTERNAL, "orientation: x %s, index %s", bi_shape_text(x).text,
                     bi_shape_text(index).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_EDGES, 2, (int64_t[]){x->shape[0] * index->shape[1], 7});
    return st;
}

static void orientation_launch(const struct bi_graph *g, const struct bi_node *node,
                               const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0);
    BI_LAUNCH(launch, "orientation", struct bi_orientation_params, .counts = b->counts,
              .x = b->in[0], .index = b->in[1], .start = b->in[2], .y = b->out[0],
              .rows = x->shape[0], .width = (int32_t)x->shape[1],
              .first = BI_ATTR(node, orientation)->first,
              .k = (int32_t)bi_in(g, node, 1)->shape[1]);
}

static void unit(double v[3])
{
    double n = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] /= n > 1e-12 ? n : 1e-12;
}

static void cross(const double a[3], const double b[3], double c[3])
{
    for (int i = 0; i < 3; i++)
        c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* u_t of consecutive residues, zero when they are not bonded. */
static void bond(const struct bi_orientation_params *p, int64_t t, double u[3])
{
    const float *a = p->x + t * p->width + p->first, *b = a + p->width;
    double n = 0;
    for (int i = 0; i < 3; i++) {
        u[i] = (double)b[i] - (double)a[i];
        n += u[i] * u[i];
    }
    n = sqrt(n);
    for (int i = 0; i < 3; i++)
        u[i] = n > 3.6 && n < 4.0 ? u[i] : 0;
    unit(u);
}

/* Rows o, n, o x n; zero for residue 0 and the last two of a structure. */
static void frame(const struct bi_orientation_params *p, int32_t t, int32_t begin, int32_t end,
                  double f[3][3])
{
    double u[3], v[3], d[3];
    memset(f, 0, 9 * sizeof f[0][0]);
    if (t < begin + 1 || t > end - 3)
        return;
    bond(p, t - 1, u);
    bond(p, t, v);
    for (int i = 0; i < 3; i++)
        d[i] = u[i] - v[i];
    unit(d);
    cross(u, v, f[1]);
    unit(f[1]);
    memcpy(f[0], d, sizeof d);
    cross(f[0], f[1], f[2]);
}

static void orientation_reference(const void *params)
{
    const struct bi_orientation_params *p = params;
    for (int32_t s = 0; s < p->counts->n_seqs; s++)
        for (int32_t i = p->start[s]; i < p->start[s + 1]; i++) {
            double a[3][3];
            frame(p, i, p->start[s], p->start[s + 1], a);
            for (int n = 0; n < p->k; n++) {
                int32_t j = p->index[(int64_t)i * p->k + n];
                float *y = p->y + ((int64_t)i * p->k + n) * 7;
                double b[3][3], r[3][3] = {{0}}, d[3] = {0}, q[4], length = 0;
                memset(y, 0, 7 * sizeof *y);
                if (j < 0)
                    continue;
                frame(p, j, p->start[s], p->start[s + 1], b);
                for (int x = 0; x < 3; x++)
                    for (int c = 0; c < 3; c++) {
                        d[x] += a[x][c] * ((double)p->x[(int64_t)j * p->width + p->first + c] -
                                           (double)p->x[(int64_t)i * p->width + p->first + c]);
                        for (int m = 0; m < 3; m++)
                            r[x][c] += a[m][x] * b[m][c];
                    }
                unit(d);
                for (int c = 0; c < 3; c++) {
                    double m = 1 + 2 * r[c][c] - r[0][0] - r[1][1] - r[2][2];
                    int u = (c + 2) % 3, v = (c + 1) % 3;
                    double sign = r[u][v] - r[v][u];
                    q[c] = 0.5 * sqrt(fabs(m)) * (double)((sign > 0) - (sign < 0));
                }
                q[3] = 1 + r[0][0] + r[1][1] + r[2][2];
                if (q[3] < (double)BI_ORIENTATION_NONE && q[0] == 0 && q[1] == 0 && q[2] == 0)
                    q[3] = 0;
                q[3] = 0.5 * sqrt(q[3] > 0 ? q[3] : 0);
                for (int c = 0; c < 4; c++)
                    length += q[c] * q[c];
                length = sqrt(length);
                for (int c = 0; c < 3; c++)
                    y[c] = (float)d[c];
                for (int c = 0; c < 4; c++)
                    y[3 + c] = (float)(q[c] / (length > 1e-12 ? length : 1e-12));
            }
        }
}

bi_value_id bi_orientation(struct bi_graph *g, bi_value_id x, int32_t first, bi_value_id index,
                           bi_value_id start)
{
    return bi_node_add(g, BI_OP_ORIENTATION, BI_IN(x, index, start),
                       BI_ATTRS(orientation, .first = first));
}

const struct bi_op bi_op_orientation = {
    .name = "orientation",
    .infer = orientation_infer,
    .launch = orientation_launch,
    .reference = orientation_reference,
    .cost = bi_cost_bytes,
    .required = 7,
};
