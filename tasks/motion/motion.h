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

/* Copies atoms, which were checked, at rest or with the momenta that they have, and what is fixed;
 * force, energy and stress are 0. NOMEM is the only failure; *m is untouched then. */
int bi_motion_open(struct bi_motion *m, const struct bi_env *env,
                   const struct bioinfer_atoms *atoms, struct bioinfer_error *err);
void bi_motion_close(struct bi_motion *m);               /* NULL-safe; zeros are left */
double bi_motion_kinetic(const struct bi_motion *m);     /* eV */
double bi_motion_temperature(const struct bi_motion *m); /* kelvin, of 3 n - n_held degrees of
                                                          * freedom; 0 without any */
uint32_t bi_motion_most_steps(uint32_t n_atoms); /* that one submission makes, 1 to 100; n_atoms is
                                                  * not 0 */
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

/* A file of frames that grows at its end, and is all that a run needs to go on. Zero-initialise. */
struct bi_trajectory {
    const char *path; /* the caller sets these five */
    const char *run;  /* words for all that decides the numbers after the first frame; no quotes */
    double dt;        /* femtoseconds */
    uint64_t steps, every; /* in all; from frame to frame */
    bool many;             /* one of many: the file is open only while a frame is written */

    const struct bi_env *env; /* NULL: it was not opened */
    struct bi_append file;
    uint64_t size; /* that this run left the file with */
    int lock;      /* on the file, unless it is one of many; or -1 */
    struct bi_buf text, words;
    double synced;        /* when: bi_now() */
    bool made, has_frame; /* the file was not there before; it has a frame to go on from */
};

/* Makes the file, or takes up one that is there with `resume`: *m becomes the last frame that is
 * whole and lies at a multiple of `every` steps, *step its step, and what follows it is cut. *step
 * is 0 also where the file has no frame, which t->has_frame tells. MISMATCH: it is of another run,
 * of other atoms than *m, has a damaged frame before others, or no frame to go on from; INVALID: it
 * is there, also when empty, and `resume` is not set, or it has frames of steps after the last one
 * of this run; IO: another run has it, which is told of one of many when a frame is put. A file
 * that is refused stays as it is. Statuses of files. After a failure *m is not
 * to be used. bi_trajectory_close() follows in any case. */
int bi_trajectory_open(struct bi_trajectory *t, const struct bi_env *env, bool resume,
                       struct bi_motion *m, uint64_t *step, struct bioinfer_error *err);
/* Adds a frame. It is handed to the system at once, and is on the disk some seconds later, or, of
 * the last step, when this returns. */
int bi_trajectory_put(struct bi_trajectory *t, const struct bi_motion *m, uint64_t step,
                      struct bioinfer_error *err);
/* Closes the file, and removes one that was made and has no frame. May be called again. */
void bi_trajectory_close(struct bi_trajectory *t);

/* ---- for tests ---- */

/* Sets how many forces each chunk of the task relax finds; 0 = as usual. */
void bi_relax_set_chunk(bioinfer_task *t, int32_t n);

#endif
