/* atoms.h - heavy atoms of a residue from its frame and its torsions, as networks of AlphaFold 2's
 * kind give them. */
#ifndef BI_FOLDING_ATOMS_H
#define BI_FOLDING_ATOMS_H

/* A frame is a unit quaternion (w, x, y, z) and a translation. Angles are in the order omega, phi,
 * psi, chi1 to chi4, a sine and a cosine each. */
enum { BI_FOLDED_ATOMS = 14, BI_FOLDED_FRAME = 7, BI_FOLDED_ANGLES = 14 };

/* An atom of an ideal residue: its place in angstrom in the frame of its rigid group, 0 backbone,
 * 3 psi, 4 to 7 chi1 to chi4. */
struct bi_folded_atom {
    char name[4]; /* "CG1" */
    int group;
    double at[3];
};

struct bi_folded_residue {
    char letter, name[4]; /* 'A', "ALA" */
    int n_atoms;
    struct bi_folded_atom atoms[BI_FOLDED_ATOMS];
};

/* The residue of a letter among ARNDCQEGHILKMFPSTWYV; NULL for any other. */
const struct bi_folded_residue *bi_folded_residue(char letter);
/* Places the atoms of a residue, in the order of its list, in angstrom; rows from n_atoms on become
 * 0. A pair of angles need not have the length 1: it is divided by its length, or by the root of
 * eps, which is above 0, where its square is smaller. */
void bi_folded_place(float x[BI_FOLDED_ATOMS][3], const struct bi_folded_residue *residue,
                     const float frame[BI_FOLDED_FRAME], const float angles[BI_FOLDED_ANGLES],
                     double eps);

#endif
