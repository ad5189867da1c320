/* structure.h - atoms of PDB and mmCIF files, and protein backbones out of them.
 *
 * A reader hands over every ATOM and HETATM record in file order with what its columns say; what
 * is chosen among alternates, models and chains is backbone.c's alone. Told apart by content, plain
 * or in gzip.
 * FORMAT: a record that cannot be read, named by file and line. LIMIT: too many atoms. EMPTY: no
 * atom. */
#ifndef BI_STRUCTURE_H
#define BI_STRUCTURE_H

#include "../base/arena.h"
#include "../base/buf.h"

enum { BI_MAX_ATOMS = 10000000, BI_MAX_STRUCTURE_SIZE = 1 << 30, BI_MAX_RESIDUES = 1000000 };

/* A record of an atom, as its columns say. */
struct bi_atom {
    char name[8], residue[8], chain[8], element[4];
    char icode, altloc; /* ' ' = none */
    bool het;
    int32_t number, model; /* the residue's; model from 1 */
    float occupancy;
    float x[3]; /* angstrom */
};

/* All atoms of a file. */
struct bi_structure {
    const struct bi_env *env;
    char *name; /* file name without folder and suffix */
    const char *format;
    struct bi_atom *atoms;
    size_t n_atoms, cap_atoms;
    int32_t n_models;
};

/* Gives the name of a file without folder, .gz and then .pdb, .ent, .cif or .mmcif, allocated by
 * env; NULL = no memory. */
char *bi_structure_name(const struct bi_env *env, const char *path);
/* Reads a PDB or mmCIF file, told by content, plain or in gzip, of at most BI_MAX_STRUCTURE_SIZE
 * bytes, as stored and inflated (LIMIT). EMPTY: it has no atom, as text of any other kind, which is
 * taken for a PDB. FORMAT: a record that cannot be read, or damaged gzip; NOT_FOUND, IO. After a
 * failure *out is zeros, which are safe to close. */
int bi_structure_open(struct bi_structure *out, const struct bi_env *env, const char *path,
                      struct bioinfer_error *err);
/* The same of bytes in memory, with a NUL behind them, which need not stay; `name` is for messages
 * and the structure's name. The inflated size alone is limited here. *out is to be zeros before, as
 * NOMEM may leave it untouched. */
int bi_structure_open_memory(struct bi_structure *out, const struct bi_env *env, const char *name,
                             const char *text, size_t size, struct bioinfer_error *err);
void bi_structure_close(struct bi_structure *structure); /* NULL-safe */

/* The readers of the two formats, which set s->format and add all atoms: text is NUL-terminated
 * behind size bytes. FORMAT: a record that cannot be read; LIMIT: too many atoms. 0 also where
 * there is no atom. Atoms added before a failure stay, for bi_structure_close(). */
int bi_pdb_read(struct bi_structure *s, const char *text, size_t size, struct bioinfer_error *err);
int bi_mmcif_read(struct bi_structure *s, const char *text, size_t size,
                  struct bioinfer_error *err);
/* Appends a copy of the atom. LIMIT: there are BI_MAX_ATOMS already. */
int bi_structure_add(struct bi_structure *s, const struct bi_atom *atom,
                     struct bioinfer_error *err);

/* ---- backbones ---- */

enum bi_backbone_atom { BI_N, BI_CA, BI_C, BI_O, BI_BACKBONE };

/* A residue of a backbone. */
struct bi_residue {
    char letter; /* one of the 20, or '-': gap or a name that is none of them */
    char icode;
    bool gap; /* the number does not occur in the file */
    int32_t number;
    float x[BI_BACKBONE][3]; /* NaN where missing */
};

/* A chain of a backbone. */
struct bi_chain {
    char id[8];
    struct bi_residue *residues;
    size_t n;
};

/* Chains in the order A-Z, a-z, 0-9, then (mmCIF) longer names as they come. */
struct bi_backbone {
    const struct bi_env *env;
    struct bi_chain *chains;
    size_t n_chains, cap_chains;
    /* counts of what was read past or filled in, for messages */
    size_t n_gaps, n_missing, n_unknown, n_altlocs, n_icodes, n_unnamed, n_mse;
    size_t n_other; /* residues that are left out and are neither protein nor water */
    int32_t n_models;
    char first_missing[32];
};

/* Both: numbers ascending, of repeated atoms the first, chains without a name left out, and in PDB
 * files those whose name is no letter or digit.
 * GAPS: absent numbers are gaps, MSE is read as MET, other HETATM are left out.
 * LIGAND: no gaps; residues by their names (ATOM or HETATM, modified ones that ProDy calls
 * protein as X) that have a CA; first model, alternate location none or A, occupancy above 0. */
enum bi_backbone_rules { BI_RULES_GAPS, BI_RULES_LIGAND };

/* The structure need not stay. EMPTY when no residue is left. LIMIT: more than 4,096 chains, or
 * more than BI_MAX_RESIDUES residues in one chain or in all, gaps counted. A residue that lacks
 * backbone atoms is no failure: these are NaN. After a failure *out is zeros, which are safe to
 * free. */
int bi_backbone_build(struct bi_backbone *out, const struct bi_structure *structure,
                      enum bi_backbone_rules rules, struct bioinfer_error *err);
void bi_backbone_free(struct bi_backbone *backbone); /* safe on zeros, not on NULL */

/* ---- what is around (ligand.c) ---- */

struct bi_ligand_atom {
    float x[3];
    int32_t element; /* atomic number */
};

struct bi_ligand {
    const struct bi_env *env;
    struct bi_ligand_atom *atoms;
    size_t n, cap;
    size_t n_hydrogen, n_unknown; /* left out: their element is hydrogen, or none that counts */
};

/* The atoms that the rules LIGAND read, in the order of the file, without water and without
 * residues that have both a protein's name and a CA: ligands, ions, nucleic acids, residues of
 * other names, and protein residues that lack a CA. Hydrogens and unknown elements are counted
 * alone. None is no error. NOMEM is the only failure; *out is safe to free then. */
int bi_ligand_build(struct bi_ligand *out, const struct bi_structure *structure,
                    struct bioinfer_error *err);
void bi_ligand_free(struct bi_ligand *ligand); /* safe on zeros, not on NULL */
/* Do the rules LIGAND read the atom: is it of the first atom's model, with alternate location none
 * or A and an occupancy above 0? The structure must have an atom. */
bool bi_is_read(const struct bi_atom *atom, const struct bi_structure *structure);
/* Is its residue's name one that these rules call protein, or water, whatever its record? */
bool bi_is_protein(const struct bi_atom *atom);
bool bi_is_water(const struct bi_atom *atom);

/* Appends one line, without its end, that says what is in n_*, but for n_other, and that there are
 * several models; nothing when there is nothing to say. out->failed is set where there is no
 * memory. */
void bi_backbone_describe(const struct bi_backbone *backbone, struct bi_buf *out);

#endif
