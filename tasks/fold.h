/* fold.h - the task fold, as its files share it. */
#ifndef BI_TASKS_FOLD_H
#define BI_TASKS_FOLD_H

#include "../loaders/components.h"
#include "../models/fold.h"
#include "../models/folding/atoms.h"
#include "tasks.h"

static const float bi_fold_farthest = 1e9F; /* angstrom: files have digits for an atom there */

/* A structure of a record. */
struct fold_structure {
    int number;             /* in the order of drawing, from 0 */
    double ptm, iptm, rank; /* rank: the larger, the better; NaN: there is none */
    float (*x)[3];          /* [n_atoms] angstrom */
    float *plddt;           /* [n] */
    float *level;           /* [n_atoms] pLDDT of each, or NULL */
    float *pae;             /* [n_paired, n_paired], or NULL */
    struct bi_buf summary;  /* scores as JSON, of a family of complexes */
};

enum {
    BI_FOLD_TOKENS = 46340,   /* the most of a record: pairs are counted in 31 bits */
    BI_FOLD_STRUCTURES = 4096 /* the same */
};

struct fold_unit {
    struct bi_unit base;
    struct bi_item item;
    uint64_t ordinal;
    int32_t n, n_chains, n_tokens; /* n: residues; tokens: linkers, too */
    int32_t n_paired;              /* rows of pae: residues, or tokens of a complex */
    int64_t n_atoms;
    int step; /* the stem 0, then for each seed passes and samples; 0: the family folds at once */
    int n_seeds;
    const int64_t *seeds; /* at least 1 */
    /* Kept values of the stem, of the pass before and, once there is room, of the one at hand. */
    struct bi_kept *kept[BI_FOLD_KEPT], *fresh[BI_FOLD_KEPT];
    struct bi_fold_alignment alignment; /* depth 0 = there is none */
    char *aligned;                      /* letters and deletions of it */
    int32_t *deleted;
    struct fold_structure *of; /* as many as bi_fold_n_structures() says, in a block of memory */
    /* The chains at hand: they lie in the block of letters below, or are the complex's. */
    struct bioinfer_fold_chain *chains;
    char *sequence;                   /* [n] letters and a NUL */
    int32_t *first;                   /* [n + 1] first atom of each residue */
    char (*names)[5], (*elements)[3]; /* [n_atoms] */
    struct bi_fold_complex complex;   /* features NULL: a record of letters */
    /* A record of letters, in one block of memory. */
    void *block;
    char (*chain_names)[8];
    /* Per token: */
    int32_t (*code)[BI_FOLD_CODES], *number;
    int32_t *chain;
    char *letters;
    /* Per token of the stem: */
    int32_t *ids;
    float *scale;
    int32_t *rows;  /* [n_tokens] tokens that go on */
    int32_t *token; /* [n] the token that a residue is */
    char *atoms;    /* [n] letters whose atoms a residue has */
};

struct fold {
    struct bioinfer_task task;
    const struct bi_fold_def *def;
    struct bi_fold_kept kept[BI_FOLD_KEPT];
    int n_passes;  /* 0 = the family folds at once */
    int n_samples; /* for each seed; 0 = atoms follow from frames and angles */
    int n_seeds;   /* that the params have, which a record may; 0 = none */
    int64_t *seeds;
    bool aligns; /* passes read alignments */
    int64_t points, n_steps, level_width;
    float *levels; /* [n_steps, level_width] that samples are told of noise */
    struct bioinfer_fold_params p;
    char *no_rules;
    char *msa;                        /* a folder of alignments, or NULL */
    struct bi_components *components; /* a family of complexes makes records of them */
    struct bi_fold_shape shape;       /* the last recipe points to it */
    bool parts_alone; /* for tests: also what memory holds at once is computed in parts */
    /* The result at hand. */
    struct bi_buf text;
    struct bioinfer_fold_atom *atoms;
    size_t cap_atoms;
    float *coordinates;
    size_t cap_coordinates;
};

/* Arrays by their bits of `include`. */
enum { BI_FOLD_ARRAYS = 3 };
extern const struct bi_fold_array {
    const char *name;
    unsigned bit;
} bi_fold_arrays[BI_FOLD_ARRAYS];

/* How many structures a record gets. */
int bi_fold_n_structures(const struct fold *f, const struct fold_unit *u);
/* Programs for one seed, the stem aside: passes, then samples. */
int bi_fold_round(const struct fold *f);
/* Rows of an item of the output of a kind, and how many numbers they have; NULL: there is no such
 * output. */
const float *bi_fold_rows_of(const struct bi_batch_place *place, int kind, int64_t *ld,
                             int64_t *width);
/* False also where one of n numbers is NaN. */
bool bi_fold_all_within(const float *x, int64_t n, float most);

/* ---- fold_letters.c ---- */

/* Makes what is folded of chains of letters. EMPTY, BAD_RESIDUE, TOO_LONG, UNSUPPORTED, LIMIT,
 * NOMEM. */
int bi_fold_read_letters(const struct fold *f, const struct bioinfer_record *record,
                         struct fold_unit *u, struct bioinfer_error *err);

/* ---- fold_complex.c ---- */

/* Opens the components that a family of complexes makes records of, by default those within the
 * program. UNSUPPORTED: a file of them for another family; what bi_components_open() gives. */
int bi_fold_open_components(struct fold *f, struct bioinfer_error *err);
/* Makes what is folded of a complex. Statuses of the family, of checks of letters, TOO_LONG. */
int bi_fold_read_complex(const struct fold *f, const struct bioinfer_record *record,
                         struct fold_unit *u, struct bioinfer_error *err);
/* Checks chains of letters, and sets numbers of residues, chains, tokens and atoms alone. */
int bi_fold_check_letters(const struct fold *f, const struct bioinfer_record *record,
                          struct fold_unit *u, struct bioinfer_error *err);

/* ---- fold_samples.c ---- */

/* Prepares samples as the params ask for them, else the weights. Refuses what a family without
 * samples has no use for: UNSUPPORTED. INVALID: a number of its params; NOMEM. */
int bi_fold_open_samples(struct fold *f, struct bioinfer_error *err);
/* Sets what the family makes of an item, or where its chains begin in the stem. */
void bi_fold_fill(const struct fold *f, const struct fold_unit *u, enum bi_fold_program program,
                  const struct bi_batch_place *place);
/* Takes a sample. NOMEM; NONFINITE: a score or a place is not finite. */
int bi_fold_collect_sample(const struct fold *f, struct fold_unit *u,
                           const struct bi_batch_place *place, struct bioinfer_error *err);

/* ---- fold_result.c ---- */

/* As result() of struct bi_task_def: a piece for each structure, the best one first. */
int bi_fold_result(struct bioinfer_task *t, struct bi_unit *unit, struct bioinfer_error *err);

/* ---- fold_alignment.c ---- */

/* Checks parameters of alignments. INVALID, UNSUPPORTED, NOT_FOUND, NOMEM. */
int bi_fold_open_alignments(struct fold *f, struct bioinfer_error *err);
/* Reads the alignments of the unit's chains where the record has some, or a folder of them is asked
 * for. NOT_FOUND: the file of a chain is missing; MISMATCH: one is of other residues; INVALID,
 * UNSUPPORTED; what bi_a3m_read() gives. */
int bi_fold_align(const struct fold *f, const struct bioinfer_record *record, struct fold_unit *u,
                  struct bioinfer_error *err);

#endif
