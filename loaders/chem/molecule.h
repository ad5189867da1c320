/* molecule.h - small molecules as files give them, and what chemistry makes of them.
 *
 * A reader gives one molecule after the other, in the memory of one. Hydrogens that a file spells
 * out become counts on the atoms that they are bonded to. A molecule that cannot be used has a
 * status and a message that names record and line; the next one follows it. docs/molecules.md
 * states the rules. */
#ifndef BI_MOLECULE_H
#define BI_MOLECULE_H

#include "../../base/base.h"

enum {
    BI_MOL_MAX_ATOMS = 10000,
    BI_MOL_MAX_BONDS = 20000,
    BI_MOL_MAX_RECORD = 16 << 20, /* bytes of one record */
    BI_MOL_MAX_NEIGHBOURS = 64,
};

struct bi_mol_atom {
    double x[3];     /* angstrom */
    uint8_t element; /* atomic number */
    int8_t charge;
    uint8_t n_radicals; /* unpaired electrons */
    uint8_t n_h;        /* hydrogens that are no atoms of the molecule */
    uint16_t isotope;   /* mass number, 0 = natural */
    bool no_more_h;     /* the file states the valence, so that no hydrogen is added */
    /* filled by bi_mol_perceive() */
    bool aromatic, in_ring;
    uint8_t hybrid; /* enum bi_hybrid */
    uint8_t chiral; /* enum bi_chiral */
};

/* The turn of an atom's second, third and fourth neighbour, in the order of its bonds, seen from
 * the first one; a hydrogen that is a count comes last. */
enum bi_chiral { BI_CHIRAL_NONE, BI_CHIRAL_CW, BI_CHIRAL_CCW };
/* ANY: it may be E or Z, and the file says that it does not know. */
enum bi_stereo { BI_STEREO_NONE, BI_STEREO_ANY, BI_STEREO_Z, BI_STEREO_E };

/* X(NAME, word) */
#define BI_HYBRID_LIST(X)                                                                          \
    X(UNKNOWN, "unknown")                                                                          \
    X(S, "s") X(SP, "sp") X(SP2, "sp2") X(SP3, "sp3") X(SP3D, "sp3d") X(SP3D2, "sp3d2")
enum bi_hybrid {
#define BI_X(name, word) BI_HYBRID_##name,
    BI_HYBRID_LIST(BI_X)
#undef BI_X
};

struct bi_mol_bond {
    uint32_t a, b; /* atoms, in the file's order */
    uint8_t order; /* 1, 2, 3; of an aromatic bond in one Kekule structure; 0: it joins the
                    * atoms and takes no valence */
    bool either;   /* the file says that E and Z are not known; of a single bond, that its first
                    * atom's turn is not */
    /* filled by bi_mol_perceive() */
    bool aromatic, conjugated, in_ring;
    uint8_t stereo; /* enum bi_stereo */
};

enum {
    BI_MOL_ORDER_AROMATIC = 4, /* as a file says; until perception */
    BI_MOL_ORDER_DATIVE = 5
}; /* from a to the metal b; made by perception */

struct bi_mol_near {
    uint32_t atom, bond;
};

/* Words of a record that the molecule does not follow. */
enum {
    BI_MOL_NOTE_ALTERNATES = 1, /* PDB: other alternate locations than none, A and 1 */
    BI_MOL_NOTE_MODELS = 2,     /* PDB: models after the first */
    BI_MOL_NOTE_ATTRIBUTES = 4, /* MOL2: attributes of atoms other than their charge */
    BI_MOL_NOTE_HYDROGENS = 8   /* SDF: counts of hydrogens, which are queries */
};

