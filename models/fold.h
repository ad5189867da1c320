/* fold.h - families that fold sequences of residues into structures.
 *
 * A record becomes one sequence of tokens, a token for each residue, chains one behind the other.
 * The graph gives a frame, seven torsions and a distribution of confidence for each; atoms are
 * placed on the host (models/folding/atoms.h). */
#ifndef BI_FOLD_H
#define BI_FOLD_H

#include "model.h"

/* Numbers of a token's row of the input "code": rows of a table, -1 = none. */
enum { BI_FOLD_CODES = 2 };

/* A residue as the graph takes it. */
struct bi_fold_token {
    int32_t code[BI_FOLD_CODES];
    int32_t number; /* along its chain, as the family counts */
    char atoms;     /* letter of the residue whose atoms it has */
};

/* Sizes of a batch. */
struct bi_fold_shape {
    int64_t n_records, n_tokens, longest; /* longest: tokens of one record */
    int32_t uncorrected; /* without the correction that a family makes by default, if it has one */
};

/* Outputs of the graph: kinds of bi_output(), float32 rows of tokens. */
enum {
    BI_FOLD_FRAME = 1, /* [T, 7] quaternion (w, x, y, z) and translation in angstrom */
    BI_FOLD_ANGLES,    /* [T, 14] pairs of sine and cosine, of any length */
    BI_FOLD_CONFIDENCE /* [T, n] probabilities of n equal bins of pLDDT from 0 to 1 */
};

struct bi_fold_def {
    /* The token of a residue: letter is upper case, chain and place count from 0. False: the family
     * has no such letter. */
    bool (*token)(struct bi_fold_token *token, char letter, int chain, int place);
    /* Inputs "code" int32 [T, BI_FOLD_CODES], "number" int32 [T] and "start" int32 [n + 1]. */
    void (*build)(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape);
    int n_chains;      /* that a record has, exactly */
    int longest_chain; /* residues, beyond which results are not to be trusted */
    double least;      /* for the lengths of pairs of angles, see bi_folded_place() */
};

#endif
