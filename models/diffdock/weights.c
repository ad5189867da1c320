/* weights.c - settings and tensors of a checkpoint of DiffDock.
 *
 * Sections: tensors, layers, convolutions, networks, opening.
 * Norms are folded into a scale and a shift in double, and the constants of products of irreps into
 * the weights of their paths; the paths' weights lie as the sums want them. Every tensor of the
 * file is used, or is one of those that hold no weight. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net.h"

enum { NAME = 160, MOST_OUTPUTS = 64 };
static const double norm_eps = 1e-5, longest = 30; /* stop of residues' and centres' distances */

/* A checkpoint while its tensors are taken. */
struct taker {
    struct bi_diffdock *model;
    const struct bi_checkpoint *cp;
    unsigned char *used; /* [n_tensors] */
    struct bioinfer_error *err;
};

/* ---- tensors ---- */

static int no_memory(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "no memory for the weights of a model");
}

/* Finds the tensor prefix + suffix, [rows] where columns is 0, and marks it. */
static int find(struct taker *t, const struct bi_tensor **out, const char *prefix,
                const char *suffix, int64_t rows, int64_t columns)
{
    char name[NAME];
    const struct bi_tensor *tensor;
    const int rank = columns ? 2 : 1;
    snprintf(name, sizeof name, "%s%s", prefix, suffix);
    tensor = bi_checkpoint_find(t->cp, name);
    if (!tensor)
        return bi_fail(t->err, BIOINFER_MISMATCH, "%s: no tensor %s", t->cp->path, name);
    if (tensor->rank != rank || tensor->shape[0] != (uint64_t)rows ||
        (columns && tensor->shape[1] != (uint64_t)columns))
        return bi_fail(t->err, BIOINFER_MISMATCH,
                       "%s: %s: shape [%lld, %lld] of rank %d, expected [%lld, %lld] of rank %d",
                       t->cp->path, name, (long long)(tensor->rank > 0 ? tensor->shape[0] : 0),
                       (long long)(tensor->rank > 1 ? tensor->shape[1] : 0), tensor->rank,
                       (long long)rows, (long long)columns, rank);
    t->used[tensor - t->cp->tensors] = 1;
    *out = tensor;
    return 0;
}

/* All values of a tensor, which are finite, into `to`. */
static int read_all(struct taker *t, const struct bi_tensor *tensor, float *to)
{
    int st = bi_tensor_read_f32(t->cp, tensor, 0, tensor->n_elements, to, t->err);
    for (uint64_t i = 0; i < tensor->n_elements && !st; i++)
        if (!isfinite(to[i]))
            st = bi_fail(t->err, BIOINFER_FORMAT, "%s: %s: number %llu is not finite", t->cp->path,
                         tensor->name, (unsigned long long)i);
    return st;
}

/* The same of prefix + suffix, allocated in `arena`. */
static int take(struct taker *t, struct bi_arena *arena, const float **out, const char *prefix,
                const char *suffix, int64_t rows, int64_t columns)
{
    const struct bi_tensor *tensor = NULL;
    float *values;
    int st = find(t, &tensor, prefix, suffix, rows, columns);
    if (st)
        return st;
    values = bi_arena_calloc(arena, (size_t)tensor->n_elements, sizeof *values);
    *out = values;
    return values ? read_all(t, tensor, values) : no_memory(t->err);
}

/* ---- layers ---- */

/* A layer `prefix`.weight, with .bias where asked for. */
static int take_dense(struct taker *t, struct bi_dense *dense, const char *prefix, int out, int in,
                      bool bias)
{
    struct bi_arena scratch = {.env = t->model->env};
    const float *weight = NULL;
    float *turned = NULL;
    int st = take(t, &scratch, &weight, prefix, ".weight", out, in);
    *dense = (struct bi_dense){.in = in, .out = out, .stride = (out + 3) & ~3};
    if (!st && bias)
        st = take(t, &t->model->arena, &dense->bias, prefix, ".bias", out, 0);
    if (!st) {
        turned = bi_arena_calloc(&t->model->arena, (size_t)in,
                                 (size_t)dense->stride * sizeof *turned);
        if (!turned)
            st = no_memory(t->err);
    }
    for (int o = 0; o < out && !st; o++)
        for (int i = 0; i < in; i++)
            turned[(size_t)i * (size_t)dense->stride + (size_t)o] =
                weight[(size_t)o * (size_t)in + (size_t)i];
    dense->weight = turned;
    bi_arena_reset(&scratch);
    return st;
}

