/* heads.c - the shift, the turn and the torsions of a pose, from the ligand's last features. */
#include <math.h>

#include "net.h"

/* Divides v by its length, and multiplies it by the network's number for that length. */
static void scale_vector(const struct bi_two_layers *net, const struct bi_diffdock_time *time,
                         int time_width, double v[3])
{
    const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    float in[1 + BI_DIFFDOCK_WIDEST], out[4];
    in[0] = (float)length;
    for (int k = 0; k < time_width; k++)
        in[1 + k] = time->embedding[k];
    bi_two_layers_row(net, in, out);
    for (int k = 0; k < 3; k++)
        v[k] = v[k] / length * (double)out[0];
}

/* Edges from all atoms to one point, their centre. */
static int centre_edges(struct bi_pose_edges *list, int32_t n, struct bioinfer_error *err)
{
    if (!bi_grow(list->env, &list->to, &list->cap_to, (size_t)n, sizeof *list->to) ||
        !bi_grow(list->env, &list->from, &list->cap_from, (size_t)n, sizeof *list->from))
        return bi_fail(err, BIOINFER_NOMEM, "no memory for %d atoms", (int)n);
    for (int32_t i = 0; i < n; i++) {
        list->to[i] = 0;
        list->from[i] = i;
    }
    list->n = n;
    return 0;
}

/* The shift and the turn. */
static int score_centre(const struct bi_diffdock *model, const struct bi_run *run,
                        const struct bi_diffdock_ligand *ligand,
                        const struct bi_diffdock_time *time, const double (*x)[3],
                        const float *features, struct bi_diffdock_score *score,
                        struct bioinfer_error *err)
{
    const struct bi_diffdock_settings *s = &model->settings;
    struct bi_pose_edges list = {.env = run->env};
    struct bi_edge_set set;
    double centre[1][3] = {{0}};
    float out[12];
    int st = centre_edges(&list, ligand->n, err);
    for (int32_t i = 0; i < ligand->n; i++)
        for (int k = 0; k < 3; k++)
            centre[0][k] += x[i][k] / ligand->n;
    if (!st)
        st = bi_edge_set_make(
            &set, run, &model->centre_edge,
            bi_edge_network_row(&model->centre_edge, s->time_width, time->embedding, run->arena),
            s->ns, s->lmax, &list, (const double(*)[3])centre, x, NULL, 0, err);
    if (!st) {
        const struct bi_conv_edges edges = {.n = set.n,
                                            .to = set.to,
                                            .from = set.from,
                                            .attr = set.attr,
                                            .sh = set.sh,
                                            .x = features,
                                            .block = {{.x = features,
                                                       .at = s->graph_centre ? set.to : set.from,
                                                       .n = ligand->n,
                                                       .stride = model->centre.in.width}}};
        st = bi_conv_run(&model->centre, run, &edges, 1, 1, out, err);
    }
    bi_edges_free(&list);
    if (st)
        return st;
    for (int k = 0; k < 3; k++) {
        score->shift[k] = (double)out[k] + (double)out[6 + k];
        score->turn[k] = (double)out[3 + k] + (double)out[9 + k];
    }
    scale_vector(&model->shift_norm, time, s->time_width, score->shift);
    scale_vector(&model->turn_norm, time, s->time_width, score->turn);
    for (int k = 0; k < 3 && s->scale_by_sigma; k++) {
        score->shift[k] /= time->sigma;
        score->turn[k] *= time->turn_norm;
    }
    return 0;
}

/* The harmonics of an edge times the bond's of order 2, as far as scalars follow. */
static void torsion_harmonics(int lmax, const float *edge, const double bond[9], float *out)
{
    static const struct {
        int l, to;
        double factor;
    } parts[] = {{2, 0, 1}, {1, 1, 1.7320508075688772}, {2, 1, 1.7320508075688772}};
    for (size_t p = lmax == 2 ? 0 : 1; p < (lmax == 2 ? 3 : 2); p++) {
        double c[BI_COUPLING][BI_COUPLING][BI_COUPLING];
        bi_coupling(parts[p].l, 2, parts[p].to, c);
        for (int m = 0; m <= 2 * parts[p].to; m++) {
            double sum = 0;
            for (int a = 0; a <= 2 * parts[p].l; a++)
                for (int b = 0; b < 5; b++)
                    sum += c[a][b][m] * (double)edge[(parts[p].l == 2 ? 4 : 1) + a] * bond[4 + b];
            *out++ = (float)(parts[p].factor * sum);
        }
    }
}

/* Arrays for the convolution about bonds, in the arena. */
struct bond_rows {
    double (*middle)[3];
    float *scalars; /* [n_torsions][ns] sums of both ends */
    float *sh;      /* each edge's */
    float *out;     /* [n_torsions][2 ns] */
};

