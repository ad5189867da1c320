/* fold.h - families that fold sequences of residues into structures.
 *
 * A record becomes one sequence of tokens, a token for each residue, chain after chain, with
 * linkers between where the family has some.
 * The graph gives a frame, seven torsions and a distribution of confidence for each; atoms are
 * placed on the host (models/folding/atoms.h). */
#ifndef BI_FOLD_H
#define BI_FOLD_H

#include "model.h"

struct bi_components; /* loaders/components.h */

/* Numbers of a token's row of the input "code": rows of a table, -1 = none. */
enum { BI_FOLD_CODES = 2 };

/* A residue as the graph takes it. */
struct bi_fold_token {
    int32_t code[BI_FOLD_CODES];
    int32_t number; /* along its chain, as the family counts */
    char atoms;     /* letter of the residue whose atoms it has */
};

/* Programs of a fold. A family that folds at once has one; another runs a stem and then passes,
 * each of which reads what the one before it kept. */
enum bi_fold_program {
    BI_FOLD_WHOLE,
    BI_FOLD_STEM,
    BI_FOLD_FIRST, /* the first pass of several */
    BI_FOLD_AGAIN,
    BI_FOLD_LAST,
    BI_FOLD_ONLY,  /* the first pass, and the last one */
    BI_FOLD_SAMPLE /* atoms are drawn, after the last pass */
};

/* Sizes of a batch, and what is computed of it. */
struct bi_fold_shape {
    int64_t n_records, n_tokens, longest; /* longest: tokens of one record */
    int64_t n_grid, n_rows;               /* passes: pairs of tokens; stem: tokens that go on */
    int64_t n_atoms;                      /* 0 where tokens of the family have no atoms */
    int64_t n_aligned;                    /* rows of alignments, 0 where none are read */
    int64_t n_steps;                      /* BI_FOLD_SAMPLE: steps of the sampler */
    int64_t n_parts;     /* parts of equally many pairs, one after another, for less memory; 0 or 1:
                      * all at once. The bits are the same */
    int32_t uncorrected; /* without the correction that a family makes by default, if it has one */
    int32_t program;     /* enum bi_fold_program */
};

/* Outputs of the graph: kinds of bi_output(), float32 rows of tokens. */
enum {
    BI_FOLD_FRAME = 1,  /* [T, 7] quaternion (w, x, y, z) and translation in angstrom */
    BI_FOLD_ANGLES,     /* [T, 14] pairs of sine and cosine, of any length */
    BI_FOLD_CONFIDENCE, /* [T, n] probabilities of n equal bins of pLDDT from 0 to 1 */
    BI_FOLD_LEVELS,     /* instead, [T, 37 n] logits of such bins of each atom (confidence.h) */
    BI_FOLD_ERRORS, /* [G, 64] probabilities of bins of aligned errors of pairs (confidence.h) */
    BI_FOLD_PLACES, /* [A, 3] atoms in angstrom, instead of frames and angles */
    BI_FOLD_DISTANCE_ERRORS, /* [G, n] probabilities of bins of errors of distances of pairs */
    BI_FOLD_CONTACTS         /* [G, 1] probabilities that pairs are near */
};

/* A kept value. */
struct bi_fold_kept {
    const char *name; /* graphs have inputs and outputs of that name */
    enum bi_axis axis;
    int64_t width;
};

/* A family that folds in passes. Graphs of passes have the inputs "grid_start" and "row_start",
 * too, and the stem's are int32 "ids" [T], "scale" [T], "start", and "rows" [n_rows], the tokens
 * that go on. */
enum { BI_FOLD_KEPT = 4 };
struct bi_fold_passes {
    /* Fills what programs keep: the stem the first one, each pass the others; NULL names end. The
     * last pass keeps them, too, where samples follow. */
    void (*kept)(const struct bi_model *model, struct bi_fold_kept kept[BI_FOLD_KEPT]);
    int (*usual)(const struct bi_model *model); /* passes that the weights ask for */
    /* Ids and factors of the stem's n + 2 tokens: one before the n residues, one after them. NULL:
     * the stem reads what passes read. */
    void (*tokens)(const struct bi_model *model, const char *letters, int64_t n, int32_t *ids,
                   float *scale);
    /* Has graphs in parts, of one record: they have the input "grid_rows", the number of each pair
     * of the batch, -1 of rows without one. */
    bool in_parts;
    bool samples_read_stem;        /* they read the stem's value, not passes alone */
    char linker;                   /* a residue between chains, which is folded and not given */
    int32_t n_linkers, chain_step; /* how many stand there; the step in numbers to a chain */
};

/* Rows of an alignment of a record's tokens. The first one is the record's own. */
struct bi_fold_alignment {
    /* [n_tokens, depth] each: letters in upper case or '-', and how many residues of the row were
     * left out between this one and the one before it. */
    const char *letters;
    const int32_t *deleted;
    int32_t depth;
};

/* A record as a family of complexes makes it: chains of residues, where a ligand is one, too, and
 * their atoms in order. All of it is the family's. */
struct bi_fold_complex {
    int32_t n_tokens, n_chains, n_residues, n_seeds;
    int64_t n_atoms;
    int32_t depth;                      /* rows of the alignment, at least 1 */
    const int64_t *seeds;               /* [n_seeds] that the record asks for; none: the caller's */
    struct bioinfer_fold_chain *chains; /* [n_chains] but for plddt; name NULL: any */
    /* [n_residues] each: letters, with a NUL after them, and codes of components. */
    char *letters, (*codes)[6];
    int32_t *first;                   /* [n_residues + 1] first atom */
    char (*names)[5], (*elements)[3]; /* [n_atoms] */
    void *features;
};

