/* structure.h - the structure of a complex as PDB and as mmCIF. */
#ifndef BI_WRITERS_STRUCTURE_H
#define BI_WRITERS_STRUCTURE_H

#include "../base/buf.h"

/* Sizes of which the columns of PDB have no more. */
enum {
    BI_PDB_CHAINS = 62, /* names of one letter or digit */
    BI_PDB_RESIDUES = 9999,
    BI_PDB_ATOMS = 99999 /* atoms and the ends of chains, which are numbered with them */
};

/* Says whether a PDB file holds a complex of these sizes: 0, or LIMIT, and mmCIF does.
 * `longest`: residues of one chain. */
int bi_pdb_holds(int64_t n_chains, int64_t longest, int64_t n_atoms, struct bioinfer_error *err);
/* Gives the name of chain i, from 0, where nobody gave it one: A to Z, a to z, 0 to 9, AA, ... */
void bi_chain_name(char name[8], int64_t i);

/* Each appends a file: chains by their names, residues from 1, the name of a residue by its letter
 * (UNK for X) or its component, B-factors that are 100 times pLDDT. The name tells one record from
 * another; bytes that the format cannot hold become '_'. Coordinates are rounded to 0.001 angstrom.
 * out->failed is set where there is no memory.
 * put_pdb: LIMIT, as bi_pdb_holds(), or a coordinate or a name needs more columns than there are;
 * what was appended is then not to be used. */
int bi_put_pdb(struct bi_buf *out, const char *name, const struct bioinfer_fold *fold,
               struct bioinfer_error *err);
/* Writes pLDDT also as the categories of ModelCIF that viewers read. */
void bi_put_cif(struct bi_buf *out, const char *name, const struct bioinfer_fold *fold);

#endif
