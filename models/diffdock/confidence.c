/* confidence.c - the network that rates whole poses, over residues and all atoms of the protein.
 *
 * Nine convolutions a layer join ligand, residues and atoms, each set with each. Scalars beside an
 * edge are the receiver's, then the sender's; vectors go from the ligand to the protein and from an
 * atom to its residue, whoever receives. The time is 0 throughout.
 *
 * Source: gcorso/DiffDock b4704d9: models/old_aa_model.py */
#include <math.h>
#include <string.h>

#include "net.h"

enum { OUTPUTS = 64 };
static const double dynamic_cut = 20; /* angstrom, of residues */

static int no_memory(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "no memory for the features of a complex");
}

/* ---- receptors ---- */

/* Features of nodes at time 0, in the arena; NULL: no memory. */
static const float *nodes_at_0(const struct bi_diffdock *m, const struct bi_node_encoder *encoder,
                               int32_t n, const float *base, const float *time,
                               const struct bi_run *run)
{
    float *x = bi_rows_take(run, n, m->settings.ns);
    if (!base || !x || bi_node_add_time(m, encoder, n, base, time, x, run->arena))
        return NULL;
    return x;
}

/* A set of edges at time 0. */
static int edges_at_0(struct bi_edge_set *set, const struct bi_run *run,
                      const struct bi_diffdock *m, const struct bi_edge_network *net,
                      const float *time, const struct bi_pose_edges *list, const double (*x)[3],
                      const double (*y)[3], const struct bi_diffdock_ligand *bonds,
                      struct bioinfer_error *err)
{
    const float *row = bi_edge_network_row(net, m->settings.time_width, time, run->arena);
    return bi_edge_set_make(set, run, net, row, m->settings.ns, m->settings.lmax, list, x, y,
                            bonds ? bonds->bond_type : NULL, bonds ? bonds->n_bonds : 0, err);
}

/* Edges from the residue of each atom to the atom. */
static int list_members(struct bi_pose_edges *list, const struct bi_diffdock_protein *p,
                        struct bioinfer_error *err)
{
    const size_t n = (size_t)p->n_atoms;
    if (!bi_grow(list->env, &list->to, &list->cap_to, n, sizeof *list->to) ||
        !bi_grow(list->env, &list->from, &list->cap_from, n, sizeof *list->from))
        return no_memory(err);
    for (int32_t i = 0; i < p->n_atoms; i++) {
        list->to[i] = i;
        list->from[i] = p->residue[i];
    }
    list->n = p->n_atoms;
    return 0;
}

int bi_confidence_receptor(struct bi_diffdock_receptor *r, const struct bi_run *run,
                           struct bioinfer_error *err)
{
    const struct bi_diffdock *m = r->model;
    const struct bi_diffdock_protein *p = &r->protein;
    float *time = bi_rows_take(run, 1, m->settings.time_width);
    const float *base = bi_node_base(m, &m->atom, p->n_atoms, p->features[0], NULL, 0, run->arena);
    int st;
    if (!time || !base)
        return no_memory(err);
    bi_diffdock_embed_time(&m->settings, 0, time);
    r->time = time;
    r->residue_x = nodes_at_0(m, &m->residue, p->n, r->base, time, run);
    r->atom_x = nodes_at_0(m, &m->atom, p->n_atoms, base, time, run);
    if (!r->residue_x || !r->atom_x)
        return no_memory(err);
    if ((st = bi_edges_nearest(&r->atom_edges, p->atoms, p->n_atoms, &m->settings.atoms, err)) ||
        (st = list_members(&r->members, p, err)) ||
        (st = edges_at_0(&r->residue_set, run, m, &m->residue_edge, time, &r->edges, p->ca, p->ca,
                         NULL, err)) ||
        (st = edges_at_0(&r->atom_set, run, m, &m->atom_edge, time, &r->atom_edges, p->atoms,
                         p->atoms, NULL, err)))
        return st;
    return edges_at_0(&r->member_set, run, m, &m->atom_residue_edge, time, &r->members, p->atoms,
                      p->ca, NULL, err);
}

/* ---- poses ---- */

/* Nodes of one kind, and their features. */
struct nodes {
    int32_t n;
    const float *x;
};

/* A pose while it is rated. */
struct rated {
    const struct bi_diffdock_receptor *receptor;
    const struct bi_run *run;
    struct nodes lig, rec, atom;
    struct bi_pose_edges ligand_list, cross_list, atom_list;
    struct bi_edge_set ligand, cross, near; /* near: atoms near a ligand */
};

