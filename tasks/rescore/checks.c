/* checks.c - what is wrong with a pose, as PoseBusters 0.6.5 asks it: too near to the receptor, too
 * far from it, within it, or too near to itself. docs/docking.md says where the rules differ. */
#include <math.h>
#include <string.h>

#include "rescore.h"

static const double least_share = 0.75, farthest = 5, most_overlap = 0.075;
static const double volume_scale = 0.8, metal_scale = 0.5, grid = 0.4;
/* A sphere counts 3 inside, and in two layers of this width around it 2 and 1. */
static const double layer = 0.25;
/* Least distances of 1-5 pairs, 1-6 pairs and farther ones, as a share of both radii. Below a share
 * of it a pair is a clash. */
static const double inner_share[] = {0.7, 0.85, 1}, inner_clash = 0.7;

enum { FIRST_DEPTH = 4, LAST_DEPTH = 6 };

/* Radii in hundredths of an angstrom, as RDKit 2026.9.1 has them, from hydrogen on. */
static const uint16_t van_der_waals[BI_ELEMENTS] = {
    0,   120, 140, 220, 190, 180, 170, 160, 155, 150, 154, 240, 220, 210, 210, 195, 180,
    180, 188, 280, 240, 230, 215, 205, 205, 205, 205, 200, 200, 200, 210, 210, 210, 205,
    190, 190, 202, 290, 255, 240, 230, 215, 210, 205, 205, 200, 205, 210, 220, 220, 225,
    220, 210, 210, 216, 300, 270, 250, 248, 247, 245, 243, 242, 240, 238, 237, 235, 233,
    232, 230, 228, 227, 225, 220, 210, 205, 200, 200, 205, 210, 205, 220, 230, 230, 200,
    200, 200, 200, 200, 200, 240, 200, 230, 200, 200, 200, 200, 200, 200, 200, 200, 200,
    200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200, 200};
static const uint16_t covalent[BI_ELEMENTS] = {
    0,   31,  28,  128, 96,  84,  76,  71,  66,  57,  58,  166, 141, 121, 111, 107, 105,
    102, 106, 203, 176, 170, 160, 152, 139, 139, 132, 126, 124, 132, 122, 122, 120, 119,
    120, 120, 116, 220, 195, 190, 175, 164, 154, 147, 146, 142, 139, 145, 144, 142, 139,
    139, 138, 139, 140, 244, 215, 207, 204, 203, 201, 199, 198, 198, 196, 194, 192, 192,
    189, 190, 187, 187, 175, 170, 162, 151, 144, 141, 136, 136, 132, 145, 146, 148, 140,
    150, 150, 260, 220, 215, 206, 200, 196, 190, 187, 180, 169, 190, 190, 190, 190, 190,
    190, 190, 190, 190, 190, 190, 190, 190, 190, 190, 190, 136, 143, 162, 175, 165, 157};

static double vdw_of(uint8_t element)
{
    return 0.01 * van_der_waals[element];
}

/* Both radii; beside a metal the covalent ones. */
static double radii_of(uint8_t ligand, uint8_t receptor)
{
    return bi_is_metal(receptor) ? 0.01 * (covalent[ligand] + covalent[receptor])
                                 : vdw_of(ligand) + vdw_of(receptor);
}

static double distance2(const double a[3], const double b[3])
{
    double sum = 0;
    for (int k = 0; k < 3; k++)
        sum += (a[k] - b[k]) * (a[k] - b[k]);
    return sum;
}

/* ---- receptor ---- */