/* Layers `prefix`.0 and .3. */
static int take_two(struct taker *t, struct bi_two_layers *two, const char *prefix, int in,
                    int hidden, int out)
{
    char name[NAME];
    int st;
    snprintf(name, sizeof name, "%s.0", prefix);
    if ((st = take_dense(t, &two->first, name, hidden, in, true)))
        return st;
    snprintf(name, sizeof name, "%s.3", prefix);
    return take_dense(t, &two->last, name, out, hidden, true);
}

/* ---- convolutions ---- */

/* e3nn's norm over irreps: only even scalars have a mean and a bias. */
static int take_norm(struct taker *t, struct bi_irreps_conv *conv, const char *prefix)
{
    struct bi_arena scratch = {.env = t->model->env};
    const float *weight = NULL, *var = NULL, *mean = NULL, *bias = NULL;
    float *scale = bi_arena_calloc(&t->model->arena, (size_t)conv->out.width, sizeof *scale);
    float *shift = bi_arena_calloc(&t->model->arena, (size_t)conv->out.width, sizeof *shift);
    int n = 0, n_even = 0, st = scale && shift ? 0 : no_memory(t->err);
    for (int k = 0; k < conv->out.n; k++) {
        n += conv->out.part[k].mul;
        n_even += conv->out.part[k].l || conv->out.part[k].odd ? 0 : conv->out.part[k].mul;
    }
    if (!st && !t->model->settings.no_batch_norm) {
        if (!(st = take(t, &scratch, &weight, prefix, ".batch_norm.weight", n, 0)) &&
            !(st = take(t, &scratch, &var, prefix, ".batch_norm.running_var", n, 0)) &&
            !(st = take(t, &scratch, &mean, prefix, ".batch_norm.running_mean", n_even, 0)))
            st = take(t, &scratch, &bias, prefix, ".batch_norm.bias", n_even, 0);
    }
    n = n_even = 0;
    for (int k = 0; k < conv->out.n && !st; k++) {
        const struct bi_irrep *part = &conv->out.part[k];
        for (int u = 0; u < part->mul && !st; u++, n++) {
            double factor = 1, off = 0;
            if (weight) {
                if (!((double)var[n] + norm_eps > 0))
                    st = bi_fail(t->err, BIOINFER_FORMAT, "%s: %s.batch_norm: variance %d is %g",
                                 t->cp->path, prefix, n, (double)var[n]);
                factor = (double)weight[n] / sqrt((double)var[n] + norm_eps);
                if (!part->l && !part->odd) {
                    off = (double)bias[n_even] - (double)mean[n_even] * factor;
                    n_even++;
                }
            }
            for (int m = 0; m <= 2 * part->l; m++) {
                scale[part->at + u * (2 * part->l + 1) + m] = (float)factor;
                shift[part->at + u * (2 * part->l + 1) + m] = (float)off;
            }
        }
    }
    conv->scale = scale;
    conv->shift = shift;
    bi_arena_reset(&scratch);
    return st;
}

/* The last layer of a group, `prefix`, laid out by path. */
static int take_last(struct taker *t, const struct bi_irreps_conv *conv,
                     struct bi_conv_group *group, const char *prefix)
{
    struct bi_arena scratch = {.env = t->model->env};
    const float *weight = NULL, *bias = NULL;
    const int64_t n = (int64_t)conv->paths.n_weights, hidden = conv->hidden;
    int st = take(t, &scratch, &weight, prefix, ".weight", n, hidden);
    if (!st)
        st = take(t, &scratch, &bias, prefix, ".bias", n, 0);
    for (int p = 0; p < conv->paths.n && !st; p++) {
        const struct bi_path *path = &conv->paths.path[p];
        const int64_t mul = conv->in.part[path->in].mul, out = conv->out.part[path->out].mul;
        const int64_t stride = (out + 3) & ~(int64_t)3;
        float *to = bi_arena_calloc(&t->model->arena, (size_t)(mul * conv->h_stride),
                                    (size_t)stride * sizeof *to);
        group->last[p] = to;
        if (!to)
            st = no_memory(t->err);
        for (int64_t u = 0; u < mul && !st; u++)
            for (int64_t w = 0; w < out; w++) {
                const int64_t row = (int64_t)path->weight_at + u * out + w;
                for (int64_t h = 0; h <= hidden; h++) {
                    const float v = h < hidden ? weight[row * hidden + h] : bias[row];
                    to[(u * conv->h_stride + h) * stride + w] = (float)((double)v * path->c);
                }
            }
    }
    bi_arena_reset(&scratch);
    return st;
}

