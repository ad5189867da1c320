/* features.h - Protenix: what is known of a record, and inputs that the host makes of it. */
#ifndef BI_PROTENIX_FEATURES_H
#define BI_PROTENIX_FEATURES_H

#include "protenix.h"

/* A template of a record. */
struct protenix_template_features {
    const int32_t *type;           /* [n_tokens] kinds, below PROTENIX_TYPES */
    const float *distances, *axes; /* [n_tokens, n_tokens, PROTENIX_DISTANCES], PROTENIX_AXES; NULL:
                                         nothing is known of places */
    int32_t copies;                /* how many templates are this one */
};

/* A record: tokens of a chain follow each other, and so do atoms of a token, which has at least one
 * and at most PROTENIX_PLACES. */
struct protenix_features {
    int64_t n_tokens, n_atoms, depth, n_templates;
    /* [n_tokens] each: chains from 0, numbers of residues, sequences, copies of one sequence,
     * places of tokens, and kinds. */
    const int32_t *chain, *residue, *entity, *copy, *index, *type;
    const int32_t *first_atom, *seen; /* [n_tokens + 1]; [n_tokens] the atom that stands for it */
    const float *profile, *deletions; /* [n_tokens, PROTENIX_TYPES], [n_tokens] */
    const float *bonds;               /* [n_tokens, n_tokens] 1 or 0 */
    /* [n_atoms] each: places [3] and charges of a reference conformer, 1 where they are known, else
     * 0; atomic numbers less 1; letters [4] less 32; conformers; places in the component of their
     * token, which may lack atoms before them, below PROTENIX_PLACES. */
    const float *place, *charge, *known;
    const int32_t *element, *letters, *space, *slot;
    /* [depth, n_tokens] each: kinds, is a residue left out before it, a measure of how many. */
    const int32_t *aligned;
    const float *deleted, *deletion;
    struct protenix_template_features templates[PROTENIX_TEMPLATES];
};

/* Are numbers of tokens, atoms and kinds as above? INVALID with the first that is not, `name` being
 * of the record. Conformers and chains may have any number. */
int protenix_check(const struct protenix_features *f, const char *name, struct bioinfer_error *err);
/* Sets the rows of a record in an input: `to` begins with the rows of the batch, and `at` counts
 * what comes before. False: the name is of no input that follows from features. */
bool protenix_fill(const struct protenix_features *f, const char *input, void *to,
                   const struct bi_counts *at);

#endif
