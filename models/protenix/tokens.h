/* tokens.h - Protenix: tokens and atoms of a job's chains, from chemical components. */
#ifndef BI_PROTENIX_TOKENS_H
#define BI_PROTENIX_TOKENS_H

#include "../../loaders/components.h"
#include "features.h"

/* Chains of one sequence: components, one after another, with bonds between them where it is a
 * polymer. */
struct protenix_chain {
    const char *const *codes; /* [n] */
    int32_t n, copies;
    bool polymer;
    const struct bi_component *own; /* the one component, of which codes[0] is the name; or NULL */
};

/* An end of a bond that a job names; numbers begin at 0. Copy -1: each one, where both ends
 * have -1 and as many copies. */
struct protenix_end {
    int32_t chain, copy, position;
    const char *atom;
};

struct protenix_bond {
    struct protenix_end ends[2];
};

/* All that tokens are made of; `name` is for messages. */
struct protenix_parts {
    const struct protenix_chain *chains;
    int32_t n, n_bonds;
    const struct protenix_bond *bonds;
    const char *name;
};

/* Features of a job without an alignment and templates: the alignment is the row of its own kinds.
 * Zero-initialise. */
struct protenix_tokens {
    struct protenix_features f;
    bool *frame, *polymer; /* [n_tokens] do atoms give a frame? [n_atoms] of a polymer's chain? */
    char (*names)[5];      /* [n_atoms] */
    const char **codes;    /* [n_tokens] of the component, in the job's */
    void *room[20];        /* all of it */
    int n_rooms;
};

/* Makes them. A residue or base of the 31 usual ones is a token, and so is each atom of any other
 * component. Atoms that leave when components are bonded go, and MSE becomes MET. Places are the
 * components' own, centred by component. Where several groups of atoms may leave the first ones go;
 * the published program draws them. NOT_FOUND: there is no such component, or no such atom of a
 * bond; UNSUPPORTED: neighbours in a polymer have no bond, or an atom leaves that is to be bonded;
 * INVALID: a bond joins an atom with itself; EMPTY: no chains; LIMIT: more than 46,340
 * tokens; NOMEM. *to is to be freed in any case. */
int protenix_tokens_make(struct protenix_tokens *to, const struct bi_env *env,
                         const struct bi_components *components, const struct protenix_parts *parts,
                         struct bioinfer_error *err);
/* Room for n things, zeros, which is freed with the tokens; NULL: there is no memory. */
void *protenix_tokens_room(struct protenix_tokens *to, const struct bi_env *env, size_t n,
                           size_t size);
/* Accepts zeros, and leaves them. */
void protenix_tokens_free(const struct bi_env *env, struct protenix_tokens *tokens);

#endif
