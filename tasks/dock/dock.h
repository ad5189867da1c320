/* dock.h - what the files of docking by DiffDock share, beside its networks.
 *
 *   ligand.c     features of a ligand's atoms, its bonds, the bonds that turn
 *   receptor.c   residues of a protein, and its atoms, with their features
 *   noise.c      the times of steps, their noise, its expected scores, random numbers
 *   recorded.c   random numbers of a file instead of our own
 *   pose.c       a pose that starts, and one that takes a step
 *   sample.c     poses of a ligand, by a score network
 *
 * Source: gcorso/DiffDock b4704d9 (main, as for v1.1, DiffDock-L) and tag v1.0. */
#ifndef BI_DOCK_H
#define BI_DOCK_H

#include "../../base/arena.h"
#include "../../loaders/chem/molecule.h"
#include "../../loaders/structure.h"
#include "../../models/diffdock/diffdock.h"

/* ---- ligand.c ---- */

enum {
    BI_DOCK_LIGAND_FEATURES = 16,
    BI_DOCK_MOST_ATOMS = 150, /* a ligand's */
    BI_DOCK_MOST_TORSIONS = 60
};

/* A ligand as the networks see it. Arrays are kept from one ligand to the next. Bonds 2 k and
 * 2 k + 1 are bond k of the molecule, from a to b and back. Torsion t turns the atoms i with
 * moved[t * n + i] about the bond from u to v, of which v is one of them. */
struct bi_dock_ligand {
    const struct bi_env *env;
    int32_t n, n_bonds, n_torsions;
    int32_t (*features)[BI_DOCK_LIGAND_FEATURES];
    int32_t (*bonds)[2];
    int32_t *bond_type; /* single, double, triple, aromatic */
    int32_t (*torsions)[2];
    uint8_t *moved;
    double (*x)[3]; /* angstrom, from the mean of the atoms */
    int32_t *part;  /* room for a search */
    size_t cap_features, cap_bonds, cap_bond_type, cap_torsions, cap_moved, cap_x, cap_part;
};

/* Fills *out, whose env is set. EMPTY: no heavy atom; FORMAT: all z are 0, or an atom is beyond
 * 10,000 angstrom; UNSUPPORTED: several parts, a dative bond or one of order 0; LIMIT: too many
 * atoms or torsions. */
int bi_dock_ligand_make(struct bi_dock_ligand *out, const struct bi_molecule *mol,
                        struct bioinfer_error *err);
void bi_dock_ligand_free(struct bi_dock_ligand *ligand); /* safe on zeros, not on NULL */

/* ---- receptor.c ---- */

enum { BI_DOCK_ATOM_FEATURES = 4, BI_DOCK_RESIDUE_TYPES = 38, BI_DOCK_MOST_RESIDUES = 3000 };

/* The program whose rules and conventions hold. */
enum bi_dock_release { BI_DOCK_V10, BI_DOCK_V11 };

/* Residues chain by chain, in the order in which chains begin. Positions are from `centre`. */
struct bi_dock_receptor {
    struct bi_arena arena;
    int32_t n, n_atoms, n_chains;
    double centre[3]; /* mean of all CA, angstrom, as in the file */
    double spread;    /* root of the mean square of ca */
    double (*ca)[3];
    int32_t *type;        /* [n] 0 to 37 */
    char *letters;        /* [n] what the language model reads */
    int32_t *chain_start; /* [n_chains + 1] residues of chain c: chain_start[c] and on */
    double (*atoms)[3];
    int32_t (*features)[BI_DOCK_ATOM_FEATURES];
    int32_t *residue; /* [n_atoms] */
    /* counts for messages */
    int32_t n_models;
    int32_t n_misc;       /* residues whose name is not in the table of types */
    int32_t n_mapped;     /* residues that are read as another one, such as MSE as MET */
    int32_t n_left_out;   /* residues with N, CA and C that the rules leave out */
    int32_t n_incomplete; /* residues of protein that lack CA, by V10 N or C as well, left out */
};

