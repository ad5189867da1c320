/* rows.h - commands whose records become texts, one behind the other: rows of a table, frames of a
 * trajectory. With --resume and --shard they go through a job, else to the output as they come. */
#ifndef BI_CLI_ROWS_H
#define BI_CLI_ROWS_H

#include "pool/worker.h"

struct cli_rows {
    struct cli *cli;
    const struct cli_task *task;
    bioinfer_source source; /* gives all records of the input */
    void *source_user;
    const char *records, *result; /* words for them, and for the thing that each gives */
    const char *head;             /* in front of all texts; "" = nothing */
    const char *columns; /* not NULL: texts are rows of arrays, which a job makes a file of in any
                          * case (bioinfer_writer_params.columns) */
    /* The rest is set by the functions. */
    struct cli_pool *pool; /* NULL: this process computes */
    bioinfer_job *job;     /* NULL: texts go to `out` */
    struct cli_output out;
    struct bioinfer_job_stats stats;
    enum cli_stage stage; /* the stage at which the run failed */
    uint64_t n_records, n_failed;
    unsigned long long n_noted; /* the sum of what results count (CLI_COUNTS) */
};

/* Opens the output, with rows->head in front, or a job. params: what a job is told; its writer and
 * text_head are set here, and are not to be used later. An exit code. */
int cli_rows_create(struct cli_rows *rows, struct bioinfer_job_params *params);
/* Computes all records, with progress and profile as the options ask, and completes the output. An
 * exit code: DATA for an input without records; OK also where records have no result, which
 * cli_rows_code() tells; under --strict the first of them is a failure. */
int cli_rows_run(struct cli_rows *rows);
/* Says in what time so many results came to be, and what has none. Between: `say` is called, NULL =
 * there is nothing more to say. With --quiet only what has none is said. */
void cli_rows_say(struct cli_rows *rows, void (*say)(const struct cli_rows *rows));
/* Prints the graph of cli->sequences, which is open, for a record of so many residues, on standard
 * output; an exit code. */
int cli_rows_dump(struct cli_rows *rows, int64_t tokens);
/* The exit code of a run that came to its end: OK, or RECORDS where one has no result. */
int cli_rows_code(const struct cli_rows *rows);
void cli_rows_close(struct cli_rows *rows);

/* Hands out the text of a result and empties it; `noted` is the number that it counts. The status
 * of a failed record is a piece of its own behind the text. 0, what the sink gave, or NOMEM where
 * the text had no memory: nothing is handed out then, and its failure stays. */
int cli_rows_give(struct cli_output *text, const struct bioinfer_result *result, int noted,
                  bioinfer_sink sink, void *sink_user, struct bioinfer_error *err);

#endif
