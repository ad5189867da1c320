/* structure.h - atoms of PDB and mmCIF files, and protein backbones out of them.
 *
 * A reader hands over every ATOM and HETATM record in file order with what its columns say; what
 * is chosen among alternates, models and chains is backbone.c's alone. Told apart by content, plain
 * or in gzip. A field of an atom that cannot be read fails where the atom is used: a water without
 * a number spoils no protein.
 * FORMAT: a file that cannot be read, named by file and line. LIMIT: too many atoms. EMPTY: no
 * atom. */
#ifndef BI_STRUCTURE_H
#define BI_STRUCTURE_H

#include "../base/arena.h"
#include "../base/buf.h"

enum { BI_MAX_ATOMS = 10000000, BI_MAX_STRUCTURE_SIZE = 1 << 30, BI_MAX_RESIDUES = 1000000 };

/* Fields of an atom that could not be read. */
enum bi_atom_fault { BI_FAULT_NUMBER = 1, BI_FAULT_POSITION = 2, BI_FAULT_CHAIN = 4 };

/* A record of an atom, as its columns say. */
struct bi_atom {
    char name[8], residue[8], chain[8], element[4];
    char icode, altloc; /* ' ' = none */
    bool het;
    uint8_t faults;        /* bits of enum bi_atom_fault: bi_atom_check() */
    uint8_t indent;        /* columns left blank before the name, of PDB */
    int32_t number, model; /* the residue's, 0 where it could not be read; model from 1 */
    float occupancy;
    float b;    /* B-factor, or the confidence of a model; NaN = not told */
    float x[3]; /* angstrom; NaN where it could not be read */
};

/* A field that could not be read. */
struct bi_unread {
    size_t atom; /* index of the atom */
    long line;
    uint8_t kind;   /* enum bi_atom_fault */
    uint8_t column; /* PDB: the first one, from 1; 0 in mmCIF */
    char text[14];  /* the beginning of the field */
};

/* A CRYST1 record of a PDB file: of this model, and of those after it until there is another. */
struct bi_cryst1 {
    int32_t model; /* beyond n_models: no atom follows it */
    long line;
    char text[67]; /* the first 66 columns */
};

/* All atoms of a file. */
struct bi_structure {
    const struct bi_env *env;
    char *name; /* file name without folder and suffix */
    const char *format;
    struct bi_atom *atoms;
    size_t n_atoms, cap_atoms;
    struct bi_unread *faults; /* by atom */
    size_t n_faults, cap_faults;
    struct bi_cryst1 *cells; /* a PDB has them, by model: the last one of each */
    size_t n_cells, cap_cells;
    int32_t n_models; /* in a PDB, MODEL or the first atom, also after END, begins one */
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
/* Fails where one of these fields (enum bi_atom_fault, or'ed) of an atom of the structure could not
 * be read. FORMAT, for a chain's name that is too long LIMIT; the message names file and line. */
int bi_atom_check(const struct bi_structure *structure, const struct bi_atom *atom, int fields,
                  struct bioinfer_error *err);

/* The readers of the two formats, which set s->format and add all atoms: text is NUL-terminated
 * behind size bytes. FORMAT: text that cannot be read; LIMIT: too many atoms or models. 0 also
 * where there is no atom. Atoms added before a failure stay, for bi_structure_close(). */
int bi_pdb_read(struct bi_structure *s, const char *text, size_t size, struct bioinfer_error *err);
int bi_mmcif_read(struct bi_structure *s, const char *text, size_t size,
                  struct bioinfer_error *err);
/* Appends a copy of the atom. LIMIT: there are BI_MAX_ATOMS already. */
int bi_structure_add(struct bi_structure *s, const struct bi_atom *atom,
                     struct bioinfer_error *err);
/* Notes that a field of the atom that is added next cannot be read: `fault` without its atom and
 * text, which is text[0, n), and sets its bit in atom->faults. NOMEM is the only failure. */
int bi_structure_unread(struct bi_structure *s, struct bi_atom *atom, struct bi_unread fault,
                        const char *text, size_t n, struct bioinfer_error *err);

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
    uint32_t *by_number; /* [n_numbered] residues that are no gaps, by number and insertion code */
    size_t n_numbered;
};

/* Chains in the order A-Z, a-z, 0-9, then (mmCIF, rules LIGAND) other names as they come, then
 * (rules LIGAND) the chain without a name, whose id is "". */
