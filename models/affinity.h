/* affinity.h - families that rate complexes of a receptor and a ligand with a number.
 *
 * A family reads the receptor once, and joins it with one ligand after the other; the task affinity
 * (tasks/affinity.c) packs complexes into batches and runs the graph. */
#ifndef BI_AFFINITY_H
#define BI_AFFINITY_H

#include "../loaders/chem/molecule.h"
#include "../loaders/structure.h"
#include "model.h"

/* Numbers of a table that an atom, and a bond with its source, are the sum of; -1 = fewer. */
enum { BI_ATOM_CODES = 7, BI_BOND_CODES = BI_ATOM_CODES + 4, BI_FRAMES_OF_TOKEN = 8 };

struct bi_receptor_residue {
    float ca[3];    /* (0, 0, 0) where the file has none */
    bool unknown;   /* the family does not know its name: it has no rows */
    int32_t row, n; /* rows row ... row + n - 1 are its atoms */
};

/* A receptor as every ligand finds it; lives in the arena. */
struct bi_receptor {
    struct bi_arena arena;
    const char *name;
    struct bi_receptor_residue *residues;
    int32_t n_residues, n_unknown, n_rows;
    int32_t n_without_ca; /* residues with a known name that have none */
    float (*x)[3];        /* [n_rows] atoms, in angstrom */
    int32_t (*code)[2];   /* [n_rows] rows of the family's table that an atom is the sum of */
};

/* A receptor with one ligand. Tokens are the atoms of the ligand, then those of the pocket. All
 * arrays are kept from one complex to the next. */
struct bi_complex {
    const struct bi_env *env;
    int32_t n_atoms, n_bonds; /* the ligand's; each bond counts in both directions */
    int32_t n_ligand, n_tokens, n_pocket_residues;
    int32_t degree;              /* the most bonds of an atom */
    float centroid[3], distance; /* the ligand's centre; how far the nearest CA is, in angstrom */
    /* [n_atoms] */
    float (*x)[3], *atom_mass;
    int32_t (*atom_code)[BI_ATOM_CODES], *atom_token; /* -1: the atom is no token */
    int32_t *start, *into; /* bonds into atom i are into[start[i]] ... into[start[i + 1] - 1] */
    /* [n_bonds] */
    int32_t (*bond_code)[BI_BOND_CODES], *bond_from, *bond_reverse;
    float *bond_mass;
    int32_t *row; /* [n_tokens]: the row of the receptor, 0 for atoms of the ligand */
    size_t cap_x, cap_atom_mass, cap_atom_code, cap_atom_token, cap_start, cap_into, cap_bond_code,
        cap_bond_from, cap_bond_reverse, cap_bond_mass, cap_row;
};

/* Frees all arrays; *c is zeros then, without its env. Safe on NULL and on zeros. */
void bi_complex_free(struct bi_complex *c);

struct bi_affinity_options {
    int32_t n_pocket;  /* residues nearest to the ligand */
    bool drop_unknown; /* leave unknown residues out of these */
};

/* Sizes of a batch of complexes. Every token is seen in eight frames. */
struct bi_affinity_shape {
    int64_t n_complexes, n_tokens, longest; /* longest: tokens of one complex */
    int64_t n_rows;                         /* atoms of receptors */
    int64_t n_atoms, n_bonds;               /* the ligands'; at least 1 */
    int64_t degree;                         /* columns of lists of bonds */
};

/* Output of the graph: kind of bi_output(), float32 [n_complexes, 2 n], n at least 1: shares that
 * add up to the energy, and shares of the number of pairs. */
enum { BI_AFFINITY_ENERGY = 1 };

struct bi_affinity_def {
    /* FORMAT, EMPTY, LIMIT: the structure cannot be used. It need not stay. */
    int (*receptor)(struct bi_receptor *out, const struct bi_env *env,
                    const struct bi_structure *structure, struct bioinfer_error *err);
    /* Fills *out, whose env is set, in place of what it had. The molecule cannot be used: FORMAT,
     * EMPTY, UNSUPPORTED ...; *out is to be freed after a failure, too. */
    int (*join)(struct bi_complex *out, const struct bi_receptor *receptor,
                const struct bi_molecule *molecule, const struct bi_affinity_options *options,
                struct bioinfer_error *err);
    /* Inputs by name as tasks/affinity.c fills them. */
    void (*build)(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_affinity_shape *shape);
    const char *unit;   /* the unit of energies */
    const char *caveat; /* how far the numbers can be trusted, one line; NULL = not known */
};

#endif