static int begin_pose(struct rated *p, const struct bi_diffdock_ligand *ligand,
                      const double (*x)[3], const float *ligand_x, struct bioinfer_error *err)
{
    const struct bi_diffdock_receptor *r = p->receptor;
    const struct bi_diffdock *m = r->model;
    const struct bi_diffdock_settings *s = &m->settings;
    const double cut = s->dynamic_cross ? dynamic_cut : s->cross_radius;
    int st;
    p->lig = (struct nodes){ligand->n, ligand_x};
    p->rec = (struct nodes){r->protein.n, r->residue_x};
    p->atom = (struct nodes){r->protein.n_atoms, r->atom_x};
    p->ligand_list.env = p->cross_list.env = p->atom_list.env = p->run->env;
    if ((st = bi_ligand_edges(&p->ligand_list, ligand, x, s->ligand_radius, err)) ||
        (st = bi_edges_within(&p->cross_list, x, ligand->n, r->protein.ca, r->protein.n, cut,
                              BI_DIFFDOCK_CROSS_NEIGHBOURS, err)) ||
        (st = bi_edges_within(&p->atom_list, x, ligand->n, r->protein.atoms, r->protein.n_atoms,
                              s->ligand_radius, BI_DIFFDOCK_CROSS_NEIGHBOURS, err)) ||
        (st = edges_at_0(&p->ligand, p->run, m, &m->ligand_edge, r->time, &p->ligand_list, x, x,
                         ligand, err)) ||
        (st = edges_at_0(&p->cross, p->run, m, &m->cross_edge, r->time, &p->cross_list, x,
                         r->protein.ca, NULL, err)))
        return st;
    return edges_at_0(&p->near, p->run, m, &m->ligand_atom_edge, r->time, &p->atom_list, x,
                      r->protein.atoms, NULL, err);
}

static void end_pose(struct rated *p)
{
    bi_edges_free(&p->ligand_list);
    bi_edges_free(&p->cross_list);
    bi_edges_free(&p->atom_list);
}

/* Adds to out the messages of `from` to `to` along a set of edges, turned round where `flip`. */
static int add_messages(const struct bi_run *run, const struct bi_irreps_conv *conv,
                        const struct bi_edge_set *set, bool flip, struct nodes to,
                        struct nodes from, float *out, struct bioinfer_error *err)
{
    const int32_t *receivers = flip ? set->from : set->to, *senders = flip ? set->to : set->from;
    const struct bi_conv_edges edges = {.n = set->n,
                                        .to = receivers,
                                        .from = senders,
                                        .attr = set->attr,
                                        .sh = set->sh,
                                        .x = from.x,
                                        .block = {{to.x, receivers, to.n, conv->in.width},
                                                  {from.x, senders, from.n, conv->in.width}}};
    float *messages = bi_rows_take(run, to.n, conv->out.width);
    int st;
    if (!messages)
        return no_memory(err);
    st = bi_conv_run(conv, run, &edges, 1, to.n, messages, err);
    bi_messages_add(out, conv->out.width, messages, conv->out.width, NULL, to.n);
    return st;
}

/* A way that messages to one set of nodes come. */
struct ways {
    int conv;
    const struct bi_edge_set *set;
    bool flip;
    struct nodes from;
};

/* x of `to` and its messages along three ways, in *out of the arena. */
static int new_features(const struct rated *p, int layer, struct nodes to, const struct ways way[3],
                        const float **out, struct bioinfer_error *err)
{
    const struct bi_irreps_conv *convs = p->receptor->model->all +
                                         (size_t)layer * (size_t)BI_ALL_CONVS;
    float *x = bi_rows_take(p->run, to.n, convs->out.width);
    int st = x ? 0 : no_memory(err);
    if (!st)
        bi_messages_add(x, convs->out.width, to.x, convs->in.width, NULL, to.n);
    for (int i = 0; i < 3 && !st; i++)
        st = add_messages(p->run, &convs[way[i].conv], way[i].set, way[i].flip, to, way[i].from, x,
                          err);
    *out = x;
    return st;
}