struct bi_backbone {
    const struct bi_env *env;
    struct bi_chain *chains;
    size_t n_chains, cap_chains;
    /* counts of what was read past or filled in, for messages */
    size_t n_gaps, n_missing, n_unknown, n_altlocs, n_icodes, n_unnamed, n_mse;
    size_t n_unread; /* LIGAND: left out, as no CA has alternate location none or A and occupancy */
    size_t n_without_ca; /* LIGAND: left out, with atoms that are read and no CA among them */
    size_t n_other;      /* residues that are left out and are neither protein nor water */
    /* residues that stand elsewhere by number than in the file, and of the chains that have them
     * pairs of residues bonded (C-N) to the one before, in either order */
    size_t n_moved, n_bonds_file, n_bonds_number;
    bool by_file;   /* residues are in the order of the file */
    bool one_model; /* LIGAND: the first of n_models alone is read */
    int32_t n_models;
    char first_missing[32], first_moved[32];
};

/* Both: of repeated atoms the first; in PDB files chains whose name is no letter or digit, and in
 * all files those without a name, are left out by GAPS.
 * GAPS: numbers ascending; absent numbers are gaps, MSE is read as MET, other HETATM are left out.
 * LIGAND: residues as they stand in the file; no gaps; residues by their names (ATOM or HETATM,
 * modified ones that ProDy calls protein as X) that have a CA; first model, alternate location none
 * or A, occupancy above 0. */
enum bi_backbone_rules { BI_RULES_GAPS, BI_RULES_LIGAND };

/* The order of a chain's residues: that of the rules, that of the file, or by number and then
 * insertion code, none first. In the file's order a gap is where a number is larger than the one
 * before by more than 1. */
enum bi_residue_order { BI_ORDER_OF_RULES, BI_ORDER_FILE, BI_ORDER_NUMBER };

/* The structure need not stay. EMPTY when no residue is left. LIMIT: more than 4,096 chains, or
 * more than BI_MAX_RESIDUES residues in one chain or in all, gaps counted. FORMAT, or LIMIT of a
 * chain's name: a field that is needed could not be read, the number of any atom of a residue or
 * the position of one of the backbone. By the rules LIGAND also where a residue has two CA of
 * one alternate location: a number is used twice. A residue that lacks backbone atoms is no
 * failure: these are NaN. After a failure *out is zeros, which are safe to free. */
int bi_backbone_build(struct bi_backbone *out, const struct bi_structure *structure,
                      enum bi_backbone_rules rules, enum bi_residue_order order,
                      struct bioinfer_error *err);
/* The residue of a chain by its number in the file; NULL: there is none. Gaps are not found. */
const struct bi_residue *bi_chain_find(const struct bi_chain *chain, int32_t number, char icode);
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
    /* atoms of the first model that are left out, for their alternate location or occupancy, in
     * residues that are neither protein nor water */
    size_t n_unread;
};

/* The atoms that the rules LIGAND read, in the order of the file, without water and without
 * residues that have both a protein's name and a CA: ligands, ions, nucleic acids, residues of
 * other names, and protein residues that lack a CA. Hydrogens and unknown elements are counted
 * alone. None is no error. FORMAT: the position of one of them could not be read; NOMEM. *out is
 * safe to free then. */
int bi_ligand_build(struct bi_ligand *out, const struct bi_structure *structure,
                    struct bioinfer_error *err);
void bi_ligand_free(struct bi_ligand *ligand); /* safe on zeros, not on NULL */
/* Do the rules LIGAND read the atom: is it of the first atom's model, with alternate location none
 * or A and an occupancy above 0? The structure must have an atom. */
bool bi_is_read(const struct bi_atom *atom, const struct bi_structure *structure);
/* Is its residue's name one that these rules call protein, or water, whatever its record? */
bool bi_is_protein(const struct bi_atom *atom);
bool bi_is_water(const struct bi_atom *atom);

/* Appends one line, without its end, that says what is in n_*, but for n_other and n_moved, and
 * that there are several models; nothing when there is nothing to say. out->failed is set where
 * there is no memory. */
void bi_backbone_describe(const struct bi_backbone *backbone, struct bi_buf *out);
/* The same of the order of residues: where it is by number and differs from the file's, or where it
 * is the file's and more residues are bonded to the one before by number. */
void bi_backbone_describe_order(const struct bi_backbone *backbone, struct bi_buf *out);

#endif
