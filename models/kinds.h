/* kinds.h - the kinds of families: what a family takes and gives, and which tasks it serves. */
#ifndef BI_KINDS_H
#define BI_KINDS_H

#include "../base/hash.h"

struct bi_model;

struct bi_family_kind {
    const char *name; /* "sequences" */
    /* Adds all that decides the results of an open model and is neither a value of a weight nor
     * its family's alone (bi_model_def.facts): the facts that tasks of this kind read from
     * struct bi_model, and the graph of the smallest batch of each of them, in its canonical form.
     * A status of building the graph, which is then not to be trusted. */
    int (*fingerprint)(const struct bi_model *model, struct bi_hash *to,
                       struct bioinfer_error *err);
};

/* embed, score; tracks, variants; design; affinity; energy, relax, md */
extern const struct bi_family_kind bi_kind_sequences, bi_kind_tracks, bi_kind_design,
    bi_kind_affinity, bi_kind_energy;

#endif
