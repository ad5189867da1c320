/* kinds.h - the kinds of families: what a family takes and gives, and which tasks it serves. */
#ifndef BI_KINDS_H
#define BI_KINDS_H

#include "../base/hash.h"

struct bi_model;
struct bi_model_def;

struct bi_family_kind {
    const char *name; /* "sequences" */
    enum bioinfer_family_kind kind;
    /* Words for a family that is of another kind: "takes no sequences of residues". */
    const char *lacks;
    /* Adds all that decides the results of an open model and is neither a value of a weight nor
     * its family's alone (bi_model_def.facts): the facts that tasks of this kind read from
     * struct bi_model, and the graph of the smallest batch of each of them, in its canonical form.
     * A status of building the graph, which is then not to be trusted. */
    int (*fingerprint)(const struct bi_model *model, struct bi_hash *to,
                       struct bioinfer_error *err);
};

/* Beside each the struct that bi_model_def.def points to. */
extern const struct bi_family_kind bi_kind_sequences; /* struct bi_sequences_def, model.h */
extern const struct bi_family_kind bi_kind_tracks;    /* struct bi_tracks_def, programs.h */
extern const struct bi_family_kind bi_kind_design;    /* struct bi_design_def, design.h */
extern const struct bi_family_kind bi_kind_affinity;  /* struct bi_affinity_def, affinity.h */
extern const struct bi_family_kind bi_kind_energy;    /* struct bi_energy_def, energy.h */
extern const struct bi_family_kind bi_kind_fold;      /* struct bi_fold_def, fold.h */

/* A family's def where it is of this kind, else NULL. */
const void *bi_family_def(const struct bi_model_def *family, const struct bi_family_kind *kind);

#endif
