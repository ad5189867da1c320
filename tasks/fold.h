/* fold.h - the task fold, as its files share it. */
#ifndef BI_TASKS_FOLD_H
#define BI_TASKS_FOLD_H

#include "../models/fold.h"
#include "../models/folding/atoms.h"
#include "tasks.h"

static const float bi_fold_farthest = 1e9F; /* angstrom: files have digits for an atom there */

/* A structure of a record. Arrays are [n], but for pae. */
struct fold_structure {
    int number;             /* in the order of drawing, from 0 */
    double ptm, iptm, rank; /* rank: the larger, the better; ptm and iptm NaN: there is none */
    float (*x)[BI_FOLDED_ATOMS][3];
    float *plddt;
    float (*level)[BI_FOLDED_ATOMS]; /* pLDDT of each atom, or NULL */
    float *pae;                      /* [n, n], or NULL */
};

struct fold_unit {
    struct bi_unit base;
    struct bi_item item;
    uint64_t ordinal;
    int32_t n, n_chains, n_tokens; /* n: residues; tokens: linkers, too */
    int64_t n_atoms;
    int step; /* the stem 0, then for each seed passes and samples; 0: the family folds at once */
    /* Kept values of the stem, of the pass before and, once there is room, of the one at hand. */
    struct bi_kept *kept[BI_FOLD_KEPT], *fresh[BI_FOLD_KEPT];
    struct bi_fold_alignment alignment; /* depth 0 = there is none */
    char *aligned;                      /* letters and deletions of it */
    int32_t *deleted;
    /* In one block of memory, which `chains` begins; [n] each, but for chains and structures. */
    struct bioinfer_fold_chain *chains;
    char (*names)[8];
    struct fold_structure *of; /* as many as bi_fold_n_structures() says */
    /* Per token: */
    int32_t (*code)[BI_FOLD_CODES], *number;
    int32_t *chain;
    char *letters;
    /* Per token of the stem: */
    int32_t *ids;
    float *scale;
    int32_t *rows;          /* [n_tokens] tokens that go on */
    int32_t *token;         /* [n] the token that a residue is */
    char *sequence, *atoms; /* sequence ends with a NUL; atoms: letters whose atoms a residue has */
};

struct fold {
    struct bioinfer_task task;
    const struct bi_fold_def *def;
    struct bi_fold_kept kept[BI_FOLD_KEPT];
    int n_passes;  /* 0 = the family folds at once */
    int n_samples; /* for each seed; 0 = atoms follow from frames and angles */
    int n_seeds;   /* at least 1 */
    int64_t *seeds;
    bool aligns; /* passes read alignments */
    int64_t points, n_steps, level_width;
    float *levels; /* [n_steps, level_width] that samples are told of noise */
    struct bioinfer_fold_params p;
    char *no_rules;
    char *msa;                  /* a folder of alignments, or NULL */
    struct bi_fold_shape shape; /* the last recipe points to it */
    bool parts_alone;           /* for tests: also what memory holds at once is computed in parts */
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
int bi_fold_n_structures(const struct fold *f);
/* Programs for one seed, the stem aside: passes, then samples. */
int bi_fold_round(const struct fold *f);
/* Sets the names of a residue's atoms; their number. A residue may be without. */
int bi_fold_atom_names(const struct fold *f, const struct fold_unit *u, int32_t residue,
                       const char *names[BI_FOLDED_ATOMS]);
/* How many atoms a residue has. */
int bi_fold_n_atoms(const struct fold *f, const struct fold_unit *u, int32_t residue);
/* Rows of an item of the output of a kind, and how many numbers they have; NULL: there is no such
 * output. */
const float *bi_fold_rows_of(const struct bi_batch_place *place, int kind, int64_t *ld,
                             int64_t *width);
/* False also where one of n numbers is NaN. */
bool bi_fold_all_within(const float *x, int64_t n, float most);

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
