/* atom_features.c - atom_features: distances and directions of the atoms around a residue.
 *   x [N, 15], atoms [N M, 3] -> [N M, 84]
 * Formula: kernels/edges.h. Source: dauparas/LigandMPNN:model_utils.py, ProteinFeaturesLigand */
#include <math.h>
#include <string.h>

#include "edges.h"

void bi_ref_gaussians(const float *a, const float *b, float *y)
{
    double sum = 1e-6, d;
    for (int c = 0; c < 3; c++)
        sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    d = sqrt(sum);
    for (int n = 0; n < BI_RBF_BINS; n++) {
        double z = (d - (2 + 20.0 * n / 15)) / 1.25;
        y[n] = (float)exp(-z * z);
    }
}

static int atom_features_infer(struct bi_graph *g, struct bi_node *node, struct bioinfer_error *err)
{
    const struct bi_value *x = bi_in(g, node, 0), *atoms = bi_in(g, node, 1);
    int st = bi_expect(g, node, 0, 2, 15, err);
    if (!st)
        st = bi_expect(g, node, 1, 2, 3, err);
    if (!st && (!x->shape[0] || atoms->shape[0] % x->shape[0]))
        st = bi_fail(err, BIOINFER_INTERNAL, "atom_features: x %s, atoms %s", bi_shape_text(x).text,
                     bi_shape_text(atoms).text);
    if (!st)
        bi_out_shape(g, node, 0, BI_AXIS_ATOMS, 2, (int64_t[]){atoms->shape[0], BI_ATOM_FEATURES});
    return st;
}

static void atom_features_launch(const struct bi_graph *g, const struct bi_node *node,
                                 const struct bi_bind *b, struct bi_launch *launch)
{
    const struct bi_value *x = bi_in(g, node, 0), *atoms = bi_in(g, node, 1);
    BI_LAUNCH(launch, "atom_features", struct bi_atom_features_params, .counts = b->counts,
              .x = b->in[0], .atoms = b->in[1], .y = b->out[0], .rows = atoms->shape[0],
              .n_atoms = (int32_t)(atoms->shape[0] / x->shape[0]));
}

static void unit(double *v)
{
    double n = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3; i++)
        v[i] /= n > 1e-12 ? n : 1e-12;
}

static double dot(const double *a, const double *b)
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void atom_features_reference(const void *params)
{
    const struct bi_atom_features_params *p = params;
    int64_t rows = bi_live_rows(p->counts, BI_AXIS_ATOMS, p->rows);
    for (int64_t r = 0; r < rows; r++) {
        const float *x = p->x + r / p->n_atoms * 15, *a = p->atoms + 3 * r;
        float *y = p->y + r * BI_ATOM_FEATURES;
        double e[3][3], c[3], v[3], u[3], along, flat, far;
        for (int i = 0; i < 5; i++)
            bi_ref_gaussians(x + 3 * i, a, y + i * BI_RBF_BINS);
        for (int i = 0; i < 3; i++) {
            e[0][i] = (double)x[i] - (double)x[3 + i];
            c[i] = (double)x[6 + i] - (double)x[3 + i];
            v[i] = (double)a[i] - (double)x[3 + i];
        }
        unit(e[0]);
        along = dot(e[0], c);
        for (int i = 0; i < 3; i++)
            e[1][i] = c[i] - e[0][i] * along;
        unit(e[1]);
        for (int i = 0; i < 3; i++)
            e[2][i] = e[0][(i + 1) % 3] * e[1][(i + 2) % 3] - e[0][(i + 2) % 3] * e[1][(i + 1) % 3];
        for (int i = 0; i < 3; i++)
            u[i] = dot(v, e[i]);
        flat = sqrt(u[0] * u[0] + u[1] * u[1] + 1e-8);
        far = sqrt(dot(u, u)) + 1e-8;
        y += 5 * BI_RBF_BINS;
        y[0] = (float)(u[0] / flat);
        y[1] = (float)(u[1] / flat);
        y[2] = (float)(flat / far);
        y[3] = (float)(u[2] / far);
    }
}

bi_value_id bi_atom_features(struct bi_graph *g, bi_value_id x, bi_value_id atoms)
{
    return bi_node_add(g, BI_OP_ATOM_FEATURES, BI_IN(x, atoms), NULL);
}

const struct bi_op bi_op_atom_features = {
    .name = "atom_features",
    .infer = atom_features_infer,
    .launch = atom_features_launch,
    .reference = atom_features_reference,
    .cost = bi_cost_bytes,
    .required = 3,
};
