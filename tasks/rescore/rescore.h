/* rescore.h - what the files of the task rescore share.
 *
 *   task.c       records in, results out
 *   site.c       atoms of a receptor, their types, cells to find them in
 *   ligand.c     atoms of a pose, their types, rotors, pairs within it
 *   vina.c       the scoring function
 *   minimise.c   poses moved to a minimum of it
 *   checks.c     what is wrong with a pose
 *   rate.c       all of these for one pose
 *   sdf.c        a pose as a text
 *
 * Source of the function and its constants: Trott and Olson 2010, and AutoDock Vina 1.2.7. */
#ifndef BI_RESCORE_H
#define BI_RESCORE_H

#include "../../base/arena.h"
#include "../../base/buf.h"
#include "../../loaders/chem/molecule.h"
#include "../../loaders/structure.h"

/* X(NAME, tenths of an angstrom, hydrophobic, donor, acceptor): the types of atoms. */
#define BI_VINA_TYPES(X)                                                                           \
    X(C_H, 19, 1, 0, 0)                                                                            \
    X(C_P, 19, 0, 0, 0)                                                                            \
    X(N_P, 18, 0, 0, 0)                                                                            \
    X(N_D, 18, 0, 1, 0)                                                                            \
    X(N_A, 18, 0, 0, 1)                                                                            \
    X(N_DA, 18, 0, 1, 1)                                                                           \
    X(O_A, 17, 0, 0, 1)                                                                            \
    X(O_DA, 17, 0, 1, 1)                                                                           \
    X(S, 20, 0, 0, 0)                                                                              \
    X(P, 21, 0, 0, 0)                                                                              \
    X(F, 15, 1, 0, 0)                                                                              \
    X(CL, 18, 1, 0, 0)                                                                             \
    X(BR, 20, 1, 0, 0)                                                                             \
    X(I, 22, 1, 0, 0)                                                                              \
    X(SI, 22, 0, 0, 0)                                                                             \
    X(AT, 23, 0, 0, 0)                                                                             \
    X(B, 19, 0, 0, 0)                                                                              \
    X(METAL, 12, 0, 1, 0)
enum bi_vina_type {
#define BI_X(name, radius, hydrophobic, donor, acceptor) BI_VINA_##name,
    BI_VINA_TYPES(BI_X)
#undef BI_X
        BI_VINA_N_TYPES,
    BI_VINA_NONE = BI_VINA_N_TYPES /* an element that the function does not know */
};

/* ---- site.c ---- */

/* Atoms by cubes of space: cube c has start[c] ... start[c + 1] - 1. */
struct bi_cells {
    double low[3], edge;
    int32_t n[3], *start;
};

/* Heavy atoms of a receptor, cube by cube. */
struct bi_site {
    struct bi_arena arena;
    struct bi_cells cells;
    int32_t n;
    double (*x)[3]; /* [n] angstrom */
    uint8_t *type;  /* [n] enum bi_vina_type */
    uint8_t *element;
    int32_t n_hetero;     /* atoms of groups that are left out */
    int32_t n_ignored;    /* atoms whose element the function does not know, left out */
    int32_t n_alternates; /* atoms of further alternate locations, which are left out */
    int32_t n_bare;       /* residues without a hydrogen, whose donors are told by their names */
};

/* Takes the atoms of a structure, which need not stay: of the first model, of alternate locations
 * none, A and 1. Left out are water and, without `hetero`, HETATM groups that are no residues of
 * proteins and have more than one atom. FORMAT: a position that could not be read, or is beyond
 * 10^6; EMPTY: no atom is left. The arena's env is set; it is freed by the caller. */
int bi_site_build(struct bi_site *out, const struct bi_structure *structure, bool hetero,
                  struct bioinfer_error *err);
/* Says in the log which atoms were left out. */
void bi_site_tell(const struct bi_env *env, const char *path, const struct bi_structure *structure,
                  const struct bi_site *site);
/* The cubes that a ball of this radius about x touches, lowest and highest along each axis; false:
 * it touches none. */
bool bi_cells_range(const struct bi_cells *cells, const double x[3], double radius, int32_t from[3],
                    int32_t to[3]);