static int make_bonds(struct bond_rows *rows, const struct bi_diffdock *model,
                      const struct bi_run *run, const struct bi_diffdock_ligand *ligand,
                      const double (*x)[3], const float *features, struct bioinfer_error *err)
{
    const size_t n = (size_t)ligand->n_torsions, ns = (size_t)model->settings.ns;
    rows->middle = bi_arena_calloc(run->arena, n, sizeof *rows->middle);
    rows->scalars = bi_arena_calloc(run->arena, n, ns * sizeof *rows->scalars);
    rows->out = bi_arena_calloc(run->arena, n, 2 * ns * sizeof *rows->out);
    if (!rows->middle || !rows->scalars || !rows->out)
        return bi_fail(err, BIOINFER_NOMEM, "no memory for %zu torsions", n);
    for (size_t i = 0; i < n; i++) {
        const int32_t u = ligand->torsions[i][0], v = ligand->torsions[i][1];
        const float *a = features + u * (int64_t)model->torsion.in.width;
        const float *b = features + v * (int64_t)model->torsion.in.width;
        for (int k = 0; k < 3; k++)
            rows->middle[i][k] = (x[u][k] + x[v][k]) / 2;
        for (size_t c = 0; c < ns; c++)
            rows->scalars[i * ns + c] = a[c] + b[c];
    }
    return 0;
}

/* Convolves about the middle of each bond that turns. */
static int convolve_bonds(struct bond_rows *rows, const struct bi_diffdock *model,
                          const struct bi_run *run, const struct bi_diffdock_ligand *ligand,
                          const double (*x)[3], const float *features,
                          const struct bi_pose_edges *list, struct bioinfer_error *err)
{
    const struct bi_diffdock_settings *s = &model->settings;
    const int width = model->torsion.sh.width, n_sh = (s->lmax + 1) * (s->lmax + 1);
    struct bi_edge_set set;
    int st = bi_edge_set_make(&set, run, &model->torsion_edge,
                              bi_edge_network_row(&model->torsion_edge, 0, NULL, run->arena), s->ns,
                              s->lmax, list, (const double(*)[3])rows->middle, x, NULL, 0, err);
    if (st)
        return st;
    rows->sh = bi_arena_calloc(run->arena, (size_t)list->n, (size_t)width * sizeof *rows->sh);
    if (!rows->sh)
        return bi_fail(err, BIOINFER_NOMEM, "no memory for %d edges", (int)list->n);
    for (int32_t e = 0; e < list->n; e++) {
        const int32_t *bond = ligand->torsions[list->to[e]];
        double axis[3], y[BI_DIFFDOCK_HARMONICS];
        for (int k = 0; k < 3; k++)
            axis[k] = x[bond[1]][k] - x[bond[0]][k];
        bi_harmonics(axis, 2, y);
        torsion_harmonics(s->lmax, set.sh + (int64_t)e * n_sh, y, rows->sh + (int64_t)e * width);
    }
    const struct bi_conv_edges edges = {
        .n = set.n,
        .to = set.to,
        .from = set.from,
        .attr = set.attr,
        .sh = rows->sh,
        .x = features,
        .block = {
            {.x = features, .at = set.from, .n = ligand->n, .stride = model->torsion.in.width},
            {.x = rows->scalars, .at = set.to, .n = ligand->n_torsions, .stride = s->ns}}};
    return bi_conv_run(&model->torsion, run, &edges, 1, ligand->n_torsions, rows->out, err);
}

static int score_torsions(const struct bi_diffdock *model, const struct bi_run *run,
                          const struct bi_diffdock_ligand *ligand,
                          const struct bi_diffdock_time *time, const double (*x)[3],
                          const float *features, struct bi_diffdock_score *score,
                          struct bioinfer_error *err)
{
    const struct bi_diffdock_settings *s = &model->settings;
    struct bi_pose_edges list = {.env = run->env};
    struct bond_rows rows = {0};
    int st = make_bonds(&rows, model, run, ligand, x, features, err);
    if (!st)
        st = bi_edges_within(&list, (const double(*)[3])rows.middle, ligand->n_torsions, x,
                             ligand->n, s->ligand_radius, BI_DIFFDOCK_LIGAND_NEIGHBOURS, err);
    if (!st)
        st = convolve_bonds(&rows, model, run, ligand, x, features, &list, err);
    for (int32_t i = 0; i < ligand->n_torsions && !st; i++) {
        float hidden[BI_DIFFDOCK_WIDEST], out[4];
        bi_dense_apply(&model->torsion_first, 1, rows.out + (int64_t)i * 2 * s->ns, 2 * s->ns,
                       hidden, model->torsion_first.stride, false);
        for (int c = 0; c < s->ns; c++)
            hidden[c] = tanhf(hidden[c]);
        bi_dense_apply(&model->torsion_last, 1, hidden, s->ns, out, 4, false);
        score->torsions[i] = (double)out[0] * (s->scale_by_sigma ? sqrt(time->torsion_norm) : 1);
    }
    bi_edges_free(&list);
    return st;
}

int bi_diffdock_heads(const struct bi_diffdock *model, const struct bi_run *run,
                      const struct bi_diffdock_ligand *ligand, const struct bi_diffdock_time *time,
                      const double (*x)[3], const float *features, struct bi_diffdock_score *score,
                      struct bioinfer_error *err)
{
    const int st = score_centre(model, run, ligand, time, x, features, score, err);
    if (st || !ligand->n_torsions || model->settings.no_torsion)
        return st;
    return score_torsions(model, run, ligand, time, x, features, score, err);
}
