/* host_relax.h - a relaxation that the host makes step by step, over any forces: the steps of
 * kernels/fire.h, with the same bits. */
#ifndef TEST_HOST_RELAX_H
#define TEST_HOST_RELAX_H

#include <math.h>
#include <string.h>

#include "../../kernels/fire.h"
#include "../../tasks/motion/motion.h"

struct host_relax {
    double fmax;    /* eV / angstrom: relaxed where no force is larger */
    bool cell;      /* the cell moves too */
    uint64_t steps; /* at most */
};

struct state {
    struct bi_motion *m;
    const struct bi_forces *forces;
    struct bi_fire fire;
    struct bi_fire_atom *atoms; /* [n] */
    double *f;                  /* [n, 3] on the variables of the atoms */
    int of_cell;                /* how many variables the cell has: 9 or 0 */
};

/* Puts the variables into the atoms. */
static int take_variables(struct state *s, struct bioinfer_error *err)
{
    struct bi_motion *m = s->m;
    if (!bi_fire_take_cell(&s->fire, m->n))
        return bi_fail(err, BIOINFER_NONFINITE, "the cell collapsed, or grew without end");
    if (s->of_cell)
        memcpy(m->cell, s->fire.cell, sizeof m->cell);
    for (size_t i = 0; i < m->n; i++)
        bi_fire_position(&s->fire, s->atoms[i].x, m->position + 3 * i);
    return 0;
}

/* Computes the forces on the variables; *square: that of the largest row. */
static int forces_here(struct state *s, double *square, struct bioinfer_error *err)
{
    const struct bi_motion *m = s->m;
    int st = take_variables(s, err);
    if (st || (st = s->forces->compute(s->forces->user, s->m, err)))
        return st;
    if (s->of_cell && !m->has_stress)
        return bi_fail(err, BIOINFER_INVALID,
                       "a cell is to be relaxed, but the forces have no stress");
    if (s->of_cell)
        bi_fire_cell_forces(&s->fire, m->stress, m->n);
    *square = 0;
    for (size_t i = 0; i < m->n; i++) {
        bi_fire_force(&s->fire, m->force + 3 * i, s->f + 3 * i);
        bi_fire_hold(s->atoms[i].held, s->f + 3 * i);
        *square = bi_fire_larger(*square, bi_fire_square(s->f + 3 * i));
    }
    for (int k = 0; k < s->of_cell; k += 3)
        *square = bi_fire_larger(*square, bi_fire_square(s->fire.f + k));
    return isfinite(*square) ? 0 : bi_fail(err, BIOINFER_NONFINITE, "a force is not finite");
}

/* One step of the variables along the forces at hand. */
static void move_here(struct state *s)
{
    struct bi_fire *fire = &s->fire;
    const int64_t n = s->m->n, all = 3 * n + s->of_cell;
    double fv[BI_FIRE_LANES] = {0}, vv[BI_FIRE_LANES] = {0}, ff[BI_FIRE_LANES] = {0};
    double then[BI_FIRE_LANES] = {0};
    for (int64_t i = 0; i < n; i++)
        bi_fire_add(fv, vv, ff, 3 * i, s->f + 3 * i, s->atoms[i].v, 3);
    bi_fire_add(fv, vv, ff, 3 * n, fire->f, fire->v, s->of_cell);
    bi_fire_decide(fire, bi_fire_lanes(fv, all), bi_fire_lanes(vv, all), bi_fire_lanes(ff, all));
    for (int64_t i = 0; i < n; i++)
        bi_fire_add_velocities(fire, then, 3 * i, s->f + 3 * i, s->atoms[i].v, 3);
    bi_fire_add_velocities(fire, then, 3 * n, fire->f, fire->v, s->of_cell);
    bi_fire_limit(fire, bi_fire_lanes(then, all));
    for (int64_t i = 0; i < n; i++)
        bi_fire_go(fire, s->atoms[i].x, s->atoms[i].v, s->f + 3 * i, 3);
    bi_fire_go(fire, fire->x, fire->v, fire->f, s->of_cell);
}

/* Makes all steps. */
static int make_steps(struct state *s, struct bioinfer_error *err)
{
    double square;
    int st = 0;
    while (!st && !(st = forces_here(s, &square, err)) && !bi_fire_is_over(&s->fire, square))
        move_here(s);
    return st ? st : take_variables(s, err);
}

/* Moves the atoms to a minimum. *done: the steps that were made; *relaxed: they sufficed. */
static int host_relax(const struct host_relax *r, struct bi_motion *m,
                      const struct bi_forces *forces, uint64_t *done, bool *relaxed,
                      struct bioinfer_error *err)
{
    const size_t n = m->n;
    struct state s = {.m = m, .forces = forces, .of_cell = r->cell ? 9 : 0};
    int st;
    *done = 0;
    *relaxed = false;
    if (r->cell && !(m->periodic[0] && m->periodic[1] && m->periodic[2]))
        return bi_fail(
            err, BIOINFER_INVALID,
            "a cell is relaxed along all three axes: the frame is not periodic along all");
    if (!(s.atoms = bi_calloc(m->env, n, sizeof *s.atoms + 3 * sizeof *s.f)))
        return bi_fail(err, BIOINFER_NOMEM, "%u atoms", m->n);
    s.f = (double *)(s.atoms + n);
    s.fire.fmax = r->fmax;
    s.fire.steps = (double)r->steps;
    s.fire.cell_moves = r->cell;
    bi_fire_begin(&s.fire);
    for (size_t i = 0; i < n; i++) {
        memcpy(s.atoms[i].x, m->position + 3 * i, sizeof s.atoms[i].x);
        s.atoms[i].held = m->held[i];
    }
    memcpy(s.fire.given, m->cell, sizeof s.fire.given);
    for (size_t k = 0; k < 3 && r->cell; k++)
        s.fire.x[4 * k] = m->n;
    st = make_steps(&s, err);
    *done = (uint64_t)s.fire.made;
    *relaxed = s.fire.end > BI_FIRE_GOES_ON && s.fire.end < BI_FIRE_STEPS;
    bi_free(m->env, s.atoms);
    return st;
}

#endif