/* Facts of a convolution that its name does not tell. */
struct conv_facts {
    struct bi_irreps in, sh, out;
    int n_blocks, fc_layers;
    int n_groups; /* 0: one, whose layers have no number */
    bool by_output;
};

static int take_conv(struct taker *t, struct bi_irreps_conv *conv, const char *prefix,
                     const struct conv_facts *facts)
{
    char name[NAME];
    const int ns = t->model->settings.ns;
    int st = bi_paths_make(&conv->paths, &facts->in, &facts->sh, &facts->out, facts->by_output,
                           t->err);
    conv->in = facts->in;
    conv->sh = facts->sh;
    conv->out = facts->out;
    conv->n_groups = facts->n_groups ? facts->n_groups : 1;
    conv->n_blocks = facts->n_blocks;
    conv->ns = ns;
    conv->hidden = facts->n_blocks * ns;
    conv->h_stride = (conv->hidden + 4) & ~3; /* a 1 at the end */
    for (int g = 0; g < conv->n_groups && !st; g++) {
        struct bi_conv_group *group = &conv->group[g];
        int n = snprintf(name, sizeof name, "%s.fc.", prefix);
        if (facts->n_groups)
            n += snprintf(name + n, sizeof name - (size_t)n, "%d.", g);
        for (int l = 0; l < facts->fc_layers && !st; l++) {
            snprintf(name + n, sizeof name - (size_t)n, "%d", 3 * l);
            st = l + 1 == facts->fc_layers ? take_last(t, conv, group, name)
                                           : take_dense(t, l ? &group->middle : &group->first, name,
                                                        conv->hidden, conv->hidden, true);
        }
    }
    return st ? st : take_norm(t, conv, prefix);
}

/* The convolution after `step` others, `prefix`.`number`. */
static int take_step(struct taker *t, struct bi_irreps_conv *conv, const char *prefix, int number,
                     int step, int n_groups)
{
    const struct bi_diffdock_settings *s = &t->model->settings;
    const struct conv_facts facts = {.in = bi_irreps_step(s->ns, s->nv, s->reduced, step),
                                     .out = bi_irreps_step(s->ns, s->nv, s->reduced, step + 1),
                                     .sh = bi_irreps_harmonics(s->lmax),
                                     .n_blocks = 3,
                                     .fc_layers = s->fc_layers,
                                     .n_groups = n_groups,
                                     .by_output = s->lmax == 1};
    char name[NAME];
    snprintf(name, sizeof name, "%s.%d", prefix, number);
    return take_conv(t, conv, name, &facts);
}

/* ---- networks ---- */

static const int32_t ligand_rows[] = {119, 4, 12, 12, 8, 10, 6, 6, 2, 8, 2, 2, 2, 2, 2, 2};
static const int32_t residue_rows[] = {38};
static const int32_t atom_rows[BI_DIFFDOCK_ATOM_FEATURES] = {38, 119, 23, 38};

static int take_encoder(struct taker *t, struct bi_node_encoder *encoder, const char *prefix,
                        const int32_t *rows, int n_tables, int lm_width, bool time)
{
    const struct bi_diffdock_settings *s = &t->model->settings;
    char name[NAME];
    int st = 0;
    encoder->n_tables = n_tables;
    for (int i = 0; i < n_tables && !st; i++) {
        snprintf(name, sizeof name, "%s.atom_embedding_list.%d", prefix, i);
        encoder->n_rows[i] = rows[i];
        st = take(t, &t->model->arena, &encoder->table[i], name, ".weight", rows[i], s->ns);
    }
    if (st)
        return st;
    if (s->kind == BI_DIFFDOCK_NEW) {
        const int more = lm_width + (time ? s->time_width : 0);
        snprintf(name, sizeof name, "%s.additional_features_embedder", prefix);
        return more ? take_dense(t, &encoder->extra, name, s->ns, s->ns + more, true) : 0;
    }
    snprintf(name, sizeof name, "%s.linear", prefix);
    if ((st = take_dense(t, &encoder->linear, name, s->ns, s->time_width, true)) || !lm_width)
        return st;
    snprintf(name, sizeof name, "%s.lm_embedding_layer", prefix);
    return take_dense(t, &encoder->model, name, s->ns, s->ns + lm_width, true);
}

