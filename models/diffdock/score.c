/* score.c - scores of poses by the networks of v1.0 and v1.1.
 *
 * Sections: parts of a call, v1.0, v1.1, calls. */
#include <string.h>

#include "net.h"

static int no_memory(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "no memory for the features of a complex");
}

/* ---- parts of a call ---- */

/* All that the poses of a call share. */
struct call {
    const struct bi_diffdock_receptor *receptor;
    const struct bi_diffdock *model;
    const struct bi_diffdock_settings *s;
    const struct bi_diffdock_ligand *ligand;
    const struct bi_diffdock_time *time;
    const struct bi_diffdock_watch *watch;
    double cut;                    /* limit of cross edges */
    float *ligand_x, *residue_x;   /* first features */
    float *ligand_row, *cross_row; /* the time's part of edges */
    struct bi_edge_set residues;
    float *first_message; /* v1.0: messages among residues in layer 0 */
};

/* Edges of one pose. */
struct pose {
    const double (*x)[3];
    int number;
    struct bi_pose_edges ligand_list, cross_list;
    struct bi_edge_set ligand, cross;
};

static int begin_pose(struct pose *p, const struct call *c, const struct bi_run *run,
                      struct bioinfer_error *err)
{
    const struct bi_diffdock_settings *s = c->s;
    const struct bi_diffdock_protein *protein = &c->receptor->protein;
    int st;
    p->ligand_list.env = p->cross_list.env = run->env;
    if ((st = bi_ligand_edges(&p->ligand_list, c->ligand, p->x, s->ligand_radius, err)) ||
        (st = bi_edges_within(&p->cross_list, p->x, c->ligand->n, protein->ca, protein->n, c->cut,
                              BI_DIFFDOCK_CROSS_NEIGHBOURS, err)) ||
        (st = bi_edge_set_make(&p->ligand, run, &c->model->ligand_edge, c->ligand_row, s->ns,
                               s->lmax, &p->ligand_list, p->x, p->x, c->ligand->bond_type,
                               c->ligand->n_bonds, err)))
        return st;
    return bi_edge_set_make(&p->cross, run, &c->model->cross_edge, c->cross_row, s->ns, s->lmax,
                            &p->cross_list, p->x, protein->ca, NULL, 0, err);
}

static void end_pose(struct pose *p)
{
    bi_edges_free(&p->ligand_list);
    bi_edges_free(&p->cross_list);
}

static void watch_layer(const struct call *c, int pose, bool ligand, int layer, int32_t n,
                        int width, const float *x)
{
    if (c->watch)
        c->watch->layer(c->watch->user, pose, ligand, layer, n, width, x);
}

/* ---- v1.0 ---- */

/* Runs one convolution; blocks of scalars are of the edges' `first` and `second` ends. */
static int old_conv(const struct bi_irreps_conv *conv, const struct bi_run *run,
                    const struct bi_edge_set *set, bool flip, const float *receivers, int32_t n_to,
                    const float *senders, int32_t n_from, float *out, struct bioinfer_error *err)
{
    const int width = conv->in.width;
    /* The edge's own order of ends, ligand and residue, also where it is turned round. */
    const struct bi_conv_block to = {receivers, flip ? set->from : set->to, n_to, width};
    const struct bi_conv_block from = {senders, flip ? set->to : set->from, n_from, width};
    const struct bi_conv_edges edges = {.n = set->n,
                                        .to = to.at,
                                        .from = from.at,
                                        .attr = set->attr,
                                        .sh = set->sh,
                                        .x = senders,
                                        .block = {flip ? from : to, flip ? to : from}};
    return bi_conv_run(conv, run, &edges, 1, n_to, out, err);
}

