/* design.h - designs of sequences, apart from how they are computed: structures as a model sees
 * them, side files, the jobs of a structure with their random numbers, results. The task is
 * tasks/design.c. */
#ifndef BI_DESIGN_H
#define BI_DESIGN_H

#include "../base/random.h"
#include "../kernels/decode.h"
#include "../kernels/edges.h"
#include "../loaders/json.h"
#include "../loaders/structure.h"
#include "model.h"

/* ---- the family ---- */

/* Outputs of a graph that designs sequences: kinds of bi_output(). */
enum { BI_DESIGN_CODES = 1, BI_DESIGN_LOGITS, BI_DESIGN_RESCORED };

enum bi_design_pass {
    BI_PASS_SAMPLE,       /* the loop: codes and the logits they were drawn from */
    BI_PASS_SCORE,        /* given sequences, all positions at once: logits */
    BI_PASS_UNCONDITIONAL /* nothing known of the sequence: logits */
};

/* Sizes of a batch of structures and of the sequences over them. */
struct bi_design_shape {
    int64_t n_tokens, n_structures, longest, n_samples, n_sampled, n_terms, n_cells;
    enum bi_design_pass pass;
    int32_t rescore; /* SAMPLE: the codes are scored again when all are known */
};

/* Facts that a family which designs sequences for structures tells the engine. */
struct bi_design_facts {
    int k;               /* neighbours of a residue */
    bool ca_only;        /* input "x" is [N, 9]: CA of the residue before, its own, the next */
    bool labels;         /* input "label": a class per residue */
    int ligand_atoms;    /* context atoms of a residue; 0 = none */
    bool run_py;         /* LigandMPNN's run.py alone takes these weights: its parser, its draws */
    int64_t torch_draws; /* numbers PyTorch's CPU generator gives away while the model is made */
    const char *variant; /* "v_48_020" */
};

struct bi_design_def {
    /* Writes the graph. Inputs by name as in tasks/design_batch.c. Operands stay float32. */
    void (*build)(const struct bi_model *model, struct bi_graph *g,
                  const struct bi_design_shape *shape);
};

/* ---- structures and jobs ---- */

/* A chain of a structure: tokens [begin, begin + n). */
struct bi_segment {
    char id[8];
    int64_t begin, n;
    bool designed;
};

/* Tied positions: tokens, and how much each one's logits count. */
struct bi_tie {
    int32_t n;
    const int32_t *tokens;
    const float *weights;
};

/* How far the jobs of a structure are made: they are made in rounds, as all of them may not fit. */
struct bi_walk {
    bool begun, done, failed; /* failed: no more can be made */
    uint64_t step;            /* draws of orders made; the native sequence's is the first */
    int batch;                /* SCORE: of the sequence */
    float *open;              /* [n] bi_is_open() of each token; lives in the entry's arena */
    bioinfer_reader *reader;  /* SCORE: of the sequences given */
    char *sequence;           /* SCORE: name of the one in `codes`, NULL = of the file */
    int32_t *codes;           /* SCORE: [n] */
};

/* One structure with everything asked of it. Chains that are designed come first; both kinds by
 * name. All arrays are [n] of tokens and live in the arena. */
struct bi_entry {
    struct bi_arena arena;
    char *name;
    uint64_t ordinal;
    int status;
    char message[1020];
    int64_t n;
    float *x;                          /* [n, 12], CA-only [n, 9] */
    float (*backbone)[BI_BACKBONE][3]; /* as read, missing ones zero */
    float *mask, *designed, *open;     /* all atoms there; of a designed chain; not fixed */
    int32_t *number, *chain, *codes, *label;
    /* [n, M] with ligand context: the atoms nearest to each C-beta; mask 0 behind the last */
    float (*atoms)[3], *atom_mask;
    int32_t *element;
    struct bi_segment *segments;
    size_t n_segments;
    struct bi_tie *ties;
    size_t n_ties;
    /* these change the distribution at a token; NULL = nothing does */
    float *omit;                  /* [n, 21] */
    float *bias;                  /* [n, 21] */
    float *pssm_scale;            /* [n] */
    float *pssm_bias, *pssm_odds; /* [n, 21] */
    struct bi_walk walk;
};

/* Side files, each read once. */
struct bi_side_files {
    struct bi_arena arena;
    const struct bi_json *chains, *fixed, *tied, *omit, *bias, *pssm; /* by name of structure */
    double omit_all[BI_SYMBOLS], bias_all[BI_SYMBOLS];
};

