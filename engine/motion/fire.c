/* fire.c - relaxation by the fast inertial relaxation engine, of atoms and of their cell.
 *
 * With a cell the variables are those of ASE's UnitCellFilter: places in the cell that was given,
 * and n times the gradient F of the deformation, cell = given cell x F^T. */
#include <math.h>
#include <string.h>

#include "motion.h"

static const double start_dt = 0.1, most_dt = 1, most_step = 0.2, /* angstrom */
    grow = 1.1, shrink = 0.5, start_mix = 0.1, less_mix = 0.99;
enum { PATIENCE = 5 }; /* steps downhill before dt grows */

struct state {
    struct bi_motion *m;
    const struct bi_forces *forces;
    bool cell;
    size_t n;           /* variables: 3 n atoms, and 9 of the cell */
    double *x, *v, *f;  /* [n] */
    double given[9];    /* cell */
    double gradient[9]; /* F */
};

static double determinant(const double a[9])
{
    return a[0] * (a[4] * a[8] - a[5] * a[7]) - a[1] * (a[3] * a[8] - a[5] * a[6]) +
           a[2] * (a[3] * a[7] - a[4] * a[6]);
}

static void invert(const double a[9], double out[9])
{
    const double d = determinant(a);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            const int i1 = (j + 1) % 3, i2 = (j + 2) % 3, j1 = (i + 1) % 3, j2 = (i + 2) % 3;
            out[3 * i + j] = (a[3 * i1 + j1] * a[3 * i2 + j2] - a[3 * i1 + j2] * a[3 * i2 + j1]) /
                             d;
        }
}

/* y = A x for rows x [n, 3], or with the transposed A. */
static void turn(const double a[9], bool transposed, const double *x, size_t n, double *y)
{
    for (size_t i = 0; i < n; i++) {
        double out[3];
        for (int r = 0; r < 3; r++) {
            out[r] = 0;
            for (int c = 0; c < 3; c++)
                out[r] += (transposed ? a[3 * c + r] : a[3 * r + c]) * x[3 * i + (size_t)c];
        }
        memcpy(y + 3 * i, out, sizeof out);
    }
}

/* Puts the variables into the atoms. */
static int take_variables(struct state *s, struct bioinfer_error *err)
{
    const size_t n = 3 * (size_t)s->m->n;
    if (!s->cell) {
        memcpy(s->m->position, s->x, n * sizeof *s->x);
        return 0;
    }
    for (int k = 0; k < 9; k++)
        s->gradient[k] = s->x[n + (size_t)k] / s->m->n;
    if (!(determinant(s->gradient) > 0.05) || determinant(s->gradient) > 20)
        return bi_fail(err, BIOINFER_NONFINITE, "the cell collapsed, or grew without end");
    turn(s->gradient, false, s->given, 3, s->m->cell); /* each vector: F v */
    turn(s->gradient, false, s->x, s->m->n, s->m->position);
    return 0;
}

/* Computes the forces on the variables; *most: the largest row. */
static int compute(struct state *s, double *most, struct bioinfer_error *err)
{
    const struct bi_motion *m = s->m;
    const size_t n = 3 * (size_t)m->n;
    int st = take_variables(s, err);
    if (st || (st = s->forces->compute(s->forces->user, s->m, err)))
        return st;
    if (s->cell && !m->has_stress)
        return bi_fail(err, BIOINFER_INVALID,
                       "a cell is to be relaxed, but the forces have no stress");
    if (s->cell) {
        const double volume = fabs(bi_cell_volume(m->cell));
        double virial[9], inverse[9], row[9];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                virial[3 * i + j] = -volume * (m->stress[3 * i + j] + m->stress[3 * j + i]) / 2;
        turn(s->gradient, true, m->force, m->n, s->f);
        invert(s->gradient, inverse);
        turn(inverse, false, virial, 3, row); /* solve(F, virial^T)^T: virial is symmetric */
        for (size_t k = 0; k < 9; k++)
            s->f[n + k] = row[k] / m->n;
    } else {
        memcpy(s->f, m->force, n * sizeof *s->f);
    }
    *most = 0;
    for (size_t i = 0; i < s->n; i += 3)
        *most = fmax(*most,
                     s->f[i] * s->f[i] + s->f[i + 1] * s->f[i + 1] + s->f[i + 2] * s->f[i + 2]);
    *most = sqrt(*most);
    return isfinite(*most) ? 0 : bi_fail(err, BIOINFER_NONFINITE, "a force is not finite");
}

static double dot(const double *a, const double *b, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* One step of the variables along the forces at hand. */
static void move(struct state *s, double *dt, double *mix, int *n_downhill)
{
    const double power = dot(s->f, s->v, s->n);
    double length;
    if (power > 0) {
        const double ratio = *mix * sqrt(dot(s->v, s->v, s->n) / dot(s->f, s->f, s->n));
        for (size_t i = 0; i < s->n; i++)
            s->v[i] = (1 - *mix) * s->v[i] + ratio * s->f[i];
        if (++*n_downhill > PATIENCE) {
            *dt = fmin(*dt * grow, most_dt);
            *mix *= less_mix;
        }
    } else {
        memset(s->v, 0, s->n * sizeof *s->v);
        *mix = start_mix;
        *dt *= *n_downhill < 0 ? 1 : shrink; /* the first step is no uphill one */
        *n_downhill = 0;
    }
    for (size_t i = 0; i < s->n; i++)
        s->v[i] += *dt * s->f[i];
    length = *dt * sqrt(dot(s->v, s->v, s->n));
    for (size_t i = 0; i < s->n; i++)
        s->x[i] += *dt * s->v[i] * (length > most_step ? most_step / length : 1);
}

int bi_relax(const struct bi_relaxation *r, struct bi_motion *m, const struct bi_forces *forces,
             uint64_t *done, bool *relaxed, struct bioinfer_error *err)
{
    struct state s = {.m = m, .forces = forces, .cell = r->cell, .n = 3 * (size_t)m->n};
    double dt = start_dt, mix = start_mix, most = 0;
    int n_downhill = -1, st;
    *done = 0;
    *relaxed = false;
    if (r->cell && !(m->periodic[0] && m->periodic[1] && m->periodic[2]))
        return bi_fail(
            err, BIOINFER_INVALID,
            "a cell is relaxed along all three axes: the frame is not periodic along all");
    s.n += r->cell ? 9 : 0;
    if (!(s.x = bi_calloc(m->env, s.n, 3 * sizeof *s.x)))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", m->n);
    s.v = s.x + s.n;
    s.f = s.v + s.n;
    memcpy(s.x, m->position, 3 * (size_t)m->n * sizeof *s.x);
    memcpy(s.given, m->cell, sizeof s.given);
    for (size_t k = 0; k < 3 && r->cell; k++)
        s.x[3 * (size_t)m->n + 4 * k] = m->n;
    for (;;) {
        if ((st = compute(&s, &most, err)))
            break;
        *relaxed = most <= r->fmax;
        if (*relaxed || *done == r->steps)
            break;
        move(&s, &dt, &mix, &n_downhill);
        ++*done;
    }
    bi_free(m->env, s.x);
    return st;
}
