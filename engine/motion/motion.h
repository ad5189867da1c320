/* motion.h - atoms that move: molecular dynamics and relaxation over any forces.
 *
 * Lengths are in angstrom, energies in eV, masses in dalton, and time in angstrom sqrt(dalton / eV),
 * which is about 10.18 fs: then force = mass x acceleration without a factor. Momenta are those that
 * ASE has. */
#ifndef BI_MOTION_H
#define BI_MOTION_H

#include "../../base/buf.h"
#include "../../base/random.h"
#include "../../loaders/atoms.h"

#define BI_FEMTOSECOND 0.09822694750253276 /* in units of time; CODATA 2018 */
#define BI_BOLTZMANN 8.617333262145179e-05 /* eV / K */

/* Atoms at a moment. Arrays are [n, 3] but for those said otherwise. */
struct bi_motion {
    const struct bi_env *env;
    uint32_t n;
    int32_t *number; /* [n] */
    double *mass;    /* [n] */
    double *position, *momentum, *force;
    double cell[9];
    bool periodic[3];
    double charge;
    bool has_charge, has_stress;
    double energy, stress[9]; /* of the forces */
    void *memory;             /* holds the arrays */
};

/* Fills energy, force and, where it can, stress. */
struct bi_forces {
    int (*compute)(void *user, struct bi_motion *m, struct bioinfer_error *err);
    void *user;
};

/* A frame at rest, or with the momenta that it has. */
int bi_motion_open(struct bi_motion *m, const struct bi_env *env, const struct bi_frame *frame,
                   struct bioinfer_error *err);
void bi_motion_close(struct bi_motion *m);               /* NULL-safe */
double bi_motion_kinetic(const struct bi_motion *m);     /* eV */
double bi_motion_temperature(const struct bi_motion *m); /* kelvin, of 3 n degrees of freedom */
double bi_motion_largest_force(const struct bi_motion *m);
/* Appends the frame with its momenta (md) or without. `more`: words behind the others. */
void bi_motion_write(const struct bi_motion *m, const char *name, bool momenta, const char *more,
                     struct bi_buf *out);

/* ---- dynamics.c ---- */

struct bi_dynamics {
    double dt;          /* units of time */
    double temperature; /* kelvin */
    double friction;    /* 1 / unit of time; 0 = constant energy (velocity Verlet) */
    struct bi_random random;
};

/* Draws momenta of the temperature, without momentum of the whole. */
void bi_dynamics_start(const struct bi_dynamics *d, struct bi_motion *m);
/* Makes step number `step`, from 1, from the forces at hand to those of the new places. Random
 * numbers are addressed by (step, atom), so a run that goes on gives the same bits.
 * NONFINITE: the atoms fly apart, said with the step; statuses of the forces. */
int bi_dynamics_step(const struct bi_dynamics *d, struct bi_motion *m, uint64_t step,
                     const struct bi_forces *forces, struct bioinfer_error *err);

/* ---- fire.c ---- */

struct bi_relaxation {
    double fmax;    /* eV / angstrom: relaxed where no force is larger */
    bool cell;      /* the cell moves too */
    uint64_t steps; /* at most */
};

/* Moves the atoms to a minimum of the energy. *done: the steps that were made; *relaxed: whether no
 * force, and with a cell no row of its virial / n, is larger than fmax.
 * Source: Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006); the cell as ASE's UnitCellFilter. */
int bi_relax(const struct bi_relaxation *r, struct bi_motion *m, const struct bi_forces *forces,
             uint64_t *done, bool *relaxed, struct bioinfer_error *err);

#endif
