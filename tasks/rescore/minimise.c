/* minimise.c - a pose moved to a minimum of Vina's function: shift, turn and torsions, by BFGS.
 *
 * The energy has pairs with the receptor, bent down per atom (curl), and pairs within the pose
 * whose distance a torsion may change, bent down per pair. A pair's energy is a cubic between
 * nodes of the square of the distance, with the function's values and slopes there. So the gradient
 * belongs to the energy to the last bit, but at the cutoff, where the function itself jumps.
 *
 * Sections: pairs, torsions, energy and gradient, places, BFGS. */
#include <math.h>
#include <string.h>

#include "rescore.h"

enum { MAX_STEPS = 200, MAX_TRIALS = 10, FEWEST_BONDS = 4, RESTARTS = 1 };

static const double skin = 1, least_gain = 1e-4, least_gradient = 1e-3;
/* No step is longer, in angstrom and radians. */
static const double longest_shift = 0.5, longest_turn = 0.35;

/* ---- pairs within the pose ---- */

/* Bonds from atom `from` to all others, by a search; far ones have FEWEST_BONDS. */
static void find_depths(const struct bi_molecule *mol, uint32_t from, uint8_t *depth,
                        uint32_t *queue)
{
    uint32_t n = 0;
    memset(depth, FEWEST_BONDS, mol->n_atoms);
    depth[from] = 0;
    queue[n++] = from;
    for (uint32_t at = 0; at < n; at++) {
        const uint32_t i = queue[at];
        if (depth[i] + 1 == FEWEST_BONDS)
            break;
        for (uint32_t k = mol->start[i]; k < mol->start[i + 1]; k++) {
            const uint32_t j = mol->near[k].atom;
            if (depth[j] < FEWEST_BONDS)
                continue;
            depth[j] = (uint8_t)(depth[i] + 1);
            queue[n++] = j;
        }
    }
}

/* Parts that no torsion changes: part[i] of heavy atom i, by the bonds that do not turn. */
static void find_parts(struct bi_minimiser *m, const struct bi_molecule *mol,
                       const struct bi_pose *p)
{
    for (int32_t i = 0; i < p->n; i++)
        m->part[i] = i;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < mol->n_bonds; k++) {
            const int32_t a = p->number[mol->bonds[k].a], b = p->number[mol->bonds[k].b];
            if (a < 0 || b < 0 || p->rotor[k] || m->part[a] == m->part[b])
                continue;
            m->part[a] = m->part[b] = m->part[a] < m->part[b] ? m->part[a] : m->part[b];
            changed = true;
        }
    }
}

static int find_pairs(struct bi_minimiser *m, const struct bi_molecule *mol,
                      const struct bi_pose *p, struct bioinfer_error *err)
{
    m->n_pairs = 0;
    for (int32_t i = 0; i < p->n; i++) {
        find_depths(mol, p->atom[i], m->depth, m->queue);
        for (int32_t j = 0; j < i; j++) {
            if (m->part[i] == m->part[j] || m->depth[p->atom[j]] < FEWEST_BONDS)
                continue;
            if (!bi_grow(m->env, &m->pairs, &m->cap_pairs, m->n_pairs + 1, sizeof *m->pairs))
                return bi_fail(err, BIOINFER_NOMEM, "%zu pairs of atoms", m->n_pairs + 1);
            m->pairs[m->n_pairs][0] = i;
            m->pairs[m->n_pairs++][1] = j;
        }
    }
    return 0;
}

/* ---- torsions ---- */

/* Marks what hangs on `to` when the bond from `from` is cut, and counts it. */
static int32_t mark_side(const struct bi_molecule *mol, const struct bi_pose *p, uint32_t from,
                         uint32_t to, uint8_t *side, uint32_t *queue)
{
    uint32_t n = 0;
    memset(side, 0, (size_t)p->n);
    side[p->number[to]] = 1;
    queue[n++] = to;
    for (uint32_t at = 0; at < n; at++)
        for (uint32_t k = mol->start[queue[at]]; k < mol->start[queue[at] + 1]; k++) {
            const uint32_t j = mol->near[k].atom;
            const bool back = queue[at] == to && j == from;
            if (p->number[j] < 0 || side[p->number[j]] || back)
                continue;
            side[p->number[j]] = 1;
            queue[n++] = j;
        }
    return (int32_t)n;
}