/* Which parts an edge's network has, and in which order. */
enum edge_parts { DISTANCE, TIME_DISTANCE, BOND_TIME_DISTANCE, DISTANCE_TIME };

static int take_edge(struct taker *t, struct bi_edge_network *net, const char *prefix,
                     enum edge_parts parts, int n_distances, double stop)
{
    const int ns = t->model->settings.ns, time = t->model->settings.time_width;
    int in = 0;
    *net = (struct bi_edge_network){
        .bond_at = -1, .time_at = -1, .n_distances = n_distances, .stop = stop};
    if (parts == BOND_TIME_DISTANCE) {
        net->bond_at = 0;
        in += BI_DIFFDOCK_BONDS;
    }
    if (parts == TIME_DISTANCE || parts == BOND_TIME_DISTANCE) {
        net->time_at = in;
        in += time;
    }
    net->distance_at = in;
    in += n_distances;
    if (parts == DISTANCE_TIME) {
        net->time_at = in;
        in += time;
    }
    return take_two(t, &net->net, prefix, in, ns, ns);
}

/* The parts of both score networks after their layers. */
static int take_heads(struct taker *t)
{
    struct bi_diffdock *m = t->model;
    const struct bi_diffdock_settings *s = &m->settings;
    struct conv_facts facts = {
        .in = bi_irreps_step(s->ns, s->nv, s->reduced, s->n_embedding_layers + s->n_layers),
        .sh = bi_irreps_harmonics(s->lmax),
        .n_blocks = 2,
        .fc_layers = 2};
    int st;
    bi_irreps_add(&facts.out, 2, 1, true);
    bi_irreps_add(&facts.out, 2, 1, false);
    if ((st = take_edge(t, &m->centre_edge, "center_edge_embedding", DISTANCE_TIME,
                        s->distance_width, longest)) ||
        (st = take_conv(t, &m->centre, "final_conv", &facts)) ||
        (st = take_two(t, &m->shift_norm, "tr_final_layer", 1 + s->time_width, s->ns, 1)) ||
        (st = take_two(t, &m->turn_norm, "rot_final_layer", 1 + s->time_width, s->ns, 1)) ||
        s->no_torsion)
        return st;
    facts.sh = (struct bi_irreps){0}; /* the used part of the harmonics times a bond's */
    if (s->lmax == 2)
        bi_irreps_add(&facts.sh, 1, 0, false);
    bi_irreps_add(&facts.sh, 1, 1, true);
    if (s->lmax == 2)
        bi_irreps_add(&facts.sh, 1, 1, false);
    facts.out = (struct bi_irreps){0};
    bi_irreps_add(&facts.out, s->ns, 0, true);
    bi_irreps_add(&facts.out, s->ns, 0, false);
    facts.n_blocks = 3;
    if ((st = take_edge(t, &m->torsion_edge, "final_edge_embedding", DISTANCE, s->distance_width,
                        s->ligand_radius)) ||
        (st = take_conv(t, &m->torsion, "tor_bond_conv", &facts)) ||
        (st = take_dense(t, &m->torsion_first, "tor_final_layer.0", s->ns, 2 * s->ns, false)))
        return st;
    return take_dense(t, &m->torsion_last, "tor_final_layer.3", 1, s->ns, false);
}

/* First features, whose names both score networks share. */
static int take_features(struct taker *t)
{
    struct bi_diffdock *m = t->model;
    const struct bi_diffdock_settings *s = &m->settings;
    const bool old = s->kind == BI_DIFFDOCK_OLD;
    int st;
    if ((st = take_encoder(t, &m->ligand, "lig_node_embedding", ligand_rows,
                           (int)BI_COUNT(ligand_rows), 0, true)) ||
        (st = take_encoder(t, &m->residue, "rec_node_embedding", residue_rows,
                           (int)BI_COUNT(residue_rows), s->lm_width, false)) ||
        (st = take_edge(t, &m->ligand_edge, "lig_edge_embedding", BOND_TIME_DISTANCE,
                        s->distance_width, s->ligand_radius)) ||
        (st = take_edge(t, &m->residue_edge, "rec_edge_embedding", old ? TIME_DISTANCE : DISTANCE,
                        s->distance_width, longest)) ||
        (st = take_edge(t, &m->cross_edge, "cross_edge_embedding", TIME_DISTANCE, s->cross_width,
                        s->cross_radius)) ||
        old)
        return st;
    return take_two(t, &m->residue_time, "rec_sigma_embedding", s->time_width, s->ns, s->ns);
}