/* Reads the texts params->..._json, and sets these to NULL, as they are the caller's (not where
 * INVALID is returned). A text that is NULL leaves NULL in *side; omit_aa NULL omits X. INVALID: a
 * letter of omit_aa that is none, which is found first; EMPTY: a text without an object; FORMAT: a
 * line is no JSON object, or a bias of bias_json no number; a bias of another letter is logged and
 * ignored. The entries of each structure are checked by bi_entry_read(). After a failure, too, it
 * may be freed, which leaves zeros. */
int bi_side_files_read(struct bi_side_files *side, const struct bi_env *env,
                       struct bioinfer_design_params *params, struct bioinfer_error *err);
void bi_side_files_free(struct bi_side_files *side);

/* Remarks on structures: the first of a kind is told by name, the others as a count. */
enum bi_note {
    BI_NOTE_READ,
    BI_NOTE_ORDER,
    BI_NOTE_UNSEEN,
    BI_NOTE_UNREAD,
    BI_NOTE_NO_LIGAND,
    BI_NOTE_TIES,
    BI_NOTE_GROUPS,
    BI_NOTES
};
struct bi_notes {
    uint64_t n[BI_NOTES];
};

/* Logs a warning for the first ones of a kind (10, or 1), cut to 511 bytes, counts the others. */
void bi_note(struct bi_notes *notes, const struct bi_env *env, enum bi_note kind, const char *fmt,
             ...) BI_PRINTF(4, 5);
/* Says how many more there were, by kind, nothing of kinds without more, and begins again. */
void bi_notes_end(struct bi_notes *notes, const struct bi_env *env);
/* Notes BI_NOTE_TIES where the k neighbours of some residue depend on the order of equally near
 * ones, which is not looked for with noise on the coordinates, or beyond 2,048 residues; or where
 * so few residues have their atoms that masked ones are neighbours. Nothing where n is at most
 * k. */
void bi_note_ties(struct bi_notes *notes, const struct bi_env *env, const struct bi_entry *e, int k,
                  bool noise);
/* Notes BI_NOTE_GROUPS, up to three times, where the positions of a tied group differ in having
 * their atoms, in being designed, or in bias and PSSM: one letter is drawn for all of them. */
void bi_note_groups(struct bi_notes *notes, const struct bi_env *env, const struct bi_entry *e);

/* Makes an entry of a record, whose sequence is the text of a structure. A failure of the structure
 * is the entry's status and message, and 0 is returned; NOMEM alone stops the run. A record with a
 * status passes it on. Others are those of bi_structure_open() and bi_backbone_build(); NOT_FOUND:
 * a chain or residue named is not there, or a side file lacks the structure; INVALID: a position
 * off its chain; FORMAT, MISMATCH: what a side file says; EMPTY: no chain is chosen, or no residue
 * has its atoms; TOO_LONG: more than params->max_length. The record need not stay. The entry is to
 * be freed after a failure, too. */
int bi_entry_read(struct bi_entry *entry, const struct bi_model *model,
                  const struct bioinfer_record *record, const struct bioinfer_design_params *params,
                  const struct bi_side_files *side, struct bi_notes *notes,
                  struct bioinfer_error *err);
/* Frees it with what its walk has open; *entry is zeros then. Safe on zeros. */
void bi_entry_free(struct bi_entry *entry);
/* Fills x, "x" of the entry with other backbone coordinates: [n, 12], or ca_only [n, 9]. */
void bi_entry_coordinates(const struct bi_entry *entry, bool ca_only,
                          const float (*backbone)[BI_BACKBONE][3], float *x);
/* Fills terms [BI_TERMS] of a token (kernels/decode.h) at a temperature above 0. Equal for all
 * tokens when `has_terms` is false: those of omit_aa and bias_json alone. */
bool bi_entry_has_terms(const struct bi_entry *entry);
void bi_entry_terms(const struct bi_entry *entry, const struct bioinfer_design_params *params,
                    const struct bi_side_files *side, int64_t token, double temperature,
                    double *terms);

/* ---- jobs: what is computed for an entry ---- */

enum {
    BI_DESIGN_BATCH = 1 << 20,       /* most sequences that share a draw */
    BI_DESIGN_BATCH_TOKENS = 1 << 22 /* most residues of those */
};

enum bi_job_kind {
    BI_JOB_NATIVE,
    BI_JOB_SAMPLE,
    BI_JOB_SCORE,
    BI_JOB_CONDITION,
    BI_JOB_UNCONDITIONAL
};

