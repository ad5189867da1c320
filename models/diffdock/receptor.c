/* receptor.c - a protein, as far as no pose and no time has a part in its features; checks of what
 * a caller gives.
 *
 * Sections: checks, receptors. */
#include <math.h>
#include <string.h>

#include "net.h"

enum { MOST_RESIDUES = 100000, MOST_ATOMS = 10000 }; /* a protein's, a ligand's */
static const double farthest = 1e6;                  /* angstrom */

static int no_memory(struct bioinfer_error *err)
{
    return bi_fail(err, BIOINFER_NOMEM, "no memory for the features of a complex");
}

/* ---- checks ---- */

int bi_ligand_check(const struct bi_diffdock *model, const struct bi_diffdock_ligand *ligand,
                    struct bioinfer_error *err)
{
    if (ligand->n < 1 || ligand->n > MOST_ATOMS || ligand->n_bonds < 0 || ligand->n_torsions < 0 ||
        ligand->n_bonds > ligand->n * ligand->n || ligand->n_torsions > ligand->n_bonds)
        return bi_fail(err, BIOINFER_INVALID,
                       "a ligand of %d atoms, %d bonds and %d torsions, expected 1 to %d atoms",
                       (int)ligand->n, (int)ligand->n_bonds, (int)ligand->n_torsions, MOST_ATOMS);
    for (int32_t i = 0; i < ligand->n_bonds + ligand->n_torsions; i++) {
        const bool bond = i < ligand->n_bonds;
        const int32_t *ends = bond ? ligand->bonds[i] : ligand->torsions[i - ligand->n_bonds];
        if (ends[0] < 0 || ends[0] >= ligand->n || ends[1] < 0 || ends[1] >= ligand->n ||
            ends[0] == ends[1] ||
            (bond && (ligand->bond_type[i] < 0 || ligand->bond_type[i] >= BI_DIFFDOCK_BONDS)))
            return bi_fail(err, BIOINFER_INVALID, "bond %d of a ligand joins %d and %d of %d atoms",
                           (int)i, (int)ends[0], (int)ends[1], (int)ligand->n);
    }
    return bi_node_check(&model->ligand, ligand->n, ligand->features[0], "atom", err);
}

int bi_positions_check(const double (*x)[3], int64_t n, const char *what,
                       struct bioinfer_error *err)
{
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            if (!(fabs(x[i][k]) <= farthest))
                return bi_fail(err, BIOINFER_INVALID, "%s %lld: a coordinate of %g", what,
                               (long long)i, x[i][k]);
    return 0;
}

static int check_protein(const struct bi_diffdock *model, const struct bi_diffdock_protein *p,
                         struct bioinfer_error *err)
{
    const int64_t n = (int64_t)p->n * model->settings.lm_width;
    int st;
    if (p->n < 2 || p->n > MOST_RESIDUES)
        return bi_fail(err, BIOINFER_INVALID, "a protein of %d residues, expected 2 to %d",
                       (int)p->n, MOST_RESIDUES);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(p->embedding[i]))
            return bi_fail(err, BIOINFER_INVALID, "number %lld of the embeddings is not finite",
                           (long long)i);
    if ((st = bi_positions_check(p->ca, p->n, "residue", err)))
        return st;
    if ((st = bi_node_check(&model->residue, p->n, p->type, "residue", err)) ||
        model->settings.kind != BI_DIFFDOCK_CONFIDENCE)
        return st;
    if (p->n_atoms < 1 || p->n_atoms > MOST_RESIDUES)
        return bi_fail(err, BIOINFER_INVALID, "a protein of %d atoms, expected 1 to %d",
                       (int)p->n_atoms, MOST_RESIDUES);
    for (int32_t i = 0; i < p->n_atoms; i++)
        if (p->residue[i] < 0 || p->residue[i] >= p->n)
            return bi_fail(err, BIOINFER_INVALID, "atom %d is in residue %d of %d", (int)i,
                           (int)p->residue[i], (int)p->n);
    if ((st = bi_positions_check(p->atoms, p->n_atoms, "atom", err)))
        return st;
    return bi_node_check(&model->atom, p->n_atoms, p->features[0], "atom", err);
}

/* v1.1: the layers that see the protein alone. */
static int embed_receptor(struct bi_diffdock_receptor *r, int n_threads, struct bioinfer_error *err)
{
    const struct bi_diffdock *m = r->model;
    const struct bi_diffdock_settings *s = &m->settings;
    struct bi_arena work = {.env = m->env};
    const struct bi_run lasting = {.env = m->env, .n_threads = n_threads, .arena = &r->arena};
    const struct bi_run run = {.env = m->env, .n_threads = n_threads, .arena = &work};
    struct bi_edge_set set;
    const float *x = r->base;
    int st = bi_edge_set_make(&set, &lasting, &m->residue_edge,
                              bi_edge_network_row(&m->residue_edge, 0, NULL, &r->arena), s->ns,
                              s->lmax, &r->edges, r->protein.ca, r->protein.ca, NULL, 0, err);
    r->width = s->ns;
    for (int l = 0; l < s->n_embedding_layers && !st; l++) {
        float *next = NULL;
        st = bi_residual_conv(&m->residue_first[l], &run, &set, x, r->protein.n, &next, err);
        x = next;
        r->width = m->residue_first[l].out.width;
    }
    if (!st) {
        float *kept = bi_rows_take(&lasting, r->protein.n, r->width);
        st = kept ? 0 : no_memory(err);
        if (kept)
            memcpy(kept, x, (size_t)r->protein.n * (size_t)r->width * sizeof *x);
        r->x = kept;
        r->attr = set.attr;
        r->sh = set.sh;
    }
    bi_arena_reset(&work);
    return st;
}

int bi_diffdock_receptor_new(struct bi_diffdock_receptor **out, const struct bi_diffdock *model,
                             const struct bi_diffdock_protein *protein, int n_threads,
                             struct bioinfer_error *err)
{
    const struct bi_diffdock_settings *s = &model->settings;
    struct bi_diffdock_receptor *r = NULL;
    int st = check_protein(model, protein, err);
    if (st)
        return st;
    r = bi_zalloc(model->env, sizeof *r);
    if (!r)
        return no_memory(err);
    r->env = r->arena.env = r->edges.env = r->atom_edges.env = r->members.env = model->env;
    r->model = model;
    r->protein = *protein;
    st = bi_edges_nearest(&r->edges, protein->ca, protein->n, &s->residues, err);
    if (!st) {
        r->base = bi_node_base(model, &model->residue, protein->n, protein->type,
                               protein->embedding, s->lm_width, &r->arena);
        st = r->base ? 0 : no_memory(err);
    }
    if (!st && s->kind == BI_DIFFDOCK_NEW)
        st = embed_receptor(r, n_threads, err);
    if (!st && s->kind == BI_DIFFDOCK_CONFIDENCE) {
        const struct bi_run run = {.env = model->env, .n_threads = n_threads, .arena = &r->arena};
        st = bi_confidence_receptor(r, &run, err);
    }
    if (st)
        bi_diffdock_receptor_free(&r);
    else
        *out = r;
    return st;
}

void bi_diffdock_receptor_free(struct bi_diffdock_receptor **receptor)
{
    struct bi_diffdock_receptor *r = *receptor;
    if (!r)
        return;
    bi_edges_free(&r->edges);
    bi_edges_free(&r->atom_edges);
    bi_edges_free(&r->members);
    bi_arena_reset(&r->arena);
    bi_free(r->env, r);
    *receptor = NULL;
}