/* Looks at the pairs of an atom; atoms whose layers meet its own are put into v->close[0, *n). */
static int look_around(struct bi_volume *v, const struct bi_site *s, const double x[3],
                       uint8_t element, struct bioinfer_rescored *out, size_t *n,
                       struct bioinfer_error *err)
{
    const struct bi_cells *c = &s->cells;
    int32_t from[3], to[3];
    *n = 0;
    if (!bi_cells_range(c, x, BI_VINA_CUTOFF, from, to))
        return 0;
    for (int32_t k = from[2]; k <= to[2]; k++)
        for (int32_t j = from[1]; j <= to[1]; j++) {
            const int32_t row = (k * c->n[1] + j) * c->n[0];
            for (int32_t i = c->start[row + from[0]]; i < c->start[row + to[0] + 1]; i++) {
                const double d2 = distance2(x, s->x[i]), d = sqrt(d2);
                const double share = d / radii_of(element, s->element[i]);
                if (d2 >= BI_VINA_CUTOFF * BI_VINA_CUTOFF)
                    continue;
                out->distance = fmin(out->distance, d);
                out->closest = fmin(out->closest, share);
                out->n_clashes += share < least_share;
                if (d >= volume_scale * (vdw_of(element) + vdw_of(s->element[i])) + 4 * layer)
                    continue;
                if (!bi_grow(v->env, &v->close, &v->cap_close, *n + 1, sizeof *v->close))
                    return bi_fail(err, BIOINFER_NOMEM, "%zu near atoms", *n + 1);
                v->close[(*n)++] = i;
            }
        }
    return 0;
}

/* ---- volume ---- */

struct volume {
    int64_t all, within; /* sums over points of the grid */
};

/* Gives the count of a point by its distance from the surface of a sphere. */
static int layer_of(double beyond)
{
    return beyond < 0 ? 3 : beyond < layer ? 2 : beyond < 2 * layer ? 1 : 0;
}

static int layer_in_receptor(const struct bi_volume *v, const struct bi_site *s, size_t n,
                             const double at[3])
{
    int most = 0;
    for (size_t i = 0; most < 3 && i < n; i++) {
        const uint8_t z = s->element[v->close[i]];
        const double r = (bi_is_metal(z) ? metal_scale : volume_scale) * vdw_of(z);
        const double d2 = distance2(at, s->x[v->close[i]]);
        const int here = d2 < (r + 2 * layer) * (r + 2 * layer) ? layer_of(sqrt(d2) - r) : 0;
        most = here > most ? here : most;
    }
    return most;
}

static double pose_radius(const struct bi_molecule *mol, const struct bi_pose *p, uint32_t a)
{
    return volume_scale * vdw_of(mol->atoms[p->atom[a]].element);
}

/* Puts the atoms whose layers meet the layers of atom a into v->queue, in their order; how many. */
static uint32_t find_meeting(const struct bi_volume *v, const struct bi_molecule *mol,
                             const struct bi_pose *p, uint32_t a)
{
    uint32_t n = 0;
    for (uint32_t b = 0; b < (uint32_t)p->n; b++) {
        const double r = pose_radius(mol, p, a) + pose_radius(mol, p, b) + 4 * layer;
        if (distance2(p->x[a], p->x[b]) < r * r)
            v->queue[n++] = b;
    }
    return n;
}

/* Gives the count of a point in the pose; 0 where an atom before a has it, too: it was counted. */
static int layer_in_pose(const struct bi_volume *v, const struct bi_molecule *mol,
                         const struct bi_pose *p, uint32_t a, uint32_t n, const double at[3])
{
    int most = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = v->queue[i];
        const double r = pose_radius(mol, p, b), d2 = distance2(at, p->x[b]);
        const int here = d2 < (r + 2 * layer) * (r + 2 * layer) ? layer_of(sqrt(d2) - r) : 0;
        if (here && b < a)
            return 0;
        most = here > most ? here : most;
    }
    return most;
}

/* Counts the points of atom a that no atom before it has. */
static void count_points(const struct bi_volume *v, const struct bi_site *s,
                         const struct bi_molecule *mol, const struct bi_pose *p, uint32_t a,
                         size_t n_close, struct volume *out)
{
    const double r = pose_radius(mol, p, a) + 2 * layer;
    const uint32_t n = find_meeting(v, mol, p, a);
    double low[3], at[3];
    for (int k = 0; k < 3; k++)
        low[k] = ceil((p->x[a][k] - r) / grid) * grid;
    for (at[2] = low[2]; at[2] <= p->x[a][2] + r; at[2] += grid)
        for (at[1] = low[1]; at[1] <= p->x[a][1] + r; at[1] += grid)
            for (at[0] = low[0]; at[0] <= p->x[a][0] + r; at[0] += grid) {
                const int here = distance2(at, p->x[a]) < r * r ? layer_in_pose(v, mol, p, a, n, at)
                                                                : 0;
                const int shared = here ? layer_in_receptor(v, s, n_close, at) : 0;
                out->all += here;
                out->within += shared < here ? shared : here;
            }
}

