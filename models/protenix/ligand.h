/* ligand.h - Protenix: a ligand that a file gives, as a chemical component. */
#ifndef BI_PROTENIX_LIGAND_H
#define BI_PROTENIX_LIGAND_H

#include "../../loaders/components.h"

/* Reads the one molecule of an SDF, MOL2 or PDB file into *to, which is to be freed in any case.
 * Hydrogens are left out. Atoms have the names of their elements in capitals with a number, from 1
 * for each element. The code is "l01" for number 1. FORMAT: no places in three dimensions, or
 * several molecules; EMPTY: no molecule, or no atom but hydrogens; LIMIT: more than 99 such
 * ligands, a name of more than four letters; NOMEM; else the molecule's own status, or what opening
 * and reading a file gives. */
int protenix_ligand_read(struct bi_component *to, const struct bi_env *env, const char *path,
                         int32_t number, struct bioinfer_error *err);

#endif