/* Zero-initialise but for env. The arrays are kept from one molecule to the next. */
struct bi_molecule {
    const struct bi_env *env;
    const char *format; /* "SDF V2000", "SDF V3000", "MOL2", "PDB"; NULL: unusable before known */
    char name[256];     /* cut where it is longer */
    uint64_t ordinal;   /* in the file, from 1 */
    uint64_t line;      /* where its record begins, from 1 */
    int status;         /* not 0: it has no atoms, and message says why */
    char message[sizeof(((struct bioinfer_error *)0)->text)];
    uint8_t notes; /* bits BI_MOL_NOTE_* */
    bool has_3d;   /* some z is not 0 */
    uint32_t n_atoms, n_bonds;
    uint32_t n_removed; /* hydrogens that became counts */
    struct bi_mol_atom *atoms;
    struct bi_mol_bond *bonds;
    /* neighbours of atom i, in the order of the bonds: near[start[i]] to near[start[i + 1] - 1] */
    uint32_t *start;
    struct bi_mol_near *near;
    /* Rings: the smallest ones, and others of the same sizes that could stand for them. The members
     * of ring r are in ring_atoms and ring_bonds at ring_start[r] to ring_start[r + 1] - 1, in the
     * order of the ring; bond k follows atom k. */
    uint32_t n_rings, n_sssr; /* all of them; how many a smallest set has */
    uint32_t *ring_start, *ring_atoms, *ring_bonds;
    size_t cap_atoms, cap_bonds, cap_start, cap_near, cap_rings, cap_ring_atoms, cap_ring_bonds;
};

/* Frees the arrays and zeroes all of it, env too. NULL-safe; also where a reader failed. */
void bi_molecule_free(struct bi_molecule *mol);

/* The number of bonds of an atom, without hydrogens that are counts. start is filled. */
static inline uint32_t bi_mol_degree(const struct bi_molecule *mol, uint32_t atom)
{
    return mol->start[atom + 1] - mol->start[atom];
}

/* ---- files of molecules (molecules.c) ---- */

/* The lines of one record. */
struct bi_mol_text {
    const char *name; /* the name of the file */
    uint64_t ordinal; /* the number of the record */
    const char *at, *end;
    uint64_t number;  /* the number of the line read last */
    const char *line; /* that line without its end: length bytes */
    size_t length;
};

struct bi_molecules;

/* A file, or "-" for standard input, plain or in gzip; after a failure *out is NULL. The format is
 * found by the first read: a text of no known format counts as SDF, whose records say what is wrong
 * with them, and an empty file opens and has none. SMILES, told by their lines or by the suffix
 * .smi, .smiles or .ism of a text of no known format, make each read fail: UNSUPPORTED. Bytes in
 * memory must outlive it; `name` is for messages, and is copied. NOT_FOUND, IO: the path alone. */
int bi_molecules_open(struct bi_molecules **out, const struct bi_env *env, const char *path,
                      struct bioinfer_error *err);
int bi_molecules_open_memory(struct bi_molecules **out, const struct bi_env *env, const char *name,
                             const void *bytes, size_t size, struct bioinfer_error *err);
/* The text of the next record instead of a molecule: 1; 0 = there are no more, here and in each
 * later call; < 0: the input is of no further use. The text stays until the next call of this or
 * bi_molecules_next(); no line of it is read yet, and bytes may be NUL. `whole`: false where the
 * record has more than BI_MOL_MAX_RECORD bytes, and only its beginning is there; that is still
 * 1. */
int bi_molecules_next_text(struct bi_molecules *m, struct bi_mol_text *text, bool *whole,
                           struct bioinfer_error *err);
/* Sets the number of the record before the first one, and how many lines are before it, for
 * messages; before the first read. A reader that is not told begins at 0 and 0. */
void bi_molecules_begin_at(struct bi_molecules *m, uint64_t ordinal, uint64_t line);
/* 1: the next molecule is in *mol, also one that cannot be used, whose mol->status says why
 * (FORMAT, UNSUPPORTED, EMPTY, LIMIT); 0: there are no more, and *mol is as it was; < 0: the input
 * is of no further use. Sets mol->env. *mol may hold parts after NOMEM, and is freed once after the
 * last call, whatever that gave. */
int bi_molecules_next(struct bi_molecules *m, struct bi_molecule *mol, struct bioinfer_error *err);
void bi_molecules_close(struct bi_molecules **m); /* NULL-safe */
/* Logs each of `notes` that is not in *told, and adds it there. */
void bi_molecule_tell(const struct bi_env *env, const char *name, uint8_t notes, uint8_t *told);

/* ---- parts of the module ---- */

/* Goes to the next line of the record, without LF and one CR before it; false: there is none, and
 * the line read last stays. */
bool bi_mol_next_line(struct bi_mol_text *text);
/* bi_fail() with file, record and line in front; returns `status`. The words are cut to 399
 * bytes. */
int bi_mol_fail(const struct bi_mol_text *text, struct bioinfer_error *err, int status,
                const char *fmt, ...) BI_PRINTF(4, 5);
/* The columns [from, from + width) of the line, from 0, without white space around them: a pointer
 * into the line, without a NUL, and *n bytes; 0 where they are blank or behind the line's end. */
