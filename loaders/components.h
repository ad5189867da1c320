/* components.h - chemical components by their codes: residues, nucleotides, ions, ligands, with
 * atoms, bonds and the places of one conformer. docs/formats.md has the form of the file. */
#ifndef BI_COMPONENTS_H
#define BI_COMPONENTS_H

#include "../base/base.h"

enum { BI_COMPONENT_CODE = 5, BI_COMPONENT_ATOMS = 4096, BI_COMPONENT_BONDS = 8192 };

enum bi_component_kind {
    BI_COMPONENT_PEPTIDE,
    BI_COMPONENT_DNA,
    BI_COMPONENT_RNA,
    BI_COMPONENT_OTHER
};

/* A heavy atom. */
struct bi_component_atom {
    char name[5];
    uint8_t element; /* atomic number */
    int8_t charge;
    bool leaves; /* when its component becomes part of a chain, where it is bonded there */
    bool placed; /* x is known, in angstrom */
    double x[3];
};

struct bi_component_bond {
    int32_t a, b;
    int32_t order; /* 1, 2, 3; 4 = aromatic */
};

/* Zero-initialise. The arrays are kept from one component to the next. */
struct bi_component {
    char code[BI_COMPONENT_CODE + 1];
    enum bi_component_kind kind;
    char letter; /* the residue or base that it is, or is made from; '?': none */
    int32_t n_atoms, n_bonds;
    struct bi_component_atom *atoms;
    struct bi_component_bond *bonds;
    size_t cap_atoms, cap_bonds;
};

struct bi_components;

/* Reads a file, or the components within the program (path NULL). FORMAT: it does not begin with
 * "bioinfer components 1", codes do not ascend, or a line stands before the first one; LIMIT: more
 * than 1 GiB; NOMEM; else what opening and reading a file gives. After a failure *out is
 * untouched. */
int bi_components_open(struct bi_components **out, const struct bi_env *env, const char *path,
                       struct bioinfer_error *err);
/* The same of bytes, which must outlive *out; `name` is for messages. */
int bi_components_open_memory(struct bi_components **out, const struct bi_env *env,
                              const char *name, const void *bytes, size_t size,
                              struct bioinfer_error *err);
/* Gives the number of components. */
size_t bi_components_count(const struct bi_components *c);
/* Gives the code of a component by number, in ascending order; NULL past the end. */
const char *bi_components_code(const struct bi_components *c, size_t index);
/* Reads the component of a code, which is case-sensitive, into *to, whose arrays the caller frees
 * by bi_component_free(), also after a failure. NOT_FOUND: there is none; FORMAT: a line that is no
 * atom or bond, a name twice, an element that is none, or no atom; LIMIT: too many atoms or bonds;
 * NOMEM. Any number of threads, each with its own *to. */
int bi_components_find(const struct bi_components *c, const char *code, struct bi_component *to,
                       struct bioinfer_error *err);
/* Both accept zeros, and leave them. */
void bi_component_free(const struct bi_env *env, struct bi_component *component);
void bi_components_close(struct bi_components **c);

/* The components within the program, as text (made by the build). */
extern const char bi_components_text[];

#endif