/* Each torsion moves the side of its bond that lacks the root, an atom of the largest part. */
static int find_torsions(struct bi_minimiser *m, const struct bi_molecule *mol,
                         const struct bi_pose *p, struct bioinfer_error *err)
{
    int32_t root = 0, most = 0;
    memset(m->count, 0, (size_t)p->n * sizeof *m->count);
    for (int32_t i = 0; i < p->n; i++)
        if (++m->count[m->part[i]] > most) {
            most = m->count[m->part[i]];
            root = m->part[i];
        }
    m->n_torsions = 0;
    m->n_moved = 0;
    for (uint32_t k = 0; k < mol->n_bonds; k++) {
        uint32_t u = mol->bonds[k].a, v = mol->bonds[k].b;
        struct bi_torsion *t;
        int32_t n;
        if (!p->rotor[k])
            continue;
        n = mark_side(mol, p, u, v, m->side, m->queue);
        if (m->side[root]) {
            const uint32_t swap = u;
            u = v;
            v = swap;
            n = mark_side(mol, p, u, v, m->side, m->queue);
        }
        if (n < 2 || p->n - n < 2) /* hydrogens alone are moved */
            continue;
        if (!bi_grow(m->env, &m->torsions, &m->cap_torsions, (size_t)m->n_torsions + 1,
                     sizeof *m->torsions) ||
            !bi_grow(m->env, &m->moved, &m->cap_moved, m->n_moved + (size_t)n, sizeof *m->moved))
            return bi_fail(err, BIOINFER_NOMEM, "%d torsions", m->n_torsions + 1);
        t = &m->torsions[m->n_torsions++];
        *t = (struct bi_torsion){p->number[u], p->number[v], m->n_moved, m->n_moved};
        for (int32_t i = 0; i < p->n; i++)
            if (m->side[i] && i != t->v)
                m->moved[t->end++] = i;
        m->n_moved = t->end;
    }
    return 0;
}

/* ---- energy and gradient ---- */

/* Adds the energy of a pair, and gives twice dE/d(r^2). */
static inline double pair_energy(const float (*nodes)[4], double r2, double *energy)
{
    const double at = BI_SLOPES_PER * r2;
    const int bin = (int)at;
    const double t = at - bin, h = 1.0 / BI_SLOPES_PER;
    const float *n = nodes[bin];
    const double e0 = (double)n[0], g0 = h * (double)n[1], e1 = (double)n[2], g1 = h * (double)n[3];
    const double c2 = 3 * (e1 - e0) - 2 * g0 - g1, c3 = 2 * (e0 - e1) + g0 + g1;
    *energy += e0 + t * (g0 + t * (c2 + t * c3));
    return 2 * BI_SLOPES_PER * (g0 + t * (2 * c2 + 3 * t * c3));
}

/* Lists the receptor's atoms that are near to each atom of the pose. */
static int list_near(struct bi_minimiser *m, const struct bi_slopes *slopes,
                     const struct bi_site *s, const struct bi_pose *p, struct bioinfer_error *err)
{
    const struct bi_cells *c = &s->cells;
    const double reach = BI_VINA_CUTOFF + skin;
    size_t n = 0;
    for (int32_t a = 0; a < p->n; a++) {
        int32_t from[3], to[3];
        m->near_start[a] = n;
        memcpy(m->listed[a], p->x[a], sizeof *m->listed);
        if (!bi_cells_range(c, p->x[a], reach, from, to))
            continue;
        for (int32_t k = from[2]; k <= to[2]; k++)
            for (int32_t j = from[1]; j <= to[1]; j++) {
                const int32_t row = (k * c->n[1] + j) * c->n[0];
                const int32_t first = c->start[row + from[0]], end = c->start[row + to[0] + 1];
                if (!bi_grow(m->env, &m->near, &m->cap_near, n + (size_t)(end - first),
                             sizeof *m->near))
                    return bi_fail(err, BIOINFER_NOMEM, "%zu near atoms", n);
                for (int32_t i = first; i < end; i++) {
                    double r2 = 0;
                    for (int d = 0; d < 3; d++)
                        r2 += (p->x[a][d] - s->x[i][d]) * (p->x[a][d] - s->x[i][d]);
                    if (r2 >= reach * reach)
                        continue;
                    memcpy(m->near[n].x, s->x[i], sizeof *s->x);
                    m->near[n++].nodes = bi_slopes_of(slopes, p->type[a], s->type[i]);
                }
            }
    }
    m->near_start[p->n] = n;
    return bi_grow(m->env, &m->hits, &m->cap_hits, n + 1, sizeof *m->hits)
               ? 0
               : bi_fail(err, BIOINFER_NOMEM, "%zu near atoms", n);
}