static int take_old(struct taker *t)
{
    static const char *const names[BI_DIFFDOCK_OLD_CONVS] = {
        [BI_LIG_TO_LIG] = "lig_conv_layers",
        [BI_REC_TO_LIG] = "rec_to_lig_conv_layers",
        [BI_REC_TO_REC] = "rec_conv_layers",
        [BI_LIG_TO_REC] = "lig_to_rec_conv_layers"};
    const int n = t->model->settings.n_layers;
    int st = take_features(t);
    for (int l = 0; l < n && !st; l++)
        for (int c = 0; c < BI_DIFFDOCK_OLD_CONVS && !st; c++) /* two of the last layer are idle */
            st = take_step(t, &t->model->old[l][c], names[c], l, l, 0);
    return st ? st : take_heads(t);
}

static int take_new(struct taker *t)
{
    struct bi_diffdock *m = t->model;
    const struct bi_diffdock_settings *s = &m->settings;
    int st = take_features(t);
    for (int l = 0; l < s->n_embedding_layers && !st; l++)
        if (!(st = take_step(t, &m->residue_first[l], "rec_emb_layers", l, l, 0)))
            st = take_step(t, &m->ligand_first[l], "lig_emb_layers", l, l, 0);
    for (int l = 0; l < s->n_layers && !st; l++)
        st = take_step(t, &m->merged[l], "conv_layers", l, s->n_embedding_layers + l,
                       s->ungrouped          ? 0
                       : l + 1 < s->n_layers ? 4
                                             : 2);
    return st ? st : take_heads(t);
}

/* A norm of scalars that stands after a product, as a scale and a shift. */
static int take_batch_norm(struct taker *t, struct bi_predictor *p, int number, const char *prefix)
{
    struct bi_arena scratch = {.env = t->model->env};
    const int n = t->model->settings.ns;
    const float *weight = NULL, *bias = NULL, *mean = NULL, *var = NULL;
    float *scale = bi_arena_calloc(&t->model->arena, (size_t)n, sizeof *scale);
    float *shift = bi_arena_calloc(&t->model->arena, (size_t)n, sizeof *shift);
    int st = scale && shift ? 0 : no_memory(t->err);
    if (!st && !(st = take(t, &scratch, &weight, prefix, ".weight", n, 0)) &&
        !(st = take(t, &scratch, &bias, prefix, ".bias", n, 0)) &&
        !(st = take(t, &scratch, &mean, prefix, ".running_mean", n, 0)) &&
        !(st = take(t, &scratch, &var, prefix, ".running_var", n, 0)))
        for (int i = 0; i < n && !st; i++) {
            const double factor = (double)weight[i] / sqrt((double)var[i] + norm_eps);
            if (!((double)var[i] + norm_eps > 0))
                st = bi_fail(t->err, BIOINFER_FORMAT, "%s: %s: variance %d is %g", t->cp->path,
                             prefix, i, (double)var[i]);
            scale[i] = (float)factor;
            shift[i] = (float)((double)bias[i] - (double)mean[i] * factor);
        }
    p->scale[number] = scale;
    p->shift[number] = shift;
    bi_arena_reset(&scratch);
    return st;
}

static int take_predictor(struct taker *t)
{
    struct bi_predictor *p = &t->model->predictor;
    const struct bi_diffdock_settings *s = &t->model->settings;
    const int in = s->n_layers < 3 ? s->ns : 2 * s->ns;
    int st;
    if ((st = take_dense(t, &p->layer[0], "confidence_predictor.0", s->ns, in, true)) ||
        (st = take_batch_norm(t, p, 0, "confidence_predictor.1")) ||
        (st = take_dense(t, &p->layer[1], "confidence_predictor.4", s->ns, s->ns, true)) ||
        (st = take_batch_norm(t, p, 1, "confidence_predictor.5")))
        return st;
    return take_dense(t, &p->layer[2], "confidence_predictor.8", s->n_outputs, s->ns, true);
}

