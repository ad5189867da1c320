/* motion.h - atoms that move: molecular dynamics and relaxation over any forces.
 *
 * Lengths are in angstrom, energies in eV, masses in dalton, and time in angstrom
 * sqrt(dalton / eV), which is about 10.18 fs: then force = mass x acceleration without a factor.
 * ASE has the same momenta. */
#ifndef BI_MOTION_H
#define BI_MOTION_H

#include "../../base/buf.h"
#include "../../base/file.h"
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
    double energy, stress[9]; /* that belong to the forces */
    void *memory;             /* holds the arrays */
    int n_threads;            /* that write a frame; 0 = 1 */
};

/* Fills energy, force and, where it can, stress. */
struct bi_forces {
    int (*compute)(void *user, struct bi_motion *m, struct bioinfer_error *err);
    void *user;
};

/* Copies a frame, at rest or with the momenta that it has; force, energy and stress are 0. NOMEM is
 * the only failure; *m is untouched then. */
int bi_motion_open(struct bi_motion *m, const struct bi_env *env, const struct bi_frame *frame,
                   struct bioinfer_error *err);
void bi_motion_close(struct bi_motion *m);                 /* NULL-safe */
double bi_motion_kinetic(const struct bi_motion *m);       /* eV */
double bi_motion_temperature(const struct bi_motion *m);   /* kelvin, of 3 n degrees of freedom */
double bi_motion_largest_force(const struct bi_motion *m); /* norm, eV / angstrom */
/* Appends the frame with its momenta (md) or without, as extended XYZ. `more`: words behind the
 * others. out->failed is set where there is no memory. */
void bi_motion_write(const struct bi_motion *m, const char *name, bool momenta, const char *more,
                     struct bi_buf *out);

/* ---- dynamics.c ---- */

struct bi_dynamics {
    double dt;          /* units of time */
    double temperature; /* kelvin */
    double friction;    /* 1 / unit of time; 0 = constant energy (velocity Verlet) */
    struct bi_random random;
};

/* Draws momenta of the temperature into m->momentum, without momentum of the whole (a single atom
 * keeps its own). */
void bi_dynamics_start(const struct bi_dynamics *d, struct bi_motion *m);
/* Makes step number `step`, from 1, from the forces at hand to those of the new places. Random
 * numbers are addressed by (step, atom), so a run that goes on gives the same bits.
 * NONFINITE: the atoms fly apart, said with the step; statuses of the forces. After a failure the
 * atoms are between two steps, and not to be used. */
int bi_dynamics_step(const struct bi_dynamics *d, struct bi_motion *m, uint64_t step,
                     const struct bi_forces *forces, struct bioinfer_error *err);
/* Fills *facts for kernels that make the same steps (kernels/motion.h), but for the unit of their
 * forces, which is 0. */
struct bi_motion_facts;
void bi_dynamics_facts(const struct bi_dynamics *d, struct bi_motion_facts *facts);

/* ---- trajectory.c ---- */

/* A file of frames that grows at its end, and is all that a run needs to go on. */
struct bi_trajectory {
    struct bi_append file;
    struct bi_buf text;
    const char *run; /* says what decides all numbers behind the first frame; has no quotes */
    double dt;       /* femtoseconds */
    double synced;   /* when: bi_now() */
};

struct bi_run {
    const struct bi_dynamics *dynamics;
    const struct bi_forces *forces;
    uint64_t steps, every; /* in all; from frame to frame */
    /* Makes n steps behind `step` at once; *made: whether all could be made. Else the atoms are as
     * they were, and the steps are made one by one, which tells why. NULL: they always are. */
    int (*leap)(void *user, struct bi_motion *m, uint64_t step, uint32_t n, bool *made,
                struct bioinfer_error *err);
    uint32_t most; /* steps of a leap */
    bool draw;     /* momenta are drawn */
    /* Is called behind each leap, and each step that is made alone: the first one, and those before
     * one that fails. */
    int (*each)(void *user, const struct bi_motion *m, uint64_t step, struct bioinfer_error *err);
    void *user;
};

/* Makes the file and the steps of a run. With `resume`, takes up a file that is there: goes on from
 * its last frame that is whole and lies at a multiple of `every` steps, and cuts what is behind it.
 * Each frame is handed to the system at once, and is on the disk some seconds later. Frames that
 * were written before a failure stay.
 * MISMATCH: it is of another run, or of other atoms than *m; INVALID: it is there, and not to be
 * taken up; statuses of bi_dynamics_step(). t->file is closed by bi_trajectory_close() in any
 * case. */
int bi_trajectory_run(struct bi_trajectory *t, const char *path, bool resume,
                      const struct bi_run *run, struct bi_motion *m, struct bioinfer_error *err);
void bi_trajectory_close(struct bi_trajectory *t); /* safe after a failed run */

/* ---- fire.c ---- */

struct bi_relaxation {
    double fmax;    /* eV / angstrom: relaxed where no force is larger */
    bool cell;      /* the cell moves too */
    uint64_t steps; /* at most */
};

/* Moves the atoms to a minimum of the energy. *done: the steps that were made; *relaxed: whether no
 * force, and with a cell no row of its virial / n, is larger than fmax; false with 0 returned: the
 * steps did not do. INVALID: `cell`, and not periodic along all axes; statuses of the forces.
 * Source: Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006); the cell as ASE's UnitCellFilter. */
int bi_relax(const struct bi_relaxation *r, struct bi_motion *m, const struct bi_forces *forces,
             uint64_t *done, bool *relaxed, struct bioinfer_error *err);

#endif