static bool list_holds(const struct bi_minimiser *m, const struct bi_pose *p)
{
    for (int32_t a = 0; a < p->n; a++) {
        double r2 = 0;
        for (int d = 0; d < 3; d++)
            r2 += (p->x[a][d] - m->listed[a][d]) * (p->x[a][d] - m->listed[a][d]);
        if (r2 > skin * skin)
            return false;
    }
    return true;
}

/* Bends a positive energy down: gives the factor of its gradient. */
static double curl(double *e)
{
    const double f = *e > 0 ? BI_VINA_CURL / (BI_VINA_CURL + *e) : 1;
    *e *= f;
    return f * f;
}

/* The energy of atom a with the receptor; its gradient is added to m->force[a]. */
static double atom_energy(struct bi_minimiser *m, const struct bi_pose *p, int32_t a)
{
    const struct bi_near *near = m->near + m->near_start[a];
    const uint32_t n = (uint32_t)(m->near_start[a + 1] - m->near_start[a]);
    const double x[3] = {p->x[a][0], p->x[a][1], p->x[a][2]};
    uint32_t *hits = m->hits, n_hits = 0;
    double g[3] = {0, 0, 0}, e = 0, factor;
    for (uint32_t k = 0; k < n; k++) { /* without a branch, which nobody could foresee */
        const double d[3] = {x[0] - near[k].x[0], x[1] - near[k].x[1], x[2] - near[k].x[2]};
        hits[n_hits] = k;
        n_hits += d[0] * d[0] + d[1] * d[1] + d[2] * d[2] < BI_VINA_CUTOFF * BI_VINA_CUTOFF;
    }
    for (uint32_t k = 0; k < n_hits; k++) {
        const struct bi_near *y = &near[hits[k]];
        const double d[3] = {x[0] - y->x[0], x[1] - y->x[1], x[2] - y->x[2]};
        const double f = pair_energy(y->nodes, d[0] * d[0] + d[1] * d[1] + d[2] * d[2], &e);
        for (int i = 0; i < 3; i++)
            g[i] += f * d[i];
    }
    factor = curl(&e);
    for (int i = 0; i < 3; i++)
        m->force[a][i] += factor * g[i];
    return e;
}

