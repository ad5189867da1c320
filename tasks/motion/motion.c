/* motion.c - atoms at a moment: from frames, and to them. */
#include "motion.h"

#include <math.h>
#include <string.h>

#include "../../kernels/fire.h"
#include "../../loaders/chem/molecule.h"
#include "../../writers/extxyz.h"

int bi_motion_open(struct bi_motion *m, const struct bi_env *env,
                   const struct bioinfer_atoms *atoms, struct bioinfer_error *err)
{
    const size_t n = atoms->n;
    double *x = bi_calloc(env, n, 10 * sizeof *x + sizeof *m->number + sizeof *m->held);
    if (!x)
        return bi_fail(err, BIOINFER_NOMEM, "%zu atoms", n);
    *m = (struct bi_motion){.env = env,
                            .n = (uint32_t)n,
                            .position = x,
                            .momentum = x + 3 * n,
                            .force = x + 6 * n,
                            .mass = x + 9 * n,
                            .number = (int32_t *)(x + 10 * n),
                            .held = (uint8_t *)((int32_t *)(x + 10 * n) + n),
                            .charge = atoms->charge,
                            .has_charge = atoms->has_charge != 0,
                            .memory = x};
    memcpy(m->position, atoms->positions, 3 * n * sizeof *x);
    memcpy(m->number, atoms->numbers, n * sizeof *m->number);
    if (atoms->cell)
        memcpy(m->cell, atoms->cell, sizeof m->cell);
    for (int k = 0; k < 3; k++)
        m->periodic[k] = atoms->periodic[k] != 0;
    for (size_t i = 0; i < n && atoms->held; i++)
        m->held[i] = atoms->held[i] & BI_HELD_ALL;
    if (atoms->momenta)
        memcpy(m->momentum, atoms->momenta, 3 * n * sizeof *x);
    for (size_t k = 0; k < 3 * n; k++)
        if (m->held[k / 3] >> k % 3 & 1) {
            m->momentum[k] = 0;
            m->n_held++;
        }
    for (size_t i = 0; i < n; i++)
        m->mass[i] = (double)bi_element((uint32_t)m->number[i])->mass;
    return 0;
}

/* Steps that one submission makes at most: some tenths of a second of a large system, and a caller
 * that wants to end the run need not wait for long. */
uint32_t bi_motion_most_steps(uint32_t n_atoms)
{
    const uint32_t n = 100000 / n_atoms;
    return n < 1 ? 1 : n < 100 ? n : 100;
}

void bi_motion_close(struct bi_motion *m)
{
    if (!m || !m->env)
        return;
    bi_free(m->env, m->memory);
    *m = (struct bi_motion){0};
}

double bi_motion_kinetic(const struct bi_motion *m)
{
    double sum = 0;
    for (size_t i = 0; i < m->n; i++) {
        const double *p = m->momentum + 3 * i;
        sum += (p[0] * p[0] + p[1] * p[1] + p[2] * p[2]) / (2 * m->mass[i]);
    }
    return sum;
}

double bi_motion_temperature(const struct bi_motion *m)
{
    const double free = 3.0 * m->n - (double)m->n_held;
    return free > 0 ? 2 * bi_motion_kinetic(m) / (free * BI_BOLTZMANN) : 0;
}

double bi_motion_largest_force(const struct bi_motion *m)
{
    double most = 0;
    for (size_t i = 0; i < m->n; i++) {
        double f[3];
        memcpy(f, m->force + 3 * i, sizeof f);
        bi_fire_hold(m->held[i], f);
        most = fmax(most, f[0] * f[0] + f[1] * f[1] + f[2] * f[2]);
    }
    return sqrt(most);
}

static const char *symbol(int32_t number)
{
    return bi_element((uint32_t)number)->symbol;
}

void bi_motion_write(const struct bi_motion *m, const char *name, bool momenta, const char *more,
                     struct bi_buf *out)
{
    const struct bi_extxyz frame = {.n = m->n,
                                    .number = m->number,
                                    .symbol = symbol,
                                    .position = m->position,
                                    .momentum = momenta ? m->momentum : NULL,
                                    .force = m->force,
                                    .held = m->n_held ? m->held : NULL,
                                    .cell = m->cell,
                                    .periodic = m->periodic,
                                    .stress = m->has_stress ? m->stress : NULL,
                                    .energy = m->energy,
                                    .charge = m->charge,
                                    .has_energy = true,
                                    .has_charge = m->has_charge,
                                    .name = name,
                                    .more = more,
                                    .n_threads = m->n_threads};
    bi_put_extxyz(out, &frame);
}