static int take_confidence(struct taker *t)
{
    struct bi_diffdock *m = t->model;
    const struct bi_diffdock_settings *s = &m->settings;
    int st;
    m->all = bi_arena_calloc(&m->arena, (size_t)s->n_layers, BI_ALL_CONVS * sizeof *m->all);
    if (!m->all)
        return no_memory(t->err);
    if ((st = take_encoder(t, &m->ligand, "lig_node_embedding", ligand_rows,
                           (int)BI_COUNT(ligand_rows), 0, true)) ||
        (st = take_encoder(t, &m->residue, "rec_node_embedding", residue_rows,
                           (int)BI_COUNT(residue_rows), s->lm_width, true)) ||
        (st = take_encoder(t, &m->atom, "atom_node_embedding", atom_rows, (int)BI_COUNT(atom_rows),
                           0, true)) ||
        (st = take_edge(t, &m->ligand_edge, "lig_edge_embedding", BOND_TIME_DISTANCE,
                        s->distance_width, s->ligand_radius)) ||
        (st = take_edge(t, &m->residue_edge, "rec_edge_embedding", TIME_DISTANCE, s->distance_width,
                        longest)) ||
        (st = take_edge(t, &m->atom_edge, "atom_edge_embedding", TIME_DISTANCE, s->distance_width,
                        s->ligand_radius)) ||
        (st = take_edge(t, &m->cross_edge, "lr_edge_embedding", TIME_DISTANCE, s->cross_width,
                        s->cross_radius)) ||
        (st = take_edge(t, &m->ligand_atom_edge, "la_edge_embedding", TIME_DISTANCE, s->cross_width,
                        s->cross_radius)) ||
        (st = take_edge(t, &m->atom_residue_edge, "ar_edge_embedding", TIME_DISTANCE,
                        s->distance_width, longest)))
        return st;
    for (int l = 0; l < s->n_layers * BI_ALL_CONVS && !st; l++)
        st = take_step(t, &m->all[l], "conv_layers", l, l / BI_ALL_CONVS, 0);
    return st ? st : take_predictor(t);
}

/* ---- opening ---- */

/* Refuses a setting outside of [low, high]. */
static int check_range(const char *what, int value, int low, int high, struct bioinfer_error *err)
{
    return value >= low && value <= high
               ? 0
               : bi_fail(err, BIOINFER_INVALID, "%s is %d, expected %d to %d", what, value, low,
                         high);
}

static int check_settings(const struct bi_diffdock_settings *s, struct bioinfer_error *err)
{
    const bool new = s->kind == BI_DIFFDOCK_NEW;
    int st;
    if ((st = check_range("ns", s->ns, 1, BI_DIFFDOCK_WIDEST, err)) ||
        (st = check_range("nv", s->nv, 1, BI_DIFFDOCK_WIDEST, err)) ||
        (st = check_range("num_conv_layers", s->n_layers, 1, BI_DIFFDOCK_LAYERS, err)) ||
        (st = check_range("num_prot_emb_layers", s->n_embedding_layers, 0,
                          new ? BI_DIFFDOCK_LAYERS : 0, err)) ||
        (st = check_range("sh_lmax", s->lmax, new ? 1 : 2, 2, err)) ||
        (st = check_range("tp_weights_layers", s->fc_layers, 2, new ? 3 : 2, err)) ||
        (st = check_range("sigma_embed_dim", s->time_width, 4, BI_DIFFDOCK_WIDEST - 1, err)) ||
        (st = check_range("distance_embed_dim", s->distance_width, 2, BI_DIFFDOCK_WIDEST, err)) ||
        (st = check_range("cross_distance_embed_dim", s->cross_width, 2, BI_DIFFDOCK_WIDEST, err)))
        return st;
    if (s->kind == BI_DIFFDOCK_CONFIDENCE &&
        (st = check_range("the number of outputs", s->n_outputs, 1, MOST_OUTPUTS, err)))
        return st;
    if (s->time_width % 2 || (s->lm_width && s->lm_width < s->time_width) || s->lm_width < 0 ||
        s->lm_width > 1 << 16)
        return bi_fail(err, BIOINFER_INVALID,
                       "sigma_embed_dim is %d, and a residue's embedding has %d columns",
                       s->time_width, s->lm_width);
    if (!(s->ligand_radius > 0 && s->ligand_radius < 1e3 && s->cross_radius > 0 &&
          s->cross_radius < 1e4 && s->time_scale > 0 && s->time_scale < 1e6))
        return bi_fail(err, BIOINFER_INVALID,
                       "max_radius is %g, cross_max_distance %g, embedding_scale %g: expected "
                       "positive numbers",
                       s->ligand_radius, s->cross_radius, s->time_scale);
    return 0;
}