/* Reads the first model. V10: residues of any name but HOH with N, CA and C, all their heavy atoms,
 * of alternates the highest occupancy. V11: residues that ProDy calls protein with a CA, atoms by a
 * table for each residue, alternates none, A and 1, else the first. EMPTY: no residue; UNSUPPORTED:
 * a single one; LIMIT: more than BI_DOCK_MOST_RESIDUES; FORMAT: a number or position that cannot be
 * read, or is beyond 10,000 angstrom. The arena's env is set; the caller resets it. */
int bi_dock_receptor_make(struct bi_dock_receptor *out, const struct bi_structure *structure,
                          enum bi_dock_release release, struct bioinfer_error *err);

/* ---- noise.c ---- */

/* The parts of a pose that a step changes. */
enum bi_dock_kind { BI_DOCK_SHIFT, BI_DOCK_TURN, BI_DOCK_TORSION, BI_DOCK_KINDS };

/* Sampling at a temperature (Chroma's low-temperature sampling); temperature 1: the plain
 * equation. */
struct bi_dock_cold {
    double temperature, psi, data; /* data: where between lowest and highest noise the data lie */
};

struct bi_dock_schedule {
    enum bi_dock_release release;
    int n_steps;    /* times are 1 - i / n_steps */
    int n_run;      /* steps that are run, from the first on */
    bool quiet_end; /* no noise in the last step that is run */
    /* spread of the first shift, in units of the receptor's spread / 1.73; below 0: minus it, in
     * units of the highest noise */
    double start_spread;
    double low[BI_DOCK_KINDS], high[BI_DOCK_KINDS]; /* noise at time 0 and time 1 */
    struct bi_dock_cold cold[BI_DOCK_KINDS];
};

/* A step: the new pose is moved by `score` times the network's score and `noise` times a random
 * number. */
struct bi_dock_step {
    double time, sigma[BI_DOCK_KINDS];
    double score[BI_DOCK_KINDS], noise[BI_DOCK_KINDS];
    double turn_norm, torsion_norm; /* expected norm, and expected square, of such scores */
};

/* The settings of the release's documented command. Both get the noise of v1.0's weights; v1.1's
 * weights come with theirs. */
void bi_dock_schedule_fill(struct bi_dock_schedule *out, enum bi_dock_release release);
/* INVALID: a number of the schedule is out of range; the message names it. */
int bi_dock_schedule_check(const struct bi_dock_schedule *s, struct bioinfer_error *err);
/* Step i of those that are run; n_torsions = 0: without the norm of torsions. */
void bi_dock_step_fill(struct bi_dock_step *out, const struct bi_dock_schedule *s, int i);
/* The root mean square of the score of a rotation whose noise is sigma, by the release's table, and
 * the mean square of a torsion's score, as an integral. */
double bi_dock_turn_norm(enum bi_dock_release release, double sigma);
double bi_dock_torsion_norm(double sigma);

/* A random number of variance 1 and mean 0, and one in (0, 1), by what it is for: the k-th of a
 * kind, at a step (BI_DOCK_START: before the first), of a sample of a record. */
enum { BI_DOCK_START = 0xffff, BI_DOCK_MOST_SAMPLES = 0xffff, BI_DOCK_MOST_STEPS = 1000 };
struct bi_dock_place {
    uint64_t seed, record;
    uint32_t sample, step;
};
double bi_dock_normal(const struct bi_dock_place *at, enum bi_dock_kind kind, uint32_t k);
double bi_dock_uniform(const struct bi_dock_place *at, enum bi_dock_kind kind, uint32_t k);

/* ---- recorded.c ---- */

/* Random numbers of another program: for each step and sample 3 of the shift, 3 of the turn, and
 * one of each torsion; and, where the file has them, the poses that samples start from. */
struct bi_dock_recorded {
    struct bi_arena arena;
    int32_t n_steps, n_samples, n_torsions, n_atoms;
    const double *noise;      /* [n_steps][n_samples][6 + n_torsions] */
    const double (*start)[3]; /* [n_samples][n_atoms], in the receptor's frame; NULL = none */
};

/* Reads an npz that is not compressed: `noise` [steps, samples, 6 + torsions] and perhaps `start`
 * [samples, atoms, 3], float32 or float64 in C order, finite. MISMATCH: other sizes than expected
 * of this ligand (samples and steps: at least as many); FORMAT, NOT_FOUND, UNSUPPORTED. The arena's
 * env is set; the caller resets it. */
