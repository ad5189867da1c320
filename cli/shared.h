/* shared.h - what the command shares with the server, serve/, which sees nothing else of it. Rules
 * that hold for functions of this folder are in cli.h. */
#ifndef BI_CLI_SHARED_H
#define BI_CLI_SHARED_H

#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bioinfer.h"

struct cli;

#define CLI_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define CLI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

/* ---- exit codes: the one list, printed by --help and compared with the man page */

#define CLI_EXIT_LIST(X)                                                                           \
    X(OK, 0, "every record has its result")                                                        \
    X(RECORDS, 1, "some records have no result; the output holds the others")                      \
    X(USAGE, 64, "the command line is wrong")                                                      \
    X(DATA, 65, "the input is malformed, or holds no record")                                      \
    X(NO_INPUT, 66, "the input does not exist or cannot be opened")                                \
    X(NO_DEVICE, 69, "the device is missing, unknown or failed")                                   \
    X(INTERNAL, 70, "a fault of bioinfer itself")                                                  \
    X(NO_MEMORY, 71, "out of memory, or too many files are open")                                  \
    X(NO_OUTPUT, 73, "the output cannot be created")                                               \
    X(IO, 74, "reading or writing failed, or the disk is full")                                    \
    X(WEIGHTS, 78, "the weights are missing, broken or do not fit")                                \
    X(INTERRUPTED, 130, "stopped by SIGINT")                                                       \
    X(CLOSED_PIPE, 141, "the reader of standard output went away")                                 \
    X(TERMINATED, 143, "stopped by SIGTERM")

enum cli_exit {
#define CLI_X(name, value, text) CLI_EXIT_##name = value,
    CLI_EXIT_LIST(CLI_X)
#undef CLI_X
};

/* Says what was being done when a library call failed: with the status it gives the exit
 * code. */
enum cli_stage {
    CLI_AT_SETUP,  /* context */
    CLI_AT_INPUT,  /* opening the input */
    CLI_AT_MODEL,  /* opening the weights */
    CLI_AT_CONFIG, /* options of the task */
    CLI_AT_CREATE, /* creating the output */
    CLI_AT_READ,   /* reading records */
    CLI_AT_RUN,    /* computing */
    CLI_AT_WRITE   /* writing results */
};

/* ---- messages, time ---- */

/* "bioinfer: ..." on standard error, in place of the progress line, through cli_escape(), cut to
 * 4,095 bytes; a line of JSON with --log-json. cli may be NULL. */
void cli_say(struct cli *cli, const char *fmt, ...) CLI_PRINTF(2, 3);
/* Says err, or where it is NULL or empty the status' name, and returns the exit code for `status`,
 * which is not 0, at this stage. NOMEM: "out of memory" stands before words that do not say so.
 * CANCELLED: names the signal instead; CLOSED_PIPE: says nothing. cli may be NULL. */
int cli_fail(struct cli *cli, enum cli_stage stage, int status, const struct bioinfer_error *err);
/* The signal that asked to stop (SIGINT, SIGTERM), 0 = none. */
int cli_stop_signal(void);
double cli_now(void); /* seconds, monotonic */

/* ---- options and model ---- */

/* The command line and the model, as the server sees them. */
struct cli_served {
    const char *listen, *token_file;                  /* NULL = not given */
    int64_t max_body, max_answer, max_queue, timeout; /* MiB, requests, seconds; 0 = not given */
    bool quiet, raw_residues, has_head;
    const char *genome, *gtf, *polya, *quantiles, *targets; /* variants; NULL = not given */
    /* Set by cli_serve_open(): */
    bioinfer_context *ctx;
    bioinfer_model *model;
    const struct bioinfer_model_info *info;
    const char *fingerprint; /* set by cli_serve_sign() */
};
/* Takes the options into *to, which is zeroed. */
void cli_serve_options(const struct cli *cli, struct cli_served *to);
/* Opens context and model; an exit code. */
int cli_serve_open(struct cli *cli, struct cli_served *to);
/* Makes the fingerprint of the model, for which all its weights are read; an exit code. */
int cli_serve_sign(struct cli *cli, struct cli_served *to);
/* The command `bioinfer serve`, in serve/: the exit code of the program. */
int cli_serve(struct cli *cli);
/* Makes parameters of a task from what the command line of serve says of all requests. A status:
 * NOT_FOUND: the task has no table. */
int cli_params_serve(const struct cli *cli, const char *task, bioinfer_params **out,
                     struct bioinfer_error *err);
/* Parameters of a writer as the options say; texts are the options', and cli's. */
struct bioinfer_writer_params cli_writer_params(const struct cli *cli);
/* Raises the number of files that this process may have open as far as it may; best effort. */
void cli_allow_many_files(void);
/* Copies the next part of a list with commas into `part`, cut to size - 1 bytes, and moves *list
 * past it: true, also for the last one, when *list becomes NULL. False: *list was NULL, and part
 * is untouched. An empty list has one part, "". */
bool cli_next_part(const char **list, char *part, size_t size);

/* ---- text that is gathered or written (output.c) ---- */

/* Text that is written to a file, to standard output or to memory. */
struct cli_output {
    FILE *file;        /* NULL: text is gathered in memory; zero-initialise for that */
    char *path, *part; /* NULL for standard output */
    int status;        /* the first failure */
    char *text;        /* gathered: n_text bytes, no NUL follows */
    size_t n_text, text_cap;
};
/* Frees gathered text; without finish, or after one that failed, removes the file. */
void cli_output_close(struct cli_output *out);

/* ---- mutants.c ---- */

/* Gives each character the id of its token, of one character, -1 = none. Capitals that the
 * vocabulary lacks are read as X, as the engine does; they have -1 where it has no X. */