const char *bi_mol_columns(const struct bi_mol_text *text, size_t from, size_t width, size_t *n);
/* The next word of the line at *at, which goes behind it: a pointer into the line and *n bytes, no
 * NUL; NULL and 0 behind the last one. */
const char *bi_mol_word(const struct bi_mol_text *text, size_t *at, size_t *n);
/* At most nine decimal digits behind an optional sign, the whole word; else false, and *out is
 * untouched. */
bool bi_mol_int(const char *word, size_t n, int *out);
/* A finite number of angstroms whose absolute value is below 10^6, the whole word, also with a '+';
 * else false, and *out may have changed. */
bool bi_mol_coordinate(const char *word, size_t n, double *out);
/* Takes the line read last for the molecule's name, without blanks around it, cut to 255 bytes. */
void bi_mol_name(struct bi_molecule *mol, const struct bi_mol_text *text);

/* Does a text begin with lines of SMILES? Each of its first four lines that is not blank, the first
 * among them, begins with one; a first line may be a header, "smiles". No valid SDF does. */
bool bi_mol_is_smiles(const char *text, size_t size);
/* Has the path a suffix of files of SMILES, also before .gz? */
bool bi_mol_is_smiles_path(const char *path);

/* Readers of one record, for a molecule that is empty (bi_mol_clear()). They set `format` (SDF only
 * once the version is known), add atoms and bonds and check both; for start and near the caller
 * calls bi_mol_connect(). A status is that of the molecule, which has parts of the record then:
 * FORMAT, UNSUPPORTED (what is no molecule of this kind), EMPTY (no atoms), LIMIT. The same holds
 * for all below that take `text`, which messages name. */
int bi_sdf_read(struct bi_molecule *mol, struct bi_mol_text *text, struct bioinfer_error *err);
int bi_mol2_read(struct bi_molecule *mol, struct bi_mol_text *text, struct bioinfer_error *err);
int bi_ligand_pdb_read(struct bi_molecule *mol, struct bi_mol_text *text,
                       struct bioinfer_error *err);

/* Appends a copy of the atom, and sets has_3d where its z is not 0. LIMIT: there are
 * BI_MOL_MAX_ATOMS already. A failure leaves the molecule as it was, here and in the next one. */
int bi_mol_add_atom(struct bi_molecule *mol, const struct bi_mol_atom *atom,
                    const struct bi_mol_text *text, struct bioinfer_error *err);
/* Appends a copy of the bond, whose ends must be atoms; a second one of a pair is found by
 * bi_mol_connect(). FORMAT, which is looked for first: a bond of an atom with itself. LIMIT: there
 * are BI_MOL_MAX_BONDS already. */
int bi_mol_add_bond(struct bi_molecule *mol, const struct bi_mol_bond *bond,
                    const struct bi_mol_text *text, struct bioinfer_error *err);
/* Removes all atoms, bonds and rings, notes, n_removed and has_3d, and keeps the memory; name,
 * format, status and message stay. */
void bi_mol_clear(struct bi_molecule *mol);
/* Fills start and near, which all that follows needs. FORMAT: two bonds between the same atoms.
 * LIMIT: an atom with more than BI_MOL_MAX_NEIGHBOURS bonds. The first atom of which either holds
 * is named, LIMIT before FORMAT. */
int bi_mol_connect(struct bi_molecule *mol, const struct bi_mol_text *text,
                   struct bioinfer_error *err);
/* Turns hydrogens into counts (hydrogens.c), with neighbours filled anew; n_removed says how many.
 * Isotopes stay, and hydrogens that are bonded to hydrogen, to no atom or to several, or that tell
 * E from Z. Other atoms keep their order, but are numbered anew. After bi_mol_connect(). */
int bi_mol_remove_hydrogens(struct bi_molecule *mol, const struct bi_mol_text *text,
                            struct bioinfer_error *err);

/* ---- perception: called by bi_molecules_next(), in this order ---- */

/* All of the steps below, after bi_mol_remove_hydrogens(); the first failure ends it, with FORMAT
 * or LIMIT as below, and leaves the steps before it done. */
int bi_mol_perceive(struct bi_molecule *mol, const struct bi_mol_text *text,
                    struct bioinfer_error *err);
/* Replaces aromatic bonds of a file by single and double ones (kekulize.c). Without such bonds
 * nothing changes. FORMAT: they cannot alternate, or no way to do so was found in thousands of
 * trials; all bonds are as they were. */