struct bi_job {
    enum bi_job_kind kind;
    struct bi_entry *entry;
    const float *x;     /* coordinates of its structure: jobs of equal x share an encoder */
    const float *again; /* coordinates of its second scoring, NULL = none */
    double temperature;
    int number;           /* from 1 */
    const char *sequence; /* SCORE: the name of a sequence given; NULL = that of the file */
    int32_t position;     /* CONDITION */
    const float *keys;    /* CONDITION: |r| */
    int32_t *order;       /* tokens as they are decided */
    struct bi_step *plan;
    float *weight;
    double *noise;
    int32_t *codes;    /* given, or what came out */
    float *logits;     /* [n, 21]; CONDITION: [21] */
    float *drawn_from; /* [n, 21] logits of the draws where they are not `logits` */
};

struct bi_order_key {
    float value;
    int32_t token;
};
/* The jobs of a round; what they hold lives in the arena. */
struct bi_jobs {
    struct bi_arena arena;
    struct bi_job *of;
    size_t n, cap;
    int64_t tokens, limit; /* tokens of all jobs; a round ends behind the draw that reaches limit */
    struct bi_order_key *keys; /* scratch */
    float *normal;
    size_t cap_keys, cap_normal;
};

/* A run: all that is asked of every structure, and the stream that its numbers come from. */
struct bi_design_run {
    const struct bi_env *env;
    const struct bi_model *model;
    struct bioinfer_design_params params;
    struct bioinfer_text sequences; /* params.sequences points to it */
    struct bi_side_files side;
    struct bi_notes notes;
    struct bi_random random;
    double *temperatures;
    int n_temperatures, n_batches, copies;
};

/* For qsort() of struct bi_order_key: -1, 0 or 1, ascending by value, then token. */
int bi_compare_order(const void *a, const void *b);
/* Is the token one that is designed: of a designed chain, not fixed, all atoms there: 1 or 0. */
float bi_is_open(const struct bi_entry *e, int64_t i);
/* Makes room for orders of n tokens in jobs->keys and jobs->normal, whose content stays. NOMEM is
 * the only failure. */
int bi_design_scratch(const struct bi_design_run *d, struct bi_jobs *jobs, size_t n,
                      struct bioinfer_error *err);
/* Appends jobs of one entry, and draws their random numbers, up to the end of the entry (walk.done)
 * or of the round, but one draw at least, which may give no job where nothing is conditioned on.
 * LIMIT: more than 2^32 draws, or copies of the entry with more than BI_DESIGN_BATCH_TOKENS
 * residues; INVALID: a token in two ties; BAD_RESIDUE, TOO_LONG, or a status of bi_fasta_next(): a
 * sequence given. After a failure jobs->of is not to be used, and the walk goes no further: the
 * caller sets walk.failed. */
int bi_design_jobs(struct bi_design_run *d, struct bi_jobs *jobs, struct bi_entry *e,
                   struct bioinfer_error *err);
/* Frees what a walk has open; it begins anew then. Safe on zeros. */
void bi_walk_end(struct bi_entry *e);

/* ---- results ---- */

/* The jobs of one round, all computed, and where their results go. */
struct bi_design_round {
    struct bi_entry *entry;
    const struct bi_jobs *jobs;
    uint32_t *n_pieces; /* results of the structure handed out so far */
    bool last;          /* no other round of this structure follows */
    bool runs;          /* the device computes: results are checked */
    bioinfer_sink sink;
    void *user;
};

/* Memory that results point to. */
struct bi_report {
    const struct bi_design_run *run;
    float *log_probs, *probs, *mask; /* arrays of one result */
    size_t cap_log_probs, cap_probs, cap_mask;
    struct bi_buf header, sequence, order;
};

/* Hands out the results of a round, or why there are none: the entry's status, which NONFINITE
 * becomes where the device ran and a logit is not finite, is such a result, in place of all others
 * of the round. Without jobs nothing is handed out, but for an empty result where the round is the
 * last. *n_pieces counts on. Returns 0, NOMEM, or what the sink gave. Results live while the sink
 * runs. */
int bi_design_report(struct bi_report *r, const struct bi_design_round *round,
                     struct bioinfer_error *err);
/* Frees what results took, for a run to come; *r may be zeros. run->env is the one that it took
 * memory from. */
void bi_design_report_reset(struct bi_report *r, const struct bi_design_run *run);

#endif