void cli_residue_tokens(const struct cli *cli, int token[256]);
/* The sum of log p, in r->arrays[0], over the record's own residues; NaN where a letter has no
 * token, 0 of an empty record. */
double cli_log_likelihood(const struct cli *cli, const int token[256],
                          const struct bioinfer_result *r);

/* Positions of a record, 0-based. */
struct cli_positions {
    int64_t *at;
    size_t n, cap;
};
/* Adds those that a mutation touches; one that is no mutation touches none. offset: as of
 * bioinfer_mutation_positions(). 0, or NOMEM: *p is as before. */
int cli_positions_add(struct cli_positions *p, const char *mutation, int64_t offset);
/* Leaves those inside the record, ascending, each once, as scores want them; p->at is not NULL
 * then. 0 or NOMEM. */
int cli_positions_sort(struct cli_positions *p, size_t length);
void cli_positions_free(struct cli_positions *p);

/* ---- design_task.c ---- */

/* A design tells these beside sequences and scores. */
enum { CLI_LOG_PROBS = 1, CLI_PROBS = 2 };
/* The first line of a table without --include. */
#define CLI_DESIGN_HEAD                                                                            \
    "name\tsample\ttemperature\tscore\tglobal_score\tseq_recovery\tsequence\tsource\n"
/* Names the origin of a result's sequence: "native" in the file, "design", or a record of
 * --sequences. It needs r->design, as the next three do. */
const char *cli_design_source(const struct bioinfer_result *r);
/* Gives the number of a sequence: 0 for the native one of a run that designs, else r->design's. */
int cli_design_sample(const struct bioinfer_result *r, bool score_only);
/* Adds the row of a result to a table without --include; no memory: text->status. */
void cli_design_row(struct cli_output *text, const struct bioinfer_result *r, bool score_only);

/* The arrays of one sequence, as files have them. They point into the result. */
struct cli_design_arrays {
    char id[1024];
    float scores[3], *codes; /* codes: [length], the caller frees them */
    struct bioinfer_array arrays[6];
    struct bioinfer_result result;
};
/* Fills *a by `include`, CLI_LOG_PROBS and CLI_PROBS (0: as CLI_LOG_PROBS): 0, or NOMEM, and there
 * is nothing to free. No "probs" where nothing was drawn. a->result points into *a, which is not to
 * be copied. */
int cli_design_arrays(struct cli_design_arrays *a, const struct bioinfer_result *r,
                      unsigned include, struct bioinfer_error *err);

/* ---- affinity_task.c ---- */

/* The first line of a table. */
#define CLI_AFFINITY_HEAD                                                                          \
    "id\trecord\tenergy\tpairs\tligand_atoms\tpocket_atoms\tdistance\tstatus\tmessage\n"
/* The message of a result whose ligand lies far from its receptor. */
#define CLI_AFFINITY_FAR "no pair of atoms is near: the energy says nothing"
/* Adds the row of a result; `number` counts the molecules of its file. Without result->affinity
 * its numbers are empty; with one of no pairs the message is CLI_AFFINITY_FAR. Failures are in
 * text->status. */
void cli_affinity_row(struct cli_output *text, const struct bioinfer_result *result,
                      uint64_t number);

/* ---- fold_task.c ---- */

/* The first line of scores.tsv. */
#define CLI_FOLD_HEAD                                                                              \
    "id\tsample\tplddt\tlength\tchains\tchain_lengths\tchain_plddt\tshortest_bond\tlongest_bond"   \
    "\tptm\tiptm\tseed\n"
enum { CLI_FOLD_PART = 48 };
/* Sets what tells the files of a structure from others of its record, "seed-0_sample-1"; "" where
 * there are no others. */
void cli_fold_part(const struct bioinfer_fold *fold, char part[CLI_FOLD_PART]);
/* Adds the row of a structure, result->fold; failures are in row->status. */
void cli_fold_row(struct cli_output *row, const struct bioinfer_result *result);

/* ---- tracks_rows.c: the table of variants ---- */

/* Returns statistic i of a list, from 0, in its *n characters; NULL past the end. A list that is
 * NULL has SAD. */
const char *cli_variant_stat(const char *stats, int i, int *n);
/* Writes the identifier of a track, or track_N where there is no table, cut to `size`. */
void cli_track_name(char *name, size_t size, const struct bioinfer_track *track);
/* Adds the first line of the table of a task of variants. */
void cli_variant_title(struct cli_output *to, const bioinfer_task *task, const char *stats,
                       bool scorers);

/* ---- align/align_answer.c: alignments that answer requests ---- */

/* How alignments are written. */
struct cli_align_answer;
/* Opens a task of alignments, with the device of the command line, and what writes its results: a
 * status. With neither matrix nor match the matrix is BLOSUM62, which `params` has then. After a
 * failure there is nothing to close. */
int cli_align_answer_open(struct cli_align_answer **out, bioinfer_task **task,
                          const struct cli *cli, bioinfer_params *params,
                          struct bioinfer_error *err);
/* Returns the first line of a table, "" = the format lacks one. */
const char *cli_align_answer_title(const struct cli_align_answer *a, const char *format);
/* Adds a result of the task, which has an alignment: a line of the format, or of "json" members of
 * an object, each after a comma. Failures are in to->status. */
void cli_align_answer_put(const struct cli_align_answer *a, struct cli_output *to,
                          const char *format, const struct bioinfer_record *query,
                          const struct bioinfer_record *target,
                          const struct bioinfer_alignment *alignment);
void cli_align_answer_close(struct cli_align_answer **a); /* the task is the caller's */

#endif