/* ---- the pose itself ---- */

/* Bonds from an atom to all others, at most LAST_DEPTH. */
static void find_depths(struct bi_volume *v, const struct bi_molecule *mol, uint32_t from)
{
    uint32_t n = 0;
    memset(v->depth, LAST_DEPTH, mol->n_atoms);
    v->depth[from] = 0;
    v->queue[n++] = from;
    for (uint32_t at = 0; at < n && v->depth[v->queue[at]] + 1 < LAST_DEPTH; at++)
        for (uint32_t k = mol->start[v->queue[at]]; k < mol->start[v->queue[at] + 1]; k++) {
            const uint32_t j = mol->near[k].atom;
            if (v->depth[j] < LAST_DEPTH)
                continue;
            v->depth[j] = (uint8_t)(v->depth[v->queue[at]] + 1);
            v->queue[n++] = j;
        }
}

static void check_inner(struct bi_volume *v, const struct bi_molecule *mol, const struct bi_pose *p,
                        struct bioinfer_rescored *out)
{
    for (int32_t a = 0; a < p->n; a++) {
        find_depths(v, mol, p->atom[a]);
        for (int32_t b = 0; b < a; b++) {
            const uint8_t depth = v->depth[p->atom[b]];
            double least;
            if (depth < FIRST_DEPTH)
                continue;
            least = inner_clash * inner_share[depth - FIRST_DEPTH] *
                    (vdw_of(mol->atoms[p->atom[a]].element) +
                     vdw_of(mol->atoms[p->atom[b]].element));
            out->n_internal += distance2(p->x[a], p->x[b]) < least * least;
        }
    }
}

/* ---- all of them ---- */

int bi_pose_check(struct bi_volume *v, const struct bi_site *s, const struct bi_molecule *mol,
                  const struct bi_pose *p, struct bioinfer_rescored *out,
                  struct bioinfer_error *err)
{
    struct volume volume = {0, 0};
    int st;
    if (!bi_grow(v->env, &v->depth, &v->cap_depth, mol->n_atoms + 1, sizeof *v->depth) ||
        !bi_grow(v->env, &v->queue, &v->cap_queue, mol->n_atoms + 1, sizeof *v->queue))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", mol->n_atoms);
    out->distance = out->closest = INFINITY;
    out->n_clashes = out->n_internal = 0;
    for (int32_t a = 0; a < p->n; a++) {
        size_t n_close;
        if ((st = look_around(v, s, p->x[a], mol->atoms[p->atom[a]].element, out, &n_close, err)))
            return st;
        count_points(v, s, mol, p, (uint32_t)a, n_close, &volume);
    }
    check_inner(v, mol, p, out);
    out->overlap = (double)volume.within / (double)(volume.all > 0 ? volume.all : 1);
    out->failed = (out->n_clashes ? BIOINFER_POSE_CLASH : 0u) |
                  (out->overlap > most_overlap ? BIOINFER_POSE_OVERLAP : 0u) |
                  (out->n_internal ? BIOINFER_POSE_INTERNAL : 0u) |
                  (out->distance <= farthest ? 0u : BIOINFER_POSE_FAR);
    if (isinf(out->distance))
        out->distance = out->closest = NAN;
    return 0;
}

void bi_volume_free(struct bi_volume *v)
{
    if (!v->env)
        return;
    bi_free(v->env, v->depth);
    bi_free(v->env, v->queue);
    bi_free(v->env, v->close);
    *v = (struct bi_volume){0};
}