/* A record as a family of complexes takes it. */
struct bi_fold_given {
    const char *text; /* a job in JSON, or chains of letters with ':' or '|' between, checked ... */
    size_t length;
    bool letters; /* ... which of the two */
    const char *id;
    const struct bi_components *components;
};

/* A family whose records are complexes of any kind of chains. */
struct bi_fold_complexes {
    /* Makes what a record is; *to is to be freed in any case. A status of a record. */
    int (*make)(const struct bi_model *model, const struct bi_fold_given *from,
                struct bi_fold_complex *to, struct bioinfer_error *err);
    void (*free)(const struct bi_model *model, struct bi_fold_complex *complex);
};

/* A record of a family that draws places of atoms, and what is computed of it. */
struct bi_fold_record {
    const void *features; /* bi_fold_complex has them; NULL: letters and what follows from them */
    const char *letters;  /* [n_tokens] upper case */
    const int32_t *chain; /* [n_tokens] its chain from 0; tokens of a chain follow each other */
    int32_t n_tokens, n_chains;
    int64_t n_atoms;
    uint64_t seed;
    int32_t program, pass, sample; /* program: enum bi_fold_program; the others count from 0 */
    int64_t points, n_steps;       /* the sampler's schedule has points, which give its steps */
    const struct bi_fold_alignment *alignment; /* NULL: of the record's own row alone */
};

/* Scores of a sample, from 0 to 1; rank: the larger, the better. */
struct bi_fold_scores {
    double plddt, interface_plddt, ptm, iptm, rank;
    struct bi_buf *summary; /* gets all of them as JSON, by a family of complexes */
};

/* Outputs that scores are made of, in order: BI_FOLD_PLACES, BI_FOLD_LEVELS, BI_FOLD_ERRORS,
 * BI_FOLD_DISTANCE_ERRORS, BI_FOLD_CONTACTS. */
enum { BI_FOLD_RATED = 5 };
struct bi_fold_rated {
    const float *rows[BI_FOLD_RATED]; /* the record's; NULL: the family has no such output */
    int64_t ld[BI_FOLD_RATED];        /* numbers from a row to the next */
};

/* A family whose passes are followed by samples: it draws atoms from noise (BI_FOLD_SAMPLE). Its
 * passes and samples have the inputs of BI_FOLD_MADE and "atom_start" [records + 1]. Passes of one
 * that reads alignments have "aligned_start" [records + 1], too. */
enum {
    BI_FOLD_TOKEN_ATOMS = 14, /* the most of a residue */
    BI_FOLD_POINTS = 1000     /* the most of a schedule */
};
#define BI_FOLD_MADE                                                                               \
    "token_atoms", "atom_token", "atom_place", "seen_atom", "numbers", "codes", "turns", "tail",   \
        "relations", "state", "keep", "noise", "plan", "record", "levels", "aligned_token",        \
        "aligned_type", "aligned_numbers", "aligned_share", "places", "charges", "key_query",      \
        "key_atom", "key_pair", "key_offset", "key_near", "key_same", "bonds", "template_row_0",   \
        "template_row_1", "template_column_0", "template_column_1"
struct bi_fold_atoms {
    /* Names of the atoms of a letter, in order; their number. NULL: of a family of complexes. */
    int (*names)(char letter, const char *names[BI_FOLD_TOKEN_ATOMS]);
    bool (*aligns)(const struct bi_model *model); /* does it read alignments? */
    int (*samples)(const struct bi_model *model); /* how many the weights ask for */
    int (*points)(const struct bi_model *model);  /* the same, of a schedule */
    /* How many steps a schedule has by its points. */
    int64_t (*steps)(const struct bi_model *model, int64_t points);
    /* Sets the input "levels", rows of `width` numbers for these steps; NULL: sets *width alone. */
    int (*levels)(const struct bi_model *model, int64_t points, float *levels, int64_t *width,
                  struct bioinfer_error *err);
    /* Sets the rows of an input of BI_FOLD_MADE for a record, but for "levels". `to` begins with
     * the rows of the batch, `at` counts what comes before, and `index` is the record's place. */
    void (*fill)(const struct bi_model *model, const struct bi_fold_record *record,
                 const char *input, void *to, const struct bi_counts *at, int64_t index);
    /* Scores a sample: pLDDT of each atom, and scores. NaN where an output has one. NOMEM. */
    int (*score)(const struct bi_model *model, const struct bi_fold_record *record,
                 const struct bi_fold_rated *rated, float *plddt, struct bi_fold_scores *scores,
                 struct bioinfer_error *err);
};

struct bi_fold_def {
    /* The token of a residue: letter is upper case, chain and place count from 0. False: the family
     * has no such letter. */
    bool (*token)(struct bi_fold_token *token, char letter, int chain, int place);
    /* Inputs "code" int32 [T, BI_FOLD_CODES], "number" int32 [T] and "start" int32 [n + 1]. */
    void (*build)(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_fold_shape *shape);
    int n_chains;            /* that a record has, exactly; 0 = any number */
    const char *chain_names; /* a letter for each of n_chains; NULL = A, B, C, ... */
    const char *takes;       /* words for a record with another number: "a heavy and ..." */
    /* Residues of chains whose results can be trusted; 0 = of any length. */
    int shortest_chain, longest_chain;
    const char *correction; /* which `uncorrected` leaves out; NULL = nothing */
    double least;           /* for the lengths of pairs of angles, see bi_folded_place() */
    const struct bi_fold_passes *passes;       /* NULL = it folds at once */
    const struct bi_fold_atoms *atoms;         /* NULL = atoms follow from frames and angles */
    const struct bi_fold_complexes *complexes; /* NULL = records are chains of letters alone */
};

#endif