static double inner_energy(struct bi_minimiser *m, const struct bi_slopes *slopes,
                           const struct bi_pose *p)
{
    double sum = 0;
    for (size_t k = 0; k < m->n_pairs; k++) {
        const int32_t a = m->pairs[k][0], b = m->pairs[k][1];
        const double d[3] = {p->x[a][0] - p->x[b][0], p->x[a][1] - p->x[b][1],
                             p->x[a][2] - p->x[b][2]};
        const double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        double e = 0, f;
        if (r2 >= BI_VINA_CUTOFF * BI_VINA_CUTOFF)
            continue;
        f = pair_energy(bi_slopes_of(slopes, p->type[a], p->type[b]), r2, &e);
        f *= curl(&e);
        sum += e;
        for (int i = 0; i < 3; i++) {
            m->force[a][i] += f * d[i];
            m->force[b][i] -= f * d[i];
        }
    }
    return sum;
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The unit vector about which a torsion turns. */
static void axis_of(const struct bi_pose *p, const struct bi_torsion *t, double axis[3])
{
    double n = 0;
    for (int i = 0; i < 3; i++) {
        axis[i] = p->x[t->v][i] - p->x[t->u][i];
        n += axis[i] * axis[i];
    }
    for (int i = 0; i < 3; i++)
        axis[i] /= n > 0 ? sqrt(n) : 1;
}

int bi_minimiser_energy(struct bi_minimiser *m, const struct bi_slopes *slopes,
                        const struct bi_site *s, const struct bi_pose *p, double *energy,
                        double *gradient, struct bioinfer_error *err)
{
    int st;
    if (!list_holds(m, p) && (st = list_near(m, slopes, s, p, err)))
        return st;
    memset(m->force, 0, (size_t)p->n * sizeof *m->force);
    *energy = inner_energy(m, slopes, p);
    for (int32_t a = 0; a < p->n; a++)
        *energy += atom_energy(m, p, a);
    memset(gradient, 0, (6 + (size_t)m->n_torsions) * sizeof *gradient);
    for (int32_t a = 0; a < p->n; a++) {
        double arm[3], turn[3];
        for (int i = 0; i < 3; i++) {
            arm[i] = p->x[a][i] - m->centre[i] - m->shift[i];
            gradient[i] += m->force[a][i];
        }
        cross(arm, m->force[a], turn);
        for (int i = 0; i < 3; i++)
            gradient[3 + i] += turn[i];
    }
    for (int32_t k = 0; k < m->n_torsions; k++) {
        const struct bi_torsion *t = &m->torsions[k];
        double axis[3];
        axis_of(p, t, axis);
        for (size_t at = t->begin; at < t->end; at++) {
            const int32_t a = m->moved[at];
            double arm[3], turn[3];
            for (int i = 0; i < 3; i++)
                arm[i] = p->x[a][i] - p->x[t->v][i];
            cross(arm, m->force[a], turn);
            for (int i = 0; i < 3; i++)
                gradient[6 + k] += axis[i] * turn[i];
        }
    }
    return 0;
}

/* ---- places ---- */

/* The matrix that turns about a vector by its length. */
static void turn_matrix(const double v[3], double r[3][3])
{
    const double angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const double s = angle > 1e-12 ? sin(angle) / angle : 1,
                 half = angle > 1e-12 ? sin(angle / 2) : 0;
    const double c = angle > 1e-12 ? 2 * half * half / (angle * angle) : 0.5;
    const double k[3][3] = {{0, -v[2], v[1]}, {v[2], 0, -v[0]}, {-v[1], v[0], 0}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double square = 0;
            for (int l = 0; l < 3; l++)
                square += k[i][l] * k[l][j];
            r[i][j] = (i == j) + s * k[i][j] + c * square;
        }
}

static void turn_about(double x[3], const double centre[3], const double r[3][3])
{
    const double d[3] = {x[0] - centre[0], x[1] - centre[1], x[2] - centre[2]};
    for (int i = 0; i < 3; i++)
        x[i] = centre[i] + r[i][0] * d[0] + r[i][1] * d[1] + r[i][2] * d[2];
}

/* Moves the pose by a step from m->from: torsions, the turn about the moved centre, the shift. */
static void move_pose(struct bi_minimiser *m, struct bi_pose *p, const double *step, double scale)
{
    double r[3][3], v[3], centre[3];
    memcpy(p->x, m->from, (size_t)p->n * sizeof *p->x);
    for (int32_t k = 0; k < m->n_torsions; k++) {
        const struct bi_torsion *t = &m->torsions[k];
        axis_of(p, t, v);
        for (int i = 0; i < 3; i++)
            v[i] *= scale * step[6 + k];
        turn_matrix(v, r);
        for (size_t at = t->begin; at < t->end; at++)
            turn_about(p->x[m->moved[at]], p->x[t->v], (const double(*)[3])r);
    }
    for (int i = 0; i < 3; i++) {
        v[i] = scale * step[3 + i];
        centre[i] = m->centre[i] + m->from_shift[i];
        m->shift[i] = m->from_shift[i] + scale * step[i];
    }
    turn_matrix(v, r);
    for (int32_t a = 0; a < p->n; a++) {
        turn_about(p->x[a], centre, (const double(*)[3])r);
        for (int i = 0; i < 3; i++)
            p->x[a][i] += scale * step[i];
    }
}

/* ---- BFGS ---- */

/* The inverse of the Hessian at first: stiff where many atoms move far. */
static void begin_hessian(struct bi_minimiser *m, const struct bi_pose *p, double *h)
{
    const int n = 6 + m->n_torsions;
    double spread = 1;
    memset(h, 0, (size_t)n * (size_t)n * sizeof *h);
    for (int32_t a = 0; a < p->n; a++)
        for (int i = 0; i < 3; i++) {
            const double d = p->x[a][i] - m->centre[i] - m->shift[i];
            spread += 2.0 / 3 * d * d;
        }
    for (int i = 0; i < n; i++)
        h[i * n + i] = 1 / (i < 3 ? p->n : spread);
    for (int32_t k = 0; k < m->n_torsions; k++) {
        const struct bi_torsion *t = &m->torsions[k];
        double axis[3], sum = 1;
        axis_of(p, t, axis);
        for (size_t at = t->begin; at < t->end; at++) {
            double arm[3], off[3];
            for (int i = 0; i < 3; i++)
                arm[i] = p->x[m->moved[at]][i] - p->x[t->v][i];
            cross(axis, arm, off);
            sum += off[0] * off[0] + off[1] * off[1] + off[2] * off[2];
        }
        h[(6 + k) * n + 6 + k] = 1 / sum;
    }
    for (int i = 0; i < n * n; i++)
        h[i] *= 0.2; /* a kcal/mol for each atom and square angstrom is usual */
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* The step -H g, shortened where it is too long. */
static void choose_step(const struct bi_minimiser *m, const double *h, const double *g,
                        double *step)
{
    const int n = 6 + m->n_torsions;
    double scale = 1;
    for (int i = 0; i < n; i++)
        step[i] = -dot(h + i * n, g, n);
    const double shift = sqrt(dot(step, step, 3)), turn = sqrt(dot(step + 3, step + 3, 3));
    scale = fmin(scale, longest_shift / fmax(shift, longest_shift));
    scale = fmin(scale, longest_turn / fmax(turn, longest_turn));
    for (int i = 6; i < n; i++)
        scale = fmin(scale, longest_turn / fmax(fabs(step[i]), longest_turn));
    for (int i = 0; i < n; i++)
        step[i] *= scale;
}

/* H of BFGS after a step s that changed the gradient by y; hy has room for n numbers. A first H is
 * scaled to this step before. */
static void update_hessian(double *h, const double *s, const double *y, double *hy, int n,
                           bool *is_first)
{
    const double ys = dot(y, s, n);
    double yhy;
    if (!(ys > 1e-12))
        return;
    for (int i = 0; i < n; i++)
        hy[i] = dot(h + i * n, y, n);
    yhy = dot(y, hy, n);
    for (int i = 0; *is_first && yhy > 1e-12 && i < n * n; i++)
        h[i] *= ys / yhy;
    for (int i = 0; *is_first && yhy > 1e-12 && i < n; i++)
        hy[i] *= ys / yhy;
    yhy = *is_first && yhy > 1e-12 ? ys : yhy;
    *is_first = false;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            h[i * n + j] += (1 + yhy / ys) / ys * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / ys;
}

static bool make_room(struct bi_minimiser *m, const struct bi_molecule *mol,
                      const struct bi_pose *p)
{
    const struct bi_env *e = m->env;
    const size_t n = (size_t)p->n + 1, all = mol->n_atoms + 1;
    return bi_grow(e, &m->part, &m->cap_part, n, sizeof *m->part) &&
           bi_grow(e, &m->count, &m->cap_count, n, sizeof *m->count) &&
           bi_grow(e, &m->depth, &m->cap_depth, all, sizeof *m->depth) &&
           bi_grow(e, &m->side, &m->cap_side, n, sizeof *m->side) &&
           bi_grow(e, &m->queue, &m->cap_queue, all, sizeof *m->queue) &&
           bi_grow(e, &m->near_start, &m->cap_near_start, n, sizeof *m->near_start) &&
           bi_grow(e, &m->listed, &m->cap_listed, n, sizeof *m->listed) &&
           bi_grow(e, &m->force, &m->cap_force, n, sizeof *m->force) &&
           bi_grow(e, &m->from, &m->cap_from, n, sizeof *m->from);
}

int bi_minimiser_begin(struct bi_minimiser *m, const struct bi_slopes *slopes,
                       const struct bi_molecule *mol, const struct bi_site *s,
                       const struct bi_pose *p, struct bioinfer_error *err)
{
    size_t n;
    int st;
    if (!make_room(m, mol, p))
        return bi_fail(err, BIOINFER_NOMEM, "%d atoms", (int)p->n);
    find_parts(m, mol, p);
    if ((st = find_torsions(m, mol, p, err)) || (st = find_pairs(m, mol, p, err)))
        return st;
    n = 6 + (size_t)m->n_torsions;
    if (!bi_grow(m->env, &m->numbers, &m->cap_numbers, n * n + 5 * n, sizeof *m->numbers))
        return bi_fail(err, BIOINFER_NOMEM, "%d torsions", m->n_torsions);
    for (int i = 0; i < 3; i++) {
        m->centre[i] = m->shift[i] = 0;
        for (int32_t a = 0; a < p->n; a++)
            m->centre[i] += p->x[a][i] / p->n;
    }
    return list_near(m, slopes, s, p, err);
}

/* A search along a step: 1: the pose has less energy now, by *gain; 0: there is none to be had, and
 * it is where it was. */
static int search(struct bi_minimiser *m, const struct bi_slopes *slopes, const struct bi_site *s,
                  struct bi_pose *p, const double *step, double slope, double *e, double *g,
                  double *gain, double *scale, struct bioinfer_error *err)
{
    memcpy(m->from, p->x, (size_t)p->n * sizeof *p->x);
    memcpy(m->from_shift, m->shift, sizeof m->shift);
    *scale = 1;
    for (int trial = 0; trial < MAX_TRIALS; trial++) {
        double there, least;
        int st;
        move_pose(m, p, step, *scale);
        if ((st = bi_minimiser_energy(m, slopes, s, p, &there, g, err)))
            return st;
        if (there <= *e + 1e-4 * *scale * slope) {
            *gain = *e - there;
            *e = there;
            return 1;
        }
        /* where a parabola through both energies and the slope is lowest */
        least = -slope * *scale * *scale / (2 * (there - *e - slope * *scale));
        *scale = fmin(0.5 * *scale, fmax(0.1 * *scale, least));
    }
    memcpy(p->x, m->from, (size_t)p->n * sizeof *p->x);
    memcpy(m->shift, m->from_shift, sizeof m->shift);
    return 0;
}

int bi_minimise(struct bi_minimiser *m, const struct bi_slopes *slopes, const struct bi_site *s,
                struct bi_pose *p, int *n_steps, struct bioinfer_error *err)
{
    const int n = 6 + m->n_torsions;
    double *h = m->numbers, *g = h + n * n, *next = g + n, *step = next + n, *y = step + n,
           *hy = y + n;
    double e, gain = 0, scale = 1;
    int st, restarts = 0, small = 0;
    bool is_first = true;
    *n_steps = 0;
    if ((st = bi_minimiser_energy(m, slopes, s, p, &e, g, err)))
        return st;
    begin_hessian(m, p, h);
    while (*n_steps < MAX_STEPS && dot(g, g, n) > least_gradient * least_gradient) {
        double slope;
        choose_step(m, h, g, step);
        slope = dot(step, g, n);
        st = slope < 0 ? search(m, slopes, s, p, step, slope, &e, next, &gain, &scale, err) : 0;
        if (st < 0)
            return st;
        ++*n_steps;
        small = st && gain >= least_gain ? 0 : small + 1;
        if (!st || small > 1) { /* the function jumps where pairs pass the cutoff: begin anew */
            if (restarts++ == RESTARTS)
                break;
            if (st)
                memcpy(g, next, (size_t)n * sizeof *g);
            begin_hessian(m, p, h);
            is_first = true;
            small = 0;
            continue;
        }
        for (int i = 0; i < n; i++) {
            y[i] = next[i] - g[i];
            step[i] *= scale;
        }
        update_hessian(h, step, y, hy, n, &is_first);
        memcpy(g, next, (size_t)n * sizeof *g);
    }
    return 0;
}

void bi_minimiser_free(struct bi_minimiser *m)
{
    if (!m->env)
        return;
    bi_free(m->env, m->part);
    bi_free(m->env, m->count);
    bi_free(m->env, m->depth);
    bi_free(m->env, m->side);
    bi_free(m->env, m->queue);
    bi_free(m->env, m->pairs);
    bi_free(m->env, m->torsions);
    bi_free(m->env, m->moved);
    bi_free(m->env, m->near);
    bi_free(m->env, m->near_start);
    bi_free(m->env, m->hits);
    bi_free(m->env, m->listed);
    bi_free(m->env, m->force);
    bi_free(m->env, m->from);
    bi_free(m->env, m->numbers);
    *m = (struct bi_minimiser){0};
}
