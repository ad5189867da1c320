/* dualbind.h - what the files of this family share.
 *
 *   model.c      weights and graph
 *   receptor.c   atoms of a protein
 *   ligand.c     a small molecule with the pocket around it */
#ifndef BI_DUALBIND_H
#define BI_DUALBIND_H

#include "../affinity.h"

enum {
    DB_ATOM = 133,      /* numbers of an atom, */
    DB_MASS = 132,      /* the place of the mass among them */
    DB_BOND = 14,       /* numbers of a bond */
    DB_RESIDUES = 21,   /* kinds of residues; 0 = unknown */
    DB_ATOM_TYPES = 38, /* kinds of atoms in residues; 0 = none, 1 = that of the ligand's */
    DB_COORDINATES = 3, /* columns of the first product */
    DB_HEADS = 4
};

/* A point nearer to the origin than this stands for a missing one, in angstrom. */
#define DB_NOWHERE 1e-4

/* receptor() and join() of struct bi_affinity_def (models/affinity.h) of this family: 0, or the
 * status and the words with which the structure, or the molecule, cannot be used. receptor: FORMAT:
 * several models; LIMIT: more than 1,024 chains, or BI_MAX_RESIDUES residues; EMPTY: no atom of a
 * standard residue. The structure need not stay; out->arena is freed by who owns out. join: EMPTY:
 * no heavy atom, or all at the origin; FORMAT: all z are 0; UNSUPPORTED: a dative bond. The pocket
 * is the n_pocket residues nearest to the ligand, the first in the file of equally near ones; all,
 * where there are fewer. *out needs its env, and keeps its arrays, also after a failure, for
 * bi_complex_free(). */
int db_receptor(struct bi_receptor *out, const struct bi_env *env,
                const struct bi_structure *structure, struct bioinfer_error *err);
int db_join(struct bi_complex *out, const struct bi_receptor *receptor,
            const struct bi_molecule *molecule, const struct bi_affinity_options *options,
            struct bioinfer_error *err);

/* Is this the place of an atom, and not (0, 0, 0) or nearer to it than DB_NOWHERE? */
static inline bool db_is_somewhere(const float x[3])
{
    const double a = (double)x[0], b = (double)x[1], c = (double)x[2];
    return a * a + b * b + c * c > DB_NOWHERE * DB_NOWHERE;
}

#endif
