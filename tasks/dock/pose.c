/* pose.c - rotations, bonds that turn, and a step of a pose. */
#include <math.h>
#include <string.h>

#include "../../kernels/edm.h"
#include "dock.h"

static void mean_of(const double (*x)[3], int32_t n, double mean[3])
{
    mean[0] = mean[1] = mean[2] = 0;
    for (int32_t i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
            mean[k] += x[i][k] / n;
}

/* The rotation about an axis by its length (Rodrigues). */
static void rotation_of(const double v[3], double r[9])
{
    const double angle = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const bool small = angle < 1e-8;
    const double s = small ? 1 - angle * angle / 6 : sin(angle) / angle;
    const double h = small ? 0.5 - angle * angle / 24 : (1 - cos(angle)) / (angle * angle);
    const double k[9] = {0, -v[2], v[1], v[2], 0, -v[0], -v[1], v[0], 0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            double kk = 0;
            for (int m = 0; m < 3; m++)
                kk += k[3 * i + m] * k[3 * m + j];
            r[3 * i + j] = (i == j) + s * k[3 * i + j] + h * kk;
        }
}

/* x = r (x - from) + to */
static void carry(double x[3], const double r[9], const double from[3], const double to[3])
{
    const double d[3] = {x[0] - from[0], x[1] - from[1], x[2] - from[2]};
    for (int k = 0; k < 3; k++)
        x[k] = to[k] + r[3 * k] * d[0] + r[3 * k + 1] * d[1] + r[3 * k + 2] * d[2];
}

void bi_dock_shift(double (*x)[3], int32_t n, const double turn[3], const double shift[3])
{
    double r[9], mean[3], to[3];
    mean_of((const double(*)[3])x, n, mean);
    rotation_of(turn, r);
    for (int k = 0; k < 3; k++)
        to[k] = mean[k] + shift[k];
    for (int32_t i = 0; i < n; i++)
        carry(x[i], r, mean, to);
}

void bi_dock_twist(double (*x)[3], const struct bi_dock_ligand *l, const double *angles)
{
    for (int32_t t = 0; t < l->n_torsions; t++) {
        const double *u = x[l->torsions[t][0]], *v = x[l->torsions[t][1]];
        const double at[3] = {v[0], v[1], v[2]};
        double axis[3] = {u[0] - v[0], u[1] - v[1], u[2] - v[2]}, r[9];
        const double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
        for (int k = 0; k < 3; k++)
            axis[k] *= angles[t] / length;
        rotation_of(axis, r);
        for (int32_t i = 0; i < l->n; i++)
            if (l->moved[(size_t)t * (size_t)l->n + (size_t)i])
                carry(x[i], r, at, at);
    }
}

void bi_dock_align(double (*x)[3], const double (*to)[3], int32_t n)
{
    double from[3], onto[3], h[9] = {0}, work[BI_EDM_WORK], r[9];
    mean_of((const double(*)[3])x, n, from);
    mean_of(to, n, onto);
    for (int32_t i = 0; i < n; i++)
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                h[3 * a + b] += (x[i][a] - from[a]) * (to[i][b] - onto[b]);
    bi_edm_rotation(h, work, r);
    for (int32_t i = 0; i < n; i++)
        carry(x[i], r, from, onto);
}

void bi_dock_pose_start(double (*x)[3], const struct bi_dock_ligand *l,
                        const struct bi_dock_schedule *s, double receptor_spread,
                        const struct bi_dock_place *at, double *angles)
{
    const double pi = 3.14159265358979323846;
    const double spread = s->start_spread < 0 ? -s->start_spread * s->high[BI_DOCK_SHIFT]
                                              : s->start_spread * receptor_spread / 1.73;
    struct bi_dock_place start = *at;
    double q[4], length = 0, vector[3], mean[3], shift[3];
    start.step = BI_DOCK_START;
    memcpy(x, l->x, (size_t)l->n * sizeof *x);
    for (int32_t t = 0; t < l->n_torsions; t++)
        angles[t] = pi * (2 * bi_dock_uniform(&start, BI_DOCK_TORSION, (uint32_t)t) - 1);
    bi_dock_twist(x, l, angles);
    for (int k = 0; k < 4; k++) {
        q[k] = bi_dock_normal(&start, BI_DOCK_TURN, (uint32_t)k);
        length += q[k] * q[k];
    }
    /* a quaternion at random is a rotation at random: its axis, times its angle */
    length = sqrt(length);
    const double sine = sqrt(fmax(0, 1 - q[0] * q[0] / (length * length)));
    const double angle = 2 * atan2(sine, q[0] / length);
    for (int k = 0; k < 3; k++)
        vector[k] = sine > 0 ? angle * q[1 + k] / (length * sine) : 0;
    mean_of((const double(*)[3])x, l->n, mean);
    for (int k = 0; k < 3; k++)
        shift[k] = spread * bi_dock_normal(&start, BI_DOCK_SHIFT, (uint32_t)k) - mean[k];
    bi_dock_shift(x, l->n, vector, shift);
}

void bi_dock_draw(struct bi_dock_move *out, double *torsions, const struct bi_dock_ligand *l,
                  const struct bi_dock_place *at)
{
    for (uint32_t k = 0; k < 3; k++) {
        out->shift[k] = bi_dock_normal(at, BI_DOCK_SHIFT, k);
        out->turn[k] = bi_dock_normal(at, BI_DOCK_TURN, k);
    }
    for (int32_t t = 0; t < l->n_torsions; t++)
        torsions[t] = bi_dock_normal(at, BI_DOCK_TORSION, (uint32_t)t);
    out->torsions = torsions;
}

/* How far a step goes: `out` is not finite where a score is not. */
static double moved_by(const struct bi_dock_step *step, int kind, double score, double random)
{
    return step->score[kind] * score + (step->noise[kind] > 0 ? step->noise[kind] * random : 0);
}

bool bi_dock_pose_step(double (*x)[3], const struct bi_dock_ligand *l,
                       const struct bi_dock_step *step, const struct bi_dock_move *score,
                       const struct bi_dock_move *random, double *room)
{
    double(*moved)[3] = (double(*)[3])room, *angles = room + 3 * (size_t)l->n;
    double shift[3], turn[3];
    bool good = true;
    for (int k = 0; k < 3; k++) {
        shift[k] = moved_by(step, BI_DOCK_SHIFT, score->shift[k], random->shift[k]);
        turn[k] = moved_by(step, BI_DOCK_TURN, score->turn[k], random->turn[k]);
        good = good && isfinite(shift[k]) && (isfinite(turn[k]) || l->n == 1);
        turn[k] = l->n == 1 ? 0 : turn[k]; /* an atom has no direction */
    }
    for (int32_t t = 0; t < l->n_torsions; t++) {
        angles[t] = moved_by(step, BI_DOCK_TORSION, score->torsions[t], random->torsions[t]);
        good = good && isfinite(angles[t]);
    }
    if (!good)
        return false;
    memcpy(moved, x, (size_t)l->n * sizeof *moved);
    bi_dock_shift(moved, l->n, turn, shift);
    if (l->n_torsions) {
        double(*rigid)[3] = (double(*)[3])(angles + l->n_torsions);
        memcpy(rigid, moved, (size_t)l->n * sizeof *rigid);
        bi_dock_twist(moved, l, angles);
        bi_dock_align(moved, (const double(*)[3])rigid, l->n);
    }
    for (int32_t i = 0; i < l->n; i++)
        for (int k = 0; k < 3; k++)
            good = good && isfinite(moved[i][k]);
    if (good)
        memcpy(x, moved, (size_t)l->n * sizeof *x);
    return good;
}