/* One layer: new features of the ligand and, but for the last layer, of residues. */
static int old_layer(const struct call *c, const struct bi_run *run, const struct pose *p, int l,
                     const float **lig, const float **rec, struct bioinfer_error *err)
{
    const struct bi_irreps_conv *convs = c->model->old[l];
    const int in = convs[0].in.width, out = convs[0].out.width;
    const int32_t n = c->ligand->n, n_rec = c->receptor->protein.n;
    const bool last = l + 1 == c->s->n_layers;
    float *x = bi_rows_take(run, n, out), *y = bi_rows_take(run, n, out);
    float *r = bi_rows_take(run, last ? 0 : n_rec, out),
          *q = bi_rows_take(run, last ? 0 : n_rec, out);
    int st = x && y && r && q ? 0 : no_memory(err);
    if (st ||
        (st = old_conv(&convs[BI_LIG_TO_LIG], run, &p->ligand, false, *lig, n, *lig, n, x, err)) ||
        (st = old_conv(&convs[BI_REC_TO_LIG], run, &p->cross, false, *lig, n, *rec, n_rec, y, err)))
        return st;
    bi_messages_add(x, out, *lig, in, y, n);
    if (!last) {
        if (l)
            st = old_conv(&convs[BI_REC_TO_REC], run, &c->residues, false, *rec, n_rec, *rec, n_rec,
                          q, err);
        else
            q = c->first_message;
        if (!st)
            st = old_conv(&convs[BI_LIG_TO_REC], run, &p->cross, true, *rec, n_rec, *lig, n, r,
                          err);
        bi_messages_add(r, out, *rec, in, q, n_rec);
        *rec = r;
    }
    *lig = x;
    if (!st) {
        watch_layer(c, p->number, true, l, n, out, x);
        if (!last)
            watch_layer(c, p->number, false, l, n_rec, out, r);
    }
    return st;
}

static int old_pose(const struct call *c, const struct bi_run *run, const struct pose *p,
                    const float **features, struct bioinfer_error *err)
{
    const float *lig = c->ligand_x, *rec = c->residue_x;
    int st = 0;
    for (int l = 0; l < c->s->n_layers && !st; l++)
        st = old_layer(c, run, p, l, &lig, &rec, err);
    *features = lig;
    return st;
}

/* Adds the time's part to residues, and computes the messages that no pose changes. */
static int begin_old(struct call *c, const struct bi_run *run, struct bioinfer_error *err)
{
    const struct bi_diffdock *m = c->model;
    const struct bi_diffdock_receptor *r = c->receptor;
    const struct bi_irreps_conv *conv = &m->old[0][BI_REC_TO_REC];
    int st;
    c->residue_x = bi_rows_take(run, r->protein.n, c->s->ns);
    if (!c->residue_x || bi_node_add_time(m, &m->residue, r->protein.n, r->base, c->time->embedding,
                                          c->residue_x, run->arena))
        return no_memory(err);
    st = bi_edge_set_make(
        &c->residues, run, &m->residue_edge,
        bi_edge_network_row(&m->residue_edge, c->s->time_width, c->time->embedding, run->arena),
        c->s->ns, c->s->lmax, &r->edges, r->protein.ca, r->protein.ca, NULL, 0, err);
    if (st || c->s->n_layers < 2)
        return st;
    c->first_message = bi_rows_take(run, r->protein.n, conv->out.width);
    return c->first_message ? old_conv(conv, run, &c->residues, false, c->residue_x, r->protein.n,
                                       c->residue_x, r->protein.n, c->first_message, err)
                            : no_memory(err);
}

/* ---- v1.1 ---- */

/* Adds the time's part, a row, to features and edges of residues. */
static int begin_new(struct call *c, const struct bi_run *run, struct bioinfer_error *err)
{
    const struct bi_diffdock_receptor *r = c->receptor;
    const int ns = c->s->ns, width = r->width;
    const int32_t n = c->ligand->n, n_rec = r->protein.n, n_edges = r->edges.n;
    float row[BI_DIFFDOCK_WIDEST];
    int32_t *to = bi_arena_calloc(run->arena, (size_t)n_edges, sizeof *to);
    int32_t *from = bi_arena_calloc(run->arena, (size_t)n_edges, sizeof *from);
    c->residue_x = bi_rows_take(run, n_rec, width);
    c->residues = (struct bi_edge_set){.n = n_edges, .to = to, .from = from, .sh = r->sh};
    c->residues.attr = bi_rows_take(run, n_edges, ns);
    if (!to || !from || !c->residue_x || !c->residues.attr)
        return no_memory(err);
    bi_two_layers_row(&c->model->residue_time, c->time->embedding, row);
    memcpy(c->residue_x, r->x, (size_t)n_rec * (size_t)width * sizeof *r->x);
    for (int32_t i = 0; i < n_rec; i++)
        for (int k = 0; k < ns; k++)
            c->residue_x[(int64_t)i * width + k] += row[k];
    for (int32_t e = 0; e < n_edges; e++) {
        to[e] = r->edges.to[e] + n;
        from[e] = r->edges.from[e] + n;
        for (int k = 0; k < ns; k++)
            c->residues.attr[(int64_t)e * ns + k] = r->attr[(int64_t)e * ns + k] + row[k];
    }
    return 0;
}