int bi_mol_kekulize(struct bi_molecule *mol, const struct bi_mol_text *text,
                    struct bioinfer_error *err);
/* Writes nitro groups, azides and oxides of halogens with charges, and bonds that exceed the
 * valence of an atom beside a metal as dative ones (valence.c), whose ends change places where a
 * is the metal. Without aromatic orders: after bi_mol_kekulize(). All that no rule fits stays. */
void bi_mol_normalise(struct bi_molecule *mol);
/* Adds the hydrogens that the valences of elements ask for, and counts unpaired electrons where
 * the file states the valence (valence.c). FORMAT: an atom has more bonds than it may; the atoms
 * before it are done. */
int bi_mol_add_hydrogens(struct bi_molecule *mol, const struct bi_mol_text *text,
                         struct bioinfer_error *err);
/* Sum of the orders of an atom's bonds, without counted hydrogens: a dative bond is 1 for its metal
 * and 0 for the other atom; an aromatic one, before bi_mol_kekulize(), is 4. */
int bi_mol_bond_sum(const struct bi_molecule *mol, uint32_t atom);
/* The neighbours that take an orbital of the atom, counted hydrogens included: none by a bond of
 * order 0, and none that its own pair of electrons is given to. */
int bi_mol_bonded(const struct bi_molecule *mol, uint32_t atom);
/* Is this sum of bond orders, hydrogens and unpaired electrons one that the atom, which has an
 * element (not 0), may have, or below one? *n_h is how many hydrogens the next listed valence is
 * away, also for elements that take any sum beside those listed; 0 where none is as high, and where
 * the answer is false. A charge that no element could make up for: true, 0. */
bool bi_mol_valence_ok(const struct bi_mol_atom *atom, int sum, int *n_h);
/* The first fills the rings and sets in_ring (LIMIT: a ring system has too many atoms or rings; the
 * rings are not to be read then). The second sets `aromatic` of atoms and bonds that are (NOMEM
 * alone), and clears none: they come with false. It needs rings and hydrogens. */
int bi_mol_find_rings(struct bi_molecule *mol, const struct bi_mol_text *text,
                      struct bioinfer_error *err); /* rings.c */
int bi_mol_find_aromatic(struct bi_molecule *mol, const struct bi_mol_text *text,
                         struct bioinfer_error *err); /* aromatic.c */
/* Electrons that an atom can give to a system of conjugated bonds; below 0, which need not be -1:
 * it has no part in one. */
int bi_mol_pi_electrons(const struct bi_molecule *mol, uint32_t atom);
/* Set `conjugated` of all bonds, by `aromatic`, and `hybrid` of all atoms, by `conjugated` and
 * has_3d: in this order. */
void bi_mol_find_conjugated(struct bi_molecule *mol); /* hybrid.c */
void bi_mol_find_hybrids(struct bi_molecule *mol);    /* hybrid.c */
/* Sets `chiral` of atoms where the molecule has coordinates in space, `stereo` of bonds (E or Z)
 * also where they lie in a plane, ANY where the file says that it does not know. All others keep
 * what they had, NONE. NOMEM alone. */
int bi_mol_find_stereo(struct bi_molecule *mol, const struct bi_mol_text *text,
                       struct bioinfer_error *err); /* stereo.c */

/* ---- elements (elements.c) ---- */

enum { BI_ELEMENTS = 119 };

struct bi_element {
    char symbol[3];
    uint8_t outer; /* electrons of the outer shell, as valence rules count them */
    uint8_t n_valences;
    int8_t valences[4]; /* allowed ones, ascending; -1 behind them = any other */
    float mass;         /* standard weight; that of the longest-lived isotope where there is none */
};

/* The element of an atomic number, 1 to 118; beyond it entry 0, which stands for none: its symbol
 * is "" and n_valences 0. Never NULL. */
const struct bi_element *bi_element(uint32_t number);
/* False for hydrogen, helium, boron to neon, silicon to argon, germanium to krypton, antimony to
 * xenon, astatine and radon, and for 0; true for all others, numbers above 118 too. */
bool bi_is_metal(uint32_t number);
/* The atomic number of a symbol of n bytes in any case, no NUL needed; 0: there is no such element,
 * and D and T are none. */
uint8_t bi_element_find(const char *symbol, size_t n);

#endif
