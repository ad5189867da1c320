/* motion.c - atoms at a moment: from frames, and to them. */
#include "motion.h"

#include <math.h>
#include <string.h>

#include "../../../loaders/chem/molecule.h"
#include "../../../writers/extxyz.h"

int bi_motion_open(struct bi_motion *m, const struct bi_env *env, const struct bi_frame *frame,
                   struct bioinfer_error *err)
{
    const size_t n = frame->n;
    double *x = bi_calloc(env, n, 10 * sizeof *x + sizeof *m->number);
    if (!x)
        return bi_fail(err, BIOINFER_NOMEM, "%zu atoms", n);
    *m = (struct bi_motion){.env = env,
                            .n = frame->n,
                            .position = x,
                            .momentum = x + 3 * n,
                            .force = x + 6 * n,
                            .mass = x + 9 * n,
                            .number = (int32_t *)(x + 10 * n),
                            .charge = frame->charge,
                            .has_charge = frame->has_charge,
                            .memory = x};
    memcpy(m->position, frame->position, 3 * n * sizeof *x);
    memcpy(m->number, frame->number, n * sizeof *m->number);
    memcpy(m->cell, frame->cell, sizeof m->cell);
    memcpy(m->periodic, frame->periodic, sizeof m->periodic);
    if (frame->has_momenta)
        memcpy(m->momentum, frame->momentum, 3 * n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        m->mass[i] = (double)bi_element((uint32_t)m->number[i])->mass;
    return 0;
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
    return 2 * bi_motion_kinetic(m) / (3.0 * m->n * BI_BOLTZMANN);
}

double bi_motion_largest_force(const struct bi_motion *m)
{
    double most = 0;
    for (size_t i = 0; i < m->n; i++) {
        const double *f = m->force + 3 * i;
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