/* One layer; after the last one nobody looks at the protein. */
static int rate_layer(struct rated *p, int layer, bool last, struct bioinfer_error *err)
{
    const struct bi_diffdock_receptor *r = p->receptor;
    const struct ways to_ligand[] = {{BI_ALL_LIG_LIG, &p->ligand, false, p->lig},
                                     {BI_ALL_LIG_REC, &p->cross, false, p->rec},
                                     {BI_ALL_LIG_ATOM, &p->near, false, p->atom}};
    const struct ways to_atoms[] = {{BI_ALL_ATOM_ATOM, &r->atom_set, false, p->atom},
                                    {BI_ALL_ATOM_LIG, &p->near, true, p->lig},
                                    {BI_ALL_ATOM_REC, &r->member_set, false, p->rec}};
    const struct ways to_residues[] = {{BI_ALL_REC_REC, &r->residue_set, false, p->rec},
                                       {BI_ALL_REC_LIG, &p->cross, true, p->lig},
                                       {BI_ALL_REC_ATOM, &r->member_set, true, p->atom}};
    const float *lig, *atom = p->atom.x, *rec = p->rec.x;
    int st = new_features(p, layer, p->lig, to_ligand, &lig, err);
    if (!st && !last)
        st = new_features(p, layer, p->atom, to_atoms, &atom, err);
    if (!st && !last)
        st = new_features(p, layer, p->rec, to_residues, &rec, err);
    p->lig.x = lig;
    p->atom.x = atom;
    p->rec.x = rec;
    return st;
}

/* The outputs from the ligand's last features. */
static void predict(const struct bi_diffdock *m, struct nodes lig, int width, double *outputs)
{
    const struct bi_predictor *p = &m->predictor;
    const int ns = m->settings.ns, n = p->layer[0].in;
    float mean[2 * BI_DIFFDOCK_WIDEST], hidden[2][BI_DIFFDOCK_WIDEST], out[OUTPUTS];
    for (int c = 0; c < n; c++) {
        const int at = c < ns ? c : width - 2 * ns + c; /* the first ns, then the last ns */
        double sum = 0;
        for (int32_t i = 0; i < lig.n; i++)
            sum += (double)lig.x[(int64_t)i * width + at];
        mean[c] = (float)(sum / lig.n);
    }
    for (int l = 0; l < 2; l++) {
        bi_dense_apply(&p->layer[l], 1, l ? hidden[0] : mean, p->layer[l].in, hidden[l],
                       p->layer[l].stride, false);
        for (int c = 0; c < ns; c++)
            hidden[l][c] = fmaxf(hidden[l][c] * p->scale[l][c] + p->shift[l][c], 0);
    }
    bi_dense_apply(&p->layer[2], 1, hidden[1], ns, out, p->layer[2].stride, false);
    for (int k = 0; k < m->settings.n_outputs; k++)
        outputs[k] = (double)out[k];
}

static int rate_pose(struct rated *p, const struct bi_diffdock_watch *watch, int number,
                     double *outputs, struct bioinfer_error *err)
{
    const struct bi_diffdock *m = p->receptor->model;
    const int n_layers = m->settings.n_layers;
    int width = 0, st = 0;
    for (int l = 0; l < n_layers && !st; l++) {
        st = rate_layer(p, l, l + 1 == n_layers, err);
        width = m->all[(size_t)l * BI_ALL_CONVS].out.width;
        if (!st && watch)
            watch->layer(watch->user, number, true, l, p->lig.n, width, p->lig.x);
    }
    if (!st)
        predict(m, p->lig, width, outputs);
    return st;
}

int bi_diffdock_confidence(const struct bi_diffdock_receptor *receptor,
                           const struct bi_diffdock_ligand *ligand, const double (*poses)[3], int n,
                           int n_threads, const struct bi_diffdock_watch *watch, double *outputs,
                           struct bioinfer_error *err)
{
    const struct bi_diffdock *m = receptor->model;
    struct bi_arena shared = {.env = m->env}, own = {.env = m->env};
    const struct bi_run run = {.env = m->env, .n_threads = n_threads, .arena = &shared};
    const struct bi_run pose_run = {.env = m->env, .n_threads = n_threads, .arena = &own};
    const float *x = NULL;
    int st = m->settings.kind != BI_DIFFDOCK_CONFIDENCE
                 ? bi_fail(err, BIOINFER_INVALID, "a score network gives no confidence")
                 : bi_ligand_check(m, ligand, err);
    if (!st)
        st = bi_positions_check(poses, (int64_t)n * ligand->n, "atom of poses", err);
    if (!st) {
        const float *base = bi_node_base(m, &m->ligand, ligand->n, ligand->features[0], NULL, 0,
                                         &shared);
        x = nodes_at_0(m, &m->ligand, ligand->n, base, receptor->time, &run);
        st = x ? 0 : no_memory(err);
    }
    for (int i = 0; i < n && !st; i++) {
        struct rated pose = {.receptor = receptor, .run = &pose_run};
        st = begin_pose(&pose, ligand, poses + (int64_t)i * ligand->n, x, err);
        if (!st)
            st = rate_pose(&pose, watch, i, outputs + (int64_t)i * m->settings.n_outputs, err);
        end_pose(&pose);
        bi_arena_rewind(&own);
    }
    bi_arena_reset(&own);
    bi_arena_reset(&shared);
    return st;
}