/* Compares a table of distances in the file with the settings. */
static int check_offsets(struct taker *t, const struct bi_tensor *tensor)
{
    const struct bi_diffdock_settings *s = &t->model->settings;
    const struct {
        const char *name;
        int n;
        double stop;
    } known[] = {{"lig", s->distance_width, s->ligand_radius},
                 {"rec", s->distance_width, longest},
                 {"center", s->distance_width, longest},
                 {"cross", s->cross_width, s->cross_radius}};
    float offsets[BI_DIFFDOCK_WIDEST];
    int st;
    for (size_t i = 0; i < BI_COUNT(known); i++) {
        const size_t n = strlen(known[i].name);
        if (strncmp(tensor->name, known[i].name, n) ||
            strcmp(tensor->name + n, "_distance_expansion.offset"))
            continue;
        if (tensor->n_elements != (uint64_t)known[i].n)
            return bi_fail(t->err, BIOINFER_MISMATCH, "%s: %s has %llu numbers, expected %d",
                           t->cp->path, tensor->name, (unsigned long long)tensor->n_elements,
                           known[i].n);
        if ((st = read_all(t, tensor, offsets)))
            return st;
        for (int k = 0; k < known[i].n; k++)
            if (fabs((double)offsets[k] - known[i].stop * k / (known[i].n - 1)) >
                1e-4 * known[i].stop)
                return bi_fail(t->err, BIOINFER_MISMATCH,
                               "%s: %s: number %d is %g, expected %g by the settings", t->cp->path,
                               tensor->name, k, (double)offsets[k],
                               known[i].stop * k / (known[i].n - 1));
        t->used[tensor - t->cp->tensors] = 1;
    }
    return 0;
}

/* No tensor of the file is left. Constants of products and counts of batches are no weights. */
static int check_used(struct taker *t)
{
    for (size_t i = 0; i < t->cp->n_tensors; i++) {
        const struct bi_tensor *tensor = &t->cp->tensors[i];
        int st = t->used[i] ? 0 : check_offsets(t, tensor);
        if (st)
            return st;
        if (!t->used[i] && !strstr(tensor->name, ".tp.") &&
            !strstr(tensor->name, "final_tp_tor.") &&
            !bi_ends_with(tensor->name, ".num_batches_tracked"))
            return bi_fail(t->err, BIOINFER_MISMATCH,
                           "%s: tensor %s is not one of the network that the settings describe",
                           t->cp->path, tensor->name);
    }
    return 0;
}

int bi_diffdock_open(struct bi_diffdock **out, const struct bi_env *env,
                     const struct bi_checkpoint *cp, const struct bi_diffdock_settings *settings,
                     struct bioinfer_error *err)
{
    struct taker t = {.cp = cp, .err = err};
    struct bi_diffdock *m = NULL;
    int st = check_settings(settings, err);
    if (st)
        return st;
    m = bi_zalloc(env, sizeof *m);
    t.used = bi_calloc(env, cp->n_tensors, 1);
    t.model = m;
    if (m)
        m->env = m->arena.env = env;
    if (!m || !t.used)
        st = no_memory(err);
    else {
        m->settings = *settings;
        st = settings->kind == BI_DIFFDOCK_OLD   ? take_old(&t)
             : settings->kind == BI_DIFFDOCK_NEW ? take_new(&t)
                                                 : take_confidence(&t);
    }
    if (!st)
        st = check_used(&t);
    bi_free(env, t.used);
    if (st)
        bi_diffdock_close(&m);
    else
        *out = m;
    return st;
}

void bi_diffdock_close(struct bi_diffdock **model)
{
    if (!*model)
        return;
    bi_arena_reset(&(*model)->arena);
    bi_free((*model)->env, *model);
    *model = NULL;
}
