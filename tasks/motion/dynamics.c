/* dynamics.c - molecular dynamics: velocity Verlet, and Langevin's as BAOAB.
 *
 *   B  p += dt/2 f        A  x += dt/2 p/m        O  p = c p + sqrt((1 - c^2) m k T) z
 *
 * Without friction O does nothing, and B A A B is velocity Verlet. kernels/motion.h makes the same
 * steps on a device, with the same bits.
 * Source: Leimkuhler and Matthews, Appl. Math. Res. Express 2013, 34. */
#include <math.h>

#include "../../kernels/motion.h"
#include "motion.h"

enum { STREAM_START = 1 }; /* draws have it; steps have those of BI_MOTION_STREAM */

/* Takes away the momenta of what is fixed. */
static void hold(struct bi_motion *m)
{
    for (size_t i = 0; i < m->n && m->n_held; i++)
        bi_motion_hold(m->held[i], m->momentum + 3 * i);
}

void bi_dynamics_start(const struct bi_dynamics *d, struct bi_motion *m)
{
    double sum[3] = {0}, mass = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const double width = sqrt(m->mass[i] * BI_BOLTZMANN * d->temperature);
        for (uint32_t k = 0; k < 3; k++) {
            double *p = &m->momentum[3 * (size_t)i + k];
            *p = width * bi_random_normal_at(&d->random, STREAM_START, i, k);
            sum[k] += *p;
        }
        mass += m->mass[i];
    }
    for (size_t i = 0; i < m->n && m->n > 1 && !m->n_held; i++)
        for (size_t k = 0; k < 3; k++)
            m->momentum[3 * i + k] -= sum[k] * (m->mass[i] / mass);
    hold(m);
}

static void push(struct bi_motion *m, double dt)
{
    for (size_t i = 0; i < 3 * (size_t)m->n; i++)
        m->momentum[i] += dt * m->force[i];
    hold(m);
}

static void drift(struct bi_motion *m, double dt)
{
    for (size_t i = 0; i < m->n; i++)
        for (size_t k = 3 * i; k < 3 * i + 3; k++)
            m->position[k] += dt * m->momentum[k] / m->mass[i];
}

static double keep_of(const struct bi_dynamics *d)
{
    return exp(-d->friction * d->dt);
}

static double heat_of(const struct bi_dynamics *d)
{
    const double keep = keep_of(d);
    return (1 - keep * keep) * BI_BOLTZMANN * d->temperature;
}

static void jostle(const struct bi_dynamics *d, struct bi_motion *m, uint64_t step)
{
    const double keep = keep_of(d), heat = heat_of(d);
    for (uint32_t i = 0; i < m->n; i++) {
        const double width = sqrt(heat * m->mass[i]);
        for (uint32_t k = 0; k < 3; k++) {
            double *p = &m->momentum[3 * (size_t)i + k];
            *p = keep * *p + width * bi_motion_normal(d->random.seed, step, 3 * i + k);
        }
    }
    hold(m);
}

void bi_dynamics_facts(const struct bi_dynamics *d, struct bi_motion_facts *facts)
{
    *facts = (struct bi_motion_facts){.dt = d->dt,
                                      .keep = d->friction > 0 ? keep_of(d) : 1,
                                      .heat = d->friction > 0 ? heat_of(d) : 0,
                                      .seed = d->random.seed};
}

/* Do all atoms move like atoms? Looks at momenta before they are followed. */
static int check(const struct bi_dynamics *d, const struct bi_motion *m, uint64_t step,
                 struct bioinfer_error *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const double *p = m->momentum + 3 * i;
        if (bi_motion_flies(d->dt, p, m->mass[i]))
            return bi_fail(err, BIOINFER_NONFINITE,
                           "step %llu: atom %zu would move %g angstrom in one step: the atoms fly "
                           "apart",
                           (unsigned long long)step, i + 1,
                           d->dt * sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / m->mass[i]);
    }
    return 0;
}

int bi_dynamics_step(const struct bi_dynamics *d, struct bi_motion *m, uint64_t step,
                     const struct bi_forces *forces, struct bioinfer_error *err)
{
    struct bioinfer_error why = {0};
    int st;
    push(m, d->dt / 2);
    if ((st = check(d, m, step, err)))
        return st;
    drift(m, d->dt / 2);
    if (d->friction > 0) {
        jostle(d, m, step);
        if ((st = check(d, m, step, err)))
            return st;
    }
    drift(m, d->dt / 2);
    if ((st = forces->compute(forces->user, m, &why)))
        return bi_fail(err, st, "step %llu: %s", (unsigned long long)step, why.text);
    for (size_t i = 0; i < 3 * (size_t)m->n; i++)
        if (!isfinite(m->force[i]))
            return bi_fail(err, BIOINFER_NONFINITE,
                           "step %llu: the force on atom %zu is not finite",
                           (unsigned long long)step, i / 3 + 1);
    push(m, d->dt / 2);
    return 0;
}
