/* kinds.h - the kind of an array of an output, by its name, its shape and words in the file. */
#ifndef BI_REPORT_KINDS_H
#define BI_REPORT_KINDS_H

#include "arrays.h"

enum bi_array_kind {
    BI_ARRAY_OTHER,
    BI_ARRAY_VECTOR,     /* [D] */
    BI_ARRAY_RESIDUES,   /* [L, D] */
    BI_ARRAY_CONTACTS,   /* [L, L] */
    BI_ARRAY_ATTENTIONS, /* [layers, heads, L, L] */
    BI_ARRAY_LETTERS,    /* [L, V]: logits, log-probabilities */
    BI_ARRAY_TRACKS,     /* [bins, tracks], or [bins] */
    BI_ARRAY_PAIRS,      /* [bins, bins, tracks] */
    BI_ARRAY_CHANGES,    /* [bases, 4, tracks] */
    BI_ARRAY_MATRIX,     /* [N, D], a row for each record */
    BI_ARRAY_SQUARE,     /* [N, M], values of pairs of records */
    BI_ARRAY_VALUES,     /* [n], some numbers of a record */
    BI_ARRAY_PLAIN,      /* [rows, columns] of which nothing is known */
    BI_ARRAY_IDS,
    BI_ARRAY_KINDS
};

/* An array with the parts of its name: ID/layer_N/KIND, ID/KIND, or the id alone. */
struct bi_array_named {
    const struct bi_array_entry *e;
    enum bi_array_kind kind;
    const char *suffix; /* the name of its kind; "" = the file does not say. Of an output of a model
                         * of tracks it lives as long as the list of arrays */
    size_t id_len;      /* bytes of e->name */
    int layer;          /* -1 = none */
};

/* Fills all[a->n] in the order of the entries; an array without elements is OTHER. FORMAT: an array
 * has not the dimensions that its name asks for. */
int bi_arrays_tell(const struct bi_arrays *a, struct bi_array_named *all,
                   struct bioinfer_error *err);
/* Hands out the ids of the n rows of a matrix, in order: the texts of `set`, the array beside it;
 * where that is NULL the lines of the file of ids beside an npy, as many as there are. Nothing
 * where the file does not tell them. A status, or what take() returned. */
int bi_arrays_ids(const struct bi_arrays *a, const struct bi_array_entry *set, uint64_t n,
                  bi_array_take_text take, void *user, struct bioinfer_error *err);

#endif