/* The type of an element that is neither C, N nor O, of any other BI_VINA_NONE. */
int bi_vina_type_of(uint32_t element);

/* ---- ligand.c ---- */

/* The heavy atoms of a pose, in the order of the molecule. Arrays are kept from pose to pose. */
struct bi_pose {
    const struct bi_env *env;
    int32_t n;
    double (*x)[3];
    uint8_t *type;
    uint32_t *atom;  /* [n] atoms of the molecule ... */
    int32_t *number; /* ... and back, [mol->n_atoms]; -1 = hydrogen */
    uint8_t *rotor;  /* [mol->n_bonds] a bond of two heavy atoms that turns */
    double n_rotors; /* a half for one to an atom that ends in hydrogens alone */
    uint64_t *kind;  /* room for a search */
    size_t cap_x, cap_type, cap_atom, cap_number, cap_rotor, cap_kind;
};

/* Fills *out, whose env is set. EMPTY: no heavy atom; FORMAT: all z are 0; UNSUPPORTED: an element
 * that the function does not know; LIMIT: more than BI_POSE_MAX_ATOMS. */
int bi_pose_make(struct bi_pose *out, const struct bi_molecule *mol, struct bioinfer_error *err);
/* The first part of it: atoms and places, whatever the elements. EMPTY, LIMIT. */
int bi_pose_place(struct bi_pose *out, const struct bi_molecule *mol, struct bioinfer_error *err);
void bi_pose_free(struct bi_pose *pose); /* safe on zeros, not on NULL */
enum { BI_POSE_MAX_ATOMS = 999 };        /* an SDF of version V2000 has room for no more */

/* ---- vina.c ---- */

enum { BI_VINA_TERMS = 5, BI_VINA_BINS = 64 * 32, BI_VINA_SUMS = 23 };
#define BI_VINA_CUTOFF 8.0 /* angstrom */
#define BI_VINA_CURL 1000.0
extern const double bi_vina_weights[BI_VINA_TERMS];

/* Terms by the sum of two radii and the square of the distance, in 32nds of a square angstrom; Vina
 * takes the mean of the values at both ends of a bin. */
struct bi_vina {
    float term[BI_VINA_SUMS][BI_VINA_BINS][BI_VINA_TERMS];
};

struct bi_vina_sums {
    double terms[BI_VINA_TERMS]; /* without weights */
    double inter;                /* kcal/mol */
    int64_t n_pairs;             /* within the cutoff */
};

/* Makes the table. */
void bi_vina_fill(struct bi_vina *vina);
/* Sums over pairs of a receptor's atom and the pose's, by Vina's table. */
void bi_vina_score(const struct bi_vina *vina, const struct bi_site *site,
                   const struct bi_pose *pose, struct bi_vina_sums *out);
/* The estimate of the free energy of binding, kcal/mol. */
double bi_vina_affinity(double inter, double n_rotors);

/* Energies of pairs, with their slopes by the square of the distance, at both ends of a bin: energy
 * and slope at its begin, then at its end. Before the cutoff's last bin the function is smooth. By
 * the sum of radii, and 0, or 1 for a hydrophobic pair, or 2 for a hydrogen bond. */
enum { BI_SLOPES_PER = 8, BI_SLOPES_BINS = 64 * BI_SLOPES_PER }; /* bins of a square angstrom */
struct bi_slopes {
    float node[BI_VINA_SUMS][3][BI_SLOPES_BINS][4];
};
void bi_slopes_fill(struct bi_slopes *slopes);
/* [BI_SLOPES_BINS][4] of two types. */
const float (*bi_slopes_of(const struct bi_slopes *slopes, uint8_t a, uint8_t b))[4];

/* ---- minimise.c ---- */

/* A bond that turns: atoms moved[begin, end) of the side of v turn about the axis from u to v. */
struct bi_torsion {
    int32_t u, v;
    size_t begin, end;
};

/* An atom of the site near one of the pose, and the table of both types. */
struct bi_near {
    double x[3];
    const float (*nodes)[4];
};

