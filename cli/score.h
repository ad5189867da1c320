/* score.h - what the files of `bioinfer score` share.
 *
 *   score.c        the command
 *   score_task.c   the task: a record becomes the text of its rows
 *   score_table.c  the table of --mutations */
#ifndef BI_CLI_SCORE_H
#define BI_CLI_SCORE_H

#include "run.h"

#include "../loaders/csv.h"

/* The state of the task. */
struct cli_scorer {
    struct cli_work work; /* gathers the rows of one record as text */
    bool pppl;            /* --method pppl */
    int64_t offset;
    int token[256];                      /* gives the id of a residue letter, -1 = none */
    struct bi_csv csv;                   /* the table of --mutations, ... */
    int column;                          /* ... where its mutants are, ... */
    double *scores;                      /* ... and [n_rows] what they have, NaN = none */
    uint64_t n_values, n_failed, n_rows; /* counts of the record at hand */
    struct cli_positions positions;      /* the table touches these, where there is one */
};

/* The parameters of the task. */
const struct bioinfer_score_params *cli_score_params(const struct cli_options *o);
/* Returns true for --method pppl. */
bool cli_score_is_pppl(const struct cli_options *o);
/* Returns true if a record has no result for its length, and windows would give it one. */
bool cli_score_wants_windows(const struct cli *cli, const struct bioinfer_result *r);
/* Hands the rows of a record, or the reason why there are none, to the sink; a status. Where a
 * table has rows of both kinds, the reason is a piece of its own. */
int cli_score_give(struct cli_scorer *s, const struct bioinfer_result *scores, int status,
                   const char *why, struct bioinfer_error *err);

/* ---- score_table.c ---- */

/* Reads the table; an exit code. */
int cli_score_table_read(struct cli_scorer *s);
/* Finds the positions that the table touches in the wild type: one masked pass for each. NOMEM, or
 * 0. */
int cli_score_table_positions(struct cli_scorer *s, size_t length);
/* Makes the rows of the table of the scores of the wild type, and gives them; a status. */
int cli_score_table_give(struct cli_scorer *s, const struct bioinfer_result *scores,
                         struct bioinfer_error *err);

#endif
