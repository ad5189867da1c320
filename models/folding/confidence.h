/* confidence.h - how sure a network is of a structure, from logits or probabilities of bins: pLDDT
 * of atoms, aligned errors of pairs of residues, and pTM, as AlphaFold 2 defines them. */
#ifndef BI_FOLDING_CONFIDENCE_H
#define BI_FOLDING_CONFIDENCE_H

#include <stdint.h>

enum {
    BI_FOLDED_NAMES = 37, /* heavy atoms of all residues, by name */
    BI_FOLDED_ERRORS = 64 /* bins of aligned errors, each half an angstrom; the last has no end */
};

/* The place of an atom's name in the order of AlphaFold 2's atom37: N 0, CA 1, C 2, CB 3, O 4, and
 * so on; -1: no residue has that atom. */
int bi_folded_name(const char *name);
/* pLDDT from 0 to 1, by logits of n equal bins. */
double bi_folded_level(const float *logits, int n);
/* The error in angstrom that is to be expected, by the probabilities of all bins. */
double bi_folded_error(const float *p);
/* pTM of n > 0 residues, from 0 to 1, or NaN where a probability is: p has a row of probabilities
 * for each pair, row i n + j for pair (i, j), and ld numbers from a row to the next. */
double bi_folded_tm(const float *p, int64_t ld, int64_t n);

#endif