/* The state of a minimisation; arrays are kept from pose to pose. */
struct bi_minimiser {
    const struct bi_env *env;
    double centre[3], shift[3], from_shift[3]; /* the pose turns about centre + shift */
    int32_t *part, *count;
    uint8_t *depth, *side;
    uint32_t *queue;
    int32_t (*pairs)[2]; /* [n_pairs] atoms of the pose whose distance a torsion may change */
    size_t n_pairs;
    struct bi_torsion *torsions;
    int n_torsions;
    int32_t *moved;
    size_t n_moved;
    struct bi_near *near; /* near_start[a] to near_start[a + 1] - 1 are atom a's */
    size_t *near_start;
    uint32_t *hits;      /* room for as many as an atom has */
    double (*listed)[3]; /* where the pose was when they were listed */
    double (*force)[3], (*from)[3];
    double *numbers;
    size_t cap_part, cap_count, cap_depth, cap_side, cap_queue, cap_pairs, cap_torsions, cap_moved,
        cap_near, cap_near_start, cap_hits, cap_listed, cap_force, cap_from, cap_numbers;
};

/* Finds torsions and pairs of a pose, which has the molecule's atoms. NOMEM alone. */
int bi_minimiser_begin(struct bi_minimiser *m, const struct bi_slopes *slopes,
                       const struct bi_molecule *mol, const struct bi_site *site,
                       const struct bi_pose *pose, struct bioinfer_error *err);
/* The energy that is minimised, and its gradient: 3 for a shift, 3 for a turn about centre + shift,
 * one for each torsion. NOMEM alone. */
int bi_minimiser_energy(struct bi_minimiser *m, const struct bi_slopes *slopes,
                        const struct bi_site *site, const struct bi_pose *pose, double *energy,
                        double *gradient, struct bioinfer_error *err);
/* Moves the pose to where no step lowers the energy, which never rises; after _begin(). NOMEM. */
int bi_minimise(struct bi_minimiser *m, const struct bi_slopes *slopes, const struct bi_site *site,
                struct bi_pose *pose, int *n_steps, struct bioinfer_error *err);
void bi_minimiser_free(struct bi_minimiser *m); /* safe on zeros, not on NULL */

/* ---- checks.c ---- */

/* Room for a check, kept from pose to pose. */
struct bi_volume {
    const struct bi_env *env;
    uint8_t *depth;
    uint32_t *queue;
    int32_t *close;
    size_t cap_depth, cap_queue, cap_close;
};
void bi_volume_free(struct bi_volume *volume); /* safe on zeros, not on NULL */
/* Fills the checks of *out, and `failed` but for chirality. volume: room that is kept. */
int bi_pose_check(struct bi_volume *volume, const struct bi_site *site,
                  const struct bi_molecule *mol, const struct bi_pose *pose,
                  struct bioinfer_rescored *out, struct bioinfer_error *err);

/* ---- rate.c ---- */

/* The receptor that poses are rated beside, and tables. slopes NULL = poses stay as they are. */
struct bi_judge {
    const struct bi_site *site;
    const struct bi_vina *vina;
    const struct bi_slopes *slopes;
};

/* Room of one thread, kept from pose to pose; zeros but for pose.env. */
struct bi_rater {
    struct bi_pose pose;
    struct bi_minimiser minimiser;
    struct bi_volume volume;
    double (*from)[3]; /* places before minimisation */
    size_t cap_from;
};

/* Rates r->pose, which bi_pose_make() made of this molecule; its places may have been set since.
 * A centre whose turn is not the molecule's fails CHIRALITY. NOMEM alone. */
int bi_pose_rate(const struct bi_judge *judge, struct bi_rater *r, const struct bi_molecule *mol,
                 struct bioinfer_rescored *out, struct bioinfer_error *err);
/* Rounds places to 10,000ths of an angstrom, as an SDF has them. */
void bi_pose_round(struct bi_pose *pose);
void bi_rater_free(struct bi_rater *rater); /* safe on zeros, not on NULL */

/* ---- sdf.c ---- */

/* Appends the pose as a record of an SDF, up to and with "M  END": fields and "$$$$" are to follow.
 * UNSUPPORTED: a bond that is not single, double or triple; LIMIT: more than BI_POSE_MAX_ATOMS
 * bonds, or an atom too far away. */
int bi_pose_write(struct bi_buf *out, const struct bi_molecule *mol, const struct bi_pose *pose,
                  struct bioinfer_error *err);

#endif