int bi_dock_recorded_read(struct bi_dock_recorded *out, const char *path, int n_steps,
                          int n_samples, const struct bi_dock_ligand *ligand,
                          struct bioinfer_error *err);

/* ---- pose.c ---- */

/* Scores of a pose, or random numbers for it: 3, 3 and one for each torsion. */
struct bi_dock_move {
    double shift[3], turn[3];
    const double *torsions; /* [n_torsions] */
};

/* Rotates x [n][3] about the axis of `turn` by its length, around the mean, and shifts it. */
void bi_dock_shift(double (*x)[3], int32_t n, const double turn[3], const double shift[3]);
/* Turns each torsion in turn by its angle. */
void bi_dock_twist(double (*x)[3], const struct bi_dock_ligand *ligand, const double *angles);
/* Moves x rigidly to where it is nearest to `to`, both [n][3]. */
void bi_dock_align(double (*x)[3], const double (*to)[3], int32_t n);
/* Where a sample starts: torsions at random, turned at random, around the receptor's centre.
 * `angles` has room for n_torsions. */
void bi_dock_pose_start(double (*x)[3], const struct bi_dock_ligand *ligand,
                        const struct bi_dock_schedule *s, double receptor_spread,
                        const struct bi_dock_place *at, double *angles);
/* The random numbers of a step of a sample, as bi_dock_pose_step() wants them. torsions: room for
 * n_torsions, which *out points to. */
void bi_dock_draw(struct bi_dock_move *out, double *torsions, const struct bi_dock_ligand *ligand,
                  const struct bi_dock_place *at);
/* One step of a pose. room: [n][3] and n_torsions numbers. False: a score is not finite, or atoms
 * at both ends of a torsion coincide; the pose stays as it was. */
bool bi_dock_pose_step(double (*x)[3], const struct bi_dock_ligand *ligand,
                       const struct bi_dock_step *step, const struct bi_dock_move *score,
                       const struct bi_dock_move *random, double *room);

/* ---- sample.c ---- */

/* The steps of a schedule, with all that a score network wants of each. */
struct bi_dock_plan {
    struct bi_arena arena;
    struct bi_dock_schedule schedule;
    struct bi_dock_step *steps; /* [schedule.n_run] */
    float *times;               /* [schedule.n_run][time_width] */
    int time_width;
    bool no_torsion; /* the network knows no torsions, which stay as they are */
};
/* The schedule is copied. NOMEM, and INVALID as bi_dock_schedule_check(). The arena's env is set;
 * the caller resets it. */
int bi_dock_plan_make(struct bi_dock_plan *out, const struct bi_dock_schedule *schedule,
                      const struct bi_diffdock_settings *settings, struct bioinfer_error *err);

/* A sample of a ligand. */
struct bi_dock_sample {
    int64_t seed;
    int32_t number; /* from 0, in its seed */
    int status;     /* 0; NONFINITE: its scores were not finite; OUT_OF_RANGE: it went astray */
};

/* Everything that samples of a ligand are made with. */
struct bi_dock_run {
    const struct bi_dock_plan *plan;
    const struct bi_diffdock_receptor *receptor;
    double spread; /* the receptor's */
    const struct bi_dock_ligand *ligand;
    uint64_t record;                         /* a place of random numbers */
    const struct bi_dock_recorded *recorded; /* NULL = our own random numbers; sample i has row i */
    int n_threads;
    /* Asked before each step: other than 0 ends it all with CANCELLED; NULL = nobody is asked. */
    int (*ask)(void *user);
    /* Shows tests a pose after each step; NULL = nobody looks. */
    void (*moved)(void *user, int step, int sample, const double (*x)[3]);
    void *user;
};
/* Fills x [n][ligand->n], in the receptor's frame, and the samples' status. A sample does not
 * depend on the others; one that has a status has no pose. NOMEM, CANCELLED, and statuses of
 * bi_diffdock_score(). */
int bi_dock_sample(const struct bi_dock_run *run, struct bi_dock_sample *samples, int n,
                   double (*x)[3], struct bioinfer_error *err);
/* The networks' view of a ligand. */
struct bi_diffdock_ligand bi_dock_view(const struct bi_dock_ligand *ligand);

#endif
