/* lennard_jones.h - forces for tests of motion, where every number can be checked by hand. */
#ifndef TEST_LENNARD_JONES_H
#define TEST_LENNARD_JONES_H

#include <math.h>
#include <string.h>

#include "../../tasks/motion/motion.h"
#include "../../loaders/neighbours.h"

struct lennard_jones {
    struct bi_neighbours near;
    double epsilon, sigma, cutoff;
    long n_calls;
};

/* E = sum over pairs of 4 epsilon (s^12 - s^6 - the same at the cutoff), s = sigma / r. */
static int lennard_jones(void *user, struct bi_motion *m, struct bioinfer_error *err)
{
    struct lennard_jones *lj = user;
    const double at6 = pow(lj->sigma / lj->cutoff, 6);
    const double volume = fabs(bi_cell_volume(m->cell));
    int st;
    lj->near.env = m->env;
    lj->n_calls++;
    m->energy = 0;
    memset(m->force, 0, 3 * (size_t)m->n * sizeof *m->force);
    memset(m->stress, 0, sizeof m->stress);
    m->has_stress = volume > 0;
    if ((st = bi_neighbours_find(&lj->near, m->n, m->position, m->cell, m->periodic, lj->cutoff, 0,
                                 err)))
        return st;
    for (uint32_t i = 0; i < m->n; i++)
        for (uint64_t e = lj->near.row_start[i]; e < lj->near.row_start[i + 1]; e++) {
            const int32_t *s = lj->near.shift[e];
            double d[3], r2 = 0, s6, slope;
            for (int k = 0; k < 3; k++) {
                d[k] = m->position[3 * lj->near.col[e] + k] - m->position[3 * i + k] +
                       (s[0] * m->cell[k] + s[1] * m->cell[3 + k] + s[2] * m->cell[6 + k]);
                r2 += d[k] * d[k];
            }
            s6 = pow(lj->sigma * lj->sigma / r2, 3);
            slope = -24 * lj->epsilon * (2 * s6 * s6 - s6) / r2; /* dE/dr / r */
            m->energy += 2 * lj->epsilon * (s6 * s6 - s6 - (at6 * at6 - at6));
            for (int k = 0; k < 3; k++) {
                m->force[3 * i + k] += slope * d[k];
                for (int j = 0; j < 3 && m->has_stress; j++)
                    m->stress[3 * k + j] += slope * d[k] * d[j] / (2 * volume);
            }
        }
    return 0;
}

#endif
