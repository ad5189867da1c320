/* rate.c - a pose rated: its energy, perhaps at a minimum nearby, and checks of it. */
#include <math.h>
#include <string.h>

#include "rescore.h"

/* The sign of the volume that the first neighbours of an atom span. */
static int turn_of(const struct bi_molecule *mol, const struct bi_pose *p, uint32_t i, bool moved)
{
    double v[3][3], volume;
    for (uint32_t k = 0; k < 3; k++) {
        const uint32_t j = mol->near[mol->start[i] + k].atom;
        for (int d = 0; d < 3; d++)
            v[k][d] = moved ? p->x[p->number[j]][d] - p->x[p->number[i]][d]
                            : mol->atoms[j].x[d] - mol->atoms[i].x[d];
    }
    volume = v[0][0] * (v[1][1] * v[2][2] - v[1][2] * v[2][1]) -
             v[0][1] * (v[1][0] * v[2][2] - v[1][2] * v[2][0]) +
             v[0][2] * (v[1][0] * v[2][1] - v[1][1] * v[2][0]);
    return (volume > 0) - (volume < 0);
}

static bool keeps_turns(const struct bi_molecule *mol, const struct bi_pose *p)
{
    for (uint32_t i = 0; i < mol->n_atoms; i++) {
        bool heavy = mol->atoms[i].chiral != BI_CHIRAL_NONE && bi_mol_degree(mol, i) >= 3;
        for (uint32_t k = mol->start[i]; heavy && k < mol->start[i] + 3; k++)
            heavy = p->number[mol->near[k].atom] >= 0;
        if (heavy && turn_of(mol, p, i, false) != turn_of(mol, p, i, true))
            return false;
    }
    return true;
}

/* The root mean square of how far atoms were moved. */
static double moved_by(const struct bi_rater *r)
{
    double sum = 0;
    for (int32_t i = 0; i < r->pose.n; i++)
        for (int k = 0; k < 3; k++) {
            const double d = r->pose.x[i][k] - r->from[i][k];
            sum += d * d;
        }
    return sqrt(sum / r->pose.n);
}

void bi_pose_round(struct bi_pose *p)
{
    for (int32_t i = 0; i < p->n; i++)
        for (int k = 0; k < 3; k++)
            p->x[i][k] = nearbyint(1e4 * p->x[i][k]) / 1e4;
}

static int minimise(const struct bi_judge *j, struct bi_rater *r, const struct bi_molecule *mol,
                    int *n_steps, struct bioinfer_error *err)
{
    const size_t n = (size_t)r->pose.n;
    int st;
    r->minimiser.env = r->pose.env;
    if (!bi_grow(r->pose.env, &r->from, &r->cap_from, n, sizeof *r->from))
        return bi_fail(err, BIOINFER_NOMEM, "%zu atoms", n);
    memcpy(r->from, r->pose.x, n * sizeof *r->from);
    if ((st = bi_minimiser_begin(&r->minimiser, j->slopes, mol, j->site, &r->pose, err)) ||
        (st = bi_minimise(&r->minimiser, j->slopes, j->site, &r->pose, n_steps, err)))
        return st;
    bi_pose_round(&r->pose);
    return 0;
}

int bi_pose_rate(const struct bi_judge *j, struct bi_rater *r, const struct bi_molecule *mol,
                 struct bioinfer_rescored *out, struct bioinfer_error *err)
{
    struct bi_pose *p = &r->pose;
    struct bi_vina_sums sums;
    int st;
    bi_vina_score(j->vina, j->site, p, &sums);
    *out = (struct bioinfer_rescored){.before = bi_vina_affinity(sums.inter, p->n_rotors)};
    if (j->slopes) {
        if ((st = minimise(j, r, mol, &out->n_steps, err)))
            return st;
        bi_vina_score(j->vina, j->site, p, &sums);
        out->moved = moved_by(r);
    }
    out->affinity = bi_vina_affinity(sums.inter, p->n_rotors);
    out->inter = sums.inter;
    out->gauss1 = sums.terms[0];
    out->gauss2 = sums.terms[1];
    out->repulsion = sums.terms[2];
    out->hydrophobic = sums.terms[3];
    out->hydrogen = sums.terms[4];
    out->n_rotors = p->n_rotors;
    out->n_pairs = sums.n_pairs;
    out->n_atoms = p->n;
    r->volume.env = p->env;
    if ((st = bi_pose_check(&r->volume, j->site, mol, p, out, err)))
        return st;
    if (!keeps_turns(mol, p))
        out->failed |= BIOINFER_POSE_CHIRALITY;
    return 0;
}

void bi_rater_free(struct bi_rater *r)
{
    if (r->pose.env)
        bi_free(r->pose.env, r->from);
    bi_pose_free(&r->pose);
    bi_minimiser_free(&r->minimiser);
    bi_volume_free(&r->volume);
}