/* Layers that see the ligand alone; *features: its rows, of `width` numbers. */
static int embed_ligand(const struct call *c, const struct bi_run *run, const struct pose *p,
                        const float **features, int *width, struct bioinfer_error *err)
{
    const int32_t n = c->ligand->n;
    const float *x = c->ligand_x;
    int st = 0;
    *width = c->s->ns;
    for (int l = 0; l < c->s->n_embedding_layers && !st; l++) {
        float *next = NULL;
        st = bi_residual_conv(&c->model->ligand_first[l], run, &p->ligand, x, n, &next, err);
        x = next;
        *width = c->model->ligand_first[l].out.width;
    }
    *features = x;
    return st;
}

/* Edges between the ligand and residues as edges of one graph, in both directions. */
struct both_ways {
    struct bi_edge_set up, down; /* to the ligand, to residues */
};

static int join_cross(struct both_ways *both, const struct call *c, const struct bi_run *run,
                      const struct bi_edge_set *cross, struct bioinfer_error *err)
{
    const int n_sh = (c->s->lmax + 1) * (c->s->lmax + 1);
    int32_t *residues = bi_arena_calloc(run->arena, (size_t)cross->n, sizeof *residues);
    float *sh = bi_rows_take(run, cross->n, n_sh);
    if (!residues || !sh)
        return no_memory(err);
    for (int32_t e = 0; e < cross->n; e++) {
        residues[e] = cross->from[e] + c->ligand->n;
        for (int k = 0; k < n_sh; k++) { /* the vector is turned round */
            const float y = cross->sh[(int64_t)e * n_sh + k];
            sh[(int64_t)e * n_sh + k] = k >= 1 && k < 4 ? -y : y;
        }
    }
    both->up = *cross;
    both->up.from = residues;
    both->down = *cross;
    both->down.to = residues;
    both->down.from = cross->to;
    both->down.sh = sh;
    return 0;
}

/* One layer over the ligand and residues together; of the last the ligand's rows alone. */
static int new_layer(const struct call *c, const struct bi_run *run,
                     const struct bi_edge_set *const sets[BI_CONV_GROUPS], int l, const float **x,
                     int32_t n_nodes, struct bioinfer_error *err)
{
    const struct bi_irreps_conv *conv = &c->model->merged[l];
    const bool last = l + 1 == c->s->n_layers;
    const int32_t n_to = last ? c->ligand->n : n_nodes;
    struct bi_conv_edges edges[BI_CONV_GROUPS];
    float *next = bi_rows_take(run, n_to, conv->out.width);
    int st;
    for (int g = 0; g < BI_CONV_GROUPS; g++)
        edges[g] = (struct bi_conv_edges){.group = c->s->ungrouped ? 0 : g,
                                          .n = sets[g]->n,
                                          .to = sets[g]->to,
                                          .from = sets[g]->from,
                                          .attr = sets[g]->attr,
                                          .sh = sets[g]->sh,
                                          .x = *x,
                                          .block = {{*x, sets[g]->to, n_nodes, conv->in.width},
                                                    {*x, sets[g]->from, n_nodes, conv->in.width}}};
    if (!next)
        return no_memory(err);
    st = bi_conv_run(conv, run, edges, last ? 2 : BI_CONV_GROUPS, n_to, next, err);
    bi_messages_add(next, conv->out.width, *x, conv->in.width, NULL, n_to);
    *x = next;
    return st;
}

