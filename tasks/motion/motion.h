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

#define BI_BOLTZMANN 8.617333262145179e-05 /* eV / K */

/* Atoms at a moment. Arrays are [n, 3] but for those said otherwise. */
struct bi_motion {
    const struct bi_env *env;
    uint32_t n;
    int32_t *number; /* [n] */
    uint8_t *held;   /* [n] bit k: component k of the place is fixed */
    double *mass;    /* [n] */
    double *position, *momentum, *force;
    double cell[9];
    bool periodic[3];
    double charge;
    bool has_charge, has_stress;
    uint64_t n_held;          /* components that are fixed, of 3 n; their momenta are 0 */
    double energy, stress[9]; /* that belong to the forces */
    void *memory;             /* holds the arrays */
    int n_threads;            /* that write a frame; 0 = 1 */
};

/* Fills energy, force and, where it can, stress. */
struct bi_forces {
    int (*compute)(void *user, struct bi_motion *m, struct bioinfer_error *err);
    void *user;
};

/* Copies a frame, at rest or with the momenta that it has, and what it fixes; force, energy and
 * stress are 0. NOMEM is the only failure; *m is untouched then. */
int bi_motion_open(struct bi_motion *m, const struct bi_env *env, const struct bi_frame *frame,
                   struct bioinfer_error *err);
void bi_motion_close(struct bi_motion *m);               /* NULL-safe; zeros are left */
double bi_motion_kinetic(const struct bi_motion *m);     /* eV */
double bi_motion_temperature(const struct bi_motion *m); /* kelvin, of 3 n - n_held degrees of
                                                          * freedom; 0 without any */
/* Norm, eV / angstrom, over what is not fixed; 0 without atoms. A force that is NaN is passed
 * over. */
double bi_motion_largest_force(const struct bi_motion *m);
/* Appends the frame with its momenta (md) or without, as extended XYZ; the stress where there is
 * one. `more`: words behind the others, as they are. NULL: no name, no words. out->failed is set
 * where there is no memory. */
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
 * keeps its own). Where something is fixed, that has none, and the whole keeps its momentum, which
 * steps do not conserve then. */
void bi_dynamics_start(const struct bi_dynamics *d, struct bi_motion *m);
/* Makes step number `step`, from 1, from the forces at hand to those of the new places. Random
 * numbers are addressed by (step, atom), so a run that goes on gives the same bits.
 * NONFINITE: the atoms fly apart, or a force is not finite; statuses of the forces. All are said
 * with the step. After a failure the atoms are between two steps, and not to be used. */
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
    struct bi_buf text, words;
    const char *run; /* says what decides all numbers behind the first frame; has no quotes */
    double dt;       /* femtoseconds */
    double synced;   /* when: bi_now() */
    bool made;       /* the file was not there before */
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
     * one that fails; behind the frame of that step, where it has one. Other than 0 ends the run
     * with that status. NULL = nothing. */
    int (*each)(void *user, const struct bi_motion *m, uint64_t step, struct bioinfer_error *err);
    void *user;
};

/* Makes the file and the steps of a run: frame 0, one each `every` steps, and one behind the last
 * step. A file that is there and not empty is taken up with `resume`: the run goes on from its last
 * frame that is whole and lies at a multiple of `every` steps, and cuts what is behind it; 0 with
 * no step made where that is the end. Each frame is handed to the system at once, and is on the
 * disk some seconds later, or when this returns. Frames that were written before a failure stay.
 * MISMATCH: it is of another run, of other atoms than *m, has a damaged frame before others, or no
 * frame to go on from; INVALID: it is there, also when empty, and `resume` is not set, or it has
 * frames of steps after the last one of this run; a file that is refused stays as it is. Statuses
 * of files, forces, bi_dynamics_step(), leap and each. After a failure *m is not to be used. The
 * caller has set run and dt; t->file is closed by bi_trajectory_close() in any case. */
int bi_trajectory_run(struct bi_trajectory *t, const char *path, bool resume,
                      const struct bi_run *run, struct bi_motion *m, struct bioinfer_error *err);
/* Closes what bi_trajectory_run() opened, also one that failed, and may be called again; not of a
 * trajectory that was never run. Frames that are not on the disk yet are with the system. */
void bi_trajectory_close(struct bi_trajectory *t);

/* ---- fire.c ---- */

struct bi_fire; /* kernels/fire.h */
struct bi_fire_atom;

struct bi_relaxation {
    double fmax;    /* eV / angstrom: relaxed where no force is larger */
    bool cell;      /* the cell moves too */
    uint64_t steps; /* at most */
    /* Finds forces n times at once, and makes the step behind each unless it is over (*fire says
     * so, and then energy, forces and stress of *m are those of the last forces). *made: whether
     * all could be made; else *fire and the atoms are as they were, and the steps are made one by
     * one, which tells why. *m has the places and the cell that *fire and the atoms say. NULL: they
     * always are. Statuses are handed on. */
    int (*leap)(void *user, struct bi_motion *m, struct bi_fire *fire, struct bi_fire_atom *atoms,
                uint32_t n, bool *made, struct bioinfer_error *err);
    void *user;
    /* Is called behind each leap, and each step that is made alone; other than 0 ends the
     * relaxation with that status. NULL = nothing. */
    int (*each)(void *user, uint64_t step, double largest, struct bioinfer_error *err);
    void *each_user;
    /* Forces of a leap, at least 1. There are more the more steps were made: those that are left of
     * the last leap are for nothing. */
    uint32_t least, most;
};

/* Moves the atoms to a minimum of the energy. *done: the steps that were made; *relaxed: whether no
 * force, and with a cell no row of its virial / n, is larger than fmax; false with 0 returned: the
 * steps did not do. Energy and forces of *m are those of its places then. If no steps are allowed,
 * the forces are computed all the same. INVALID: `cell`, and not periodic along all axes, or the
 * forces have no stress; NONFINITE: a force is not finite, or the cell collapses or grows without
 * end; statuses of the forces and of leap. After a failure the atoms are somewhere on their way.
 * Source: Bitzek et al., Phys. Rev. Lett. 97, 170201 (2006); the cell as ASE's UnitCellFilter. */
int bi_relax(const struct bi_relaxation *r, struct bi_motion *m, const struct bi_forces *forces,
             uint64_t *done, bool *relaxed, struct bioinfer_error *err);

/* ---- run.c ---- */

/* The same over the forces of a task of bioinfer_energy_open(), which is not checked and the
 * caller has entered, for a frame of this name. Steps are made on its device unless r->most is 0;
 * leap and user of *r are not read. INVALID: the task gives no forces. */
int bi_relax_on(bioinfer_task *energy, const char *id, const struct bi_relaxation *r,
                struct bi_motion *m, uint64_t *done, bool *relaxed, struct bioinfer_error *err);

#endif