static int new_pose(const struct call *c, const struct bi_run *run, const struct pose *p,
                    const float **features, struct bioinfer_error *err)
{
    const int32_t n = c->ligand->n, n_rec = c->receptor->protein.n;
    const float *ligand = NULL, *x;
    struct both_ways both;
    const struct bi_edge_set *sets[] = {&p->ligand, &both.up, &c->residues, &both.down};
    float *joined;
    int width = 0, st = embed_ligand(c, run, p, &ligand, &width, err);
    if (st || (st = join_cross(&both, c, run, &p->cross, err)))
        return st;
    joined = bi_rows_take(run, n + n_rec, width);
    if (!joined)
        return no_memory(err);
    memcpy(joined, ligand, (size_t)n * (size_t)width * sizeof *joined);
    memcpy(joined + (int64_t)n * width, c->residue_x,
           (size_t)n_rec * (size_t)width * sizeof *joined);
    x = joined;
    for (int l = 0; l < c->s->n_layers && !st; l++) {
        st = new_layer(c, run, sets, l, &x, n + n_rec, err);
        width = c->model->merged[l].out.width;
        if (!st)
            watch_layer(c, p->number, true, l, n, width, x);
        if (!st && l + 1 < c->s->n_layers)
            watch_layer(c, p->number, false, l, n_rec, width, x + (int64_t)n * width);
    }
    *features = x;
    return st;
}

/* ---- calls ---- */

static int begin_call(struct call *c, const struct bi_run *run, struct bioinfer_error *err)
{
    const struct bi_diffdock *m = c->model;
    const int32_t n = c->ligand->n;
    const float *base = bi_node_base(m, &m->ligand, n, c->ligand->features[0], NULL, 0, run->arena);
    c->ligand_x = bi_rows_take(run, n, c->s->ns);
    c->ligand_row = bi_edge_network_row(&m->ligand_edge, c->s->time_width, c->time->embedding,
                                        run->arena);
    c->cross_row = bi_edge_network_row(&m->cross_edge, c->s->time_width, c->time->embedding,
                                       run->arena);
    if (!base || !c->ligand_x || !c->ligand_row || !c->cross_row ||
        bi_node_add_time(m, &m->ligand, n, base, c->time->embedding, c->ligand_x, run->arena))
        return no_memory(err);
    c->cut = c->s->dynamic_cross ? 3 * c->time->sigma + 20 : c->s->cross_radius;
    return c->s->kind == BI_DIFFDOCK_OLD ? begin_old(c, run, err) : begin_new(c, run, err);
}

int bi_diffdock_score(const struct bi_diffdock_receptor *receptor,
                      const struct bi_diffdock_ligand *ligand, const struct bi_diffdock_time *time,
                      const double (*poses)[3], int n, int n_threads,
                      const struct bi_diffdock_watch *watch, struct bi_diffdock_score *scores,
                      struct bioinfer_error *err)
{
    const struct bi_diffdock *m = receptor->model;
    struct bi_arena shared = {.env = m->env}, own = {.env = m->env};
    const struct bi_run run = {.env = m->env, .n_threads = n_threads, .arena = &shared};
    const struct bi_run pose_run = {.env = m->env, .n_threads = n_threads, .arena = &own};
    struct call call = {.receptor = receptor,
                        .model = m,
                        .s = &m->settings,
                        .ligand = ligand,
                        .time = time,
                        .watch = watch};
    int st = m->settings.kind == BI_DIFFDOCK_CONFIDENCE
                 ? bi_fail(err, BIOINFER_INVALID, "a confidence network gives no scores")
                 : bi_ligand_check(m, ligand, err);
    if (!st)
        st = bi_positions_check(poses, (int64_t)n * ligand->n, "atom of poses", err);
    if (!st)
        st = begin_call(&call, &run, err);
    for (int i = 0; i < n && !st; i++) {
        struct pose pose = {.x = poses + (int64_t)i * ligand->n, .number = i};
        const float *features = NULL;
        st = begin_pose(&pose, &call, &pose_run, err);
        if (!st)
            st = (m->settings.kind == BI_DIFFDOCK_OLD ? old_pose : new_pose)(&call, &pose_run,
                                                                             &pose, &features, err);
        if (!st)
            st = bi_diffdock_heads(m, &pose_run, ligand, time, pose.x, features, &scores[i], err);
        end_pose(&pose);
        bi_arena_rewind(&own);
    }
    bi_arena_reset(&own);
    bi_arena_reset(&shared);
    return st;
}
