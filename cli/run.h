/* run.h - one frame for the run of every task: records go from a source through the task, here or
 * in workers, to a job, a file of arrays or text.
 *
 * A command fills a struct cli_run and calls cli_run(). What happens, in this order:
 *
 *   check    the options                    open     the input, in a context
 *   ready    after the task is open         (--dump-graph, --trace-rules, --dry-run end here)
 *   the output is opened                    ahead    the input is looked through
 *   take     for each result                done     before, and finished after the output
 *   say      the summary                    the exit code
 *
 * Functions that are NULL do nothing, unless their comment tells more. An int without a comment is
 * an exit code. */
#ifndef BI_CLI_RUN_H
#define BI_CLI_RUN_H

#include "pool/worker.h"
#include "provenance.h"

enum { CLI_RUN_COUNTS = 3, CLI_RUN_INPUTS = 8 };

/* When results go through a job, whose journal they can be resumed from. */
enum cli_journal { CLI_JOURNAL_IF_ASKED, CLI_JOURNAL_ALWAYS, CLI_JOURNAL_NEVER };

/* A run, as its command fills it. */
struct cli_run {
    struct cli *cli;
    const struct cli_task *task;
    /* ---- input */
    int (*check)(struct cli_run *run);
    int (*open)(struct cli_run *run); /* NULL without `source`: the reader is opened */
    int (*ready)(struct cli_run *run);
    bioinfer_source source; /* gives all records; NULL: cli->reader does, proteins */
    void *source_user;
    const char *role;    /* names the input in jobs; NULL: they do */
    uint64_t input_size; /* bytes; 0: the files that the options name are asked */
    bool indexed;        /* an index of the input may pass over records */
    bool reads;          /* computing reads files of the input: FORMAT and IO are their faults */
    int64_t tokens;      /* that --dump-graph shows the graph for */
    const char *length;  /* --dry-run counts these in a record; NULL = nothing */
    /* ---- output: text after `head`, or arrays of a format */
    const char *head;            /* first text; NULL = arrays */
    bool late_head;              /* it is written with the first result that has text */
    const char *columns, *files; /* as in bioinfer_writer_params, for jobs alone ... */
    const char *tracks;          /* ... and for all */
    const char *tokens_of;       /* a kind of array whose columns are cli->tokens, or NULL */
    const char *output;          /* NULL = as the options say */
    char *second;                /* another output, malloc'd, which has one, too; NULL = none */
    const char *measures;        /* units of its arrays for OUT.provenance.json, or NULL */
    const char *product;         /* has OUT.provenance.json beside it; NULL = the output */
    enum cli_journal journal;    /* ALWAYS also for columns and files */
    const char *alignments;      /* NULL, or a folder of the alignments of records */
    bool copies;                 /* a job computes equal sequences once, unless --dedup off */
    bool units;                  /* the pieces of a record are results of their own */
    bool keeps;                  /* without a job a run that fails leaves the results so far */
    /* Writes all options that decide results and are no part of the model's fingerprint, for the
     * job; calls cli_run_input() for files that do. No memory: text->status. */
    void (*describe)(struct cli_run *run, struct cli_output *text);
    int (*ahead)(struct cli_run *run);
    /* ---- results */
    /* Is told of each result before it goes on, and may change it. 0, a status, which counts as one
     * of the output, or 1: it goes no further. */
    int (*take)(struct cli_run *run, struct bioinfer_result *result, struct bioinfer_error *err);
    bool strict_status; /* --strict ends with the status of the record, else with FORMAT */
    int (*done)(struct cli_run *run);
    int (*finished)(struct cli_run *run);
    /* ---- words */
    const char *records, *result, *results; /* results NULL = `say` says all; result NULL: records
                                             * without one are not named */
    const char *missing;              /* the summary says that records have no ...; NULL = result */
    bool counted;                     /* there are counts[0] results, not one for each record */
    void (*say)(struct cli_run *run); /* not with --quiet */
    void (*say_failed)(struct cli_run *run); /* NULL: how many records have no result */
    /* ---- the rest is set by the frame */
    struct cli_pool *pool;   /* NULL: this process computes */
    bioinfer_job *job;       /* NULL: results go to ... */
    bioinfer_writer *writer; /* ... this, or ... */
    struct cli_output out;   /* ... this */
    struct bioinfer_job_input inputs[CLI_RUN_INPUTS];
    size_t n_inputs;
    struct cli_output described; /* the text of `describe`, and a NUL */
    struct bioinfer_job_stats stats;
    enum cli_stage stage;                      /* at which the run failed */
    uint64_t n_records, n_failed;              /* results, and how many of them are failures */
    uint64_t by_status[CLI_STATUSES];          /* these by -status */
    unsigned long long counts[CLI_RUN_COUNTS]; /* sums of what results count (CLI_COUNTS) */
    uint64_t job_residues;                     /* in the records that the job handed out */
    bool began;                                /* to compute */
};

/* Runs the command; gives its exit code. All that the frame opened is closed then. */
int cli_run(struct cli_run *run);
/* The first half of it, up to `ready`, for a command with a run of its own; an exit code. What is
 * open is to be closed by cli_run_close(), also after a failure. */
int cli_run_open(struct cli_run *run);
void cli_run_close(struct cli_run *run);
/* The path of the output; NULL or "-" = standard output. */
const char *cli_run_path(const struct cli_run *run);
/* Adds a file that decides results, unless its path is NULL; for `describe`. */
void cli_run_input(struct cli_run *run, const char *role, const char *path);
/* Says how many of `what` have no `result`. */
void cli_run_say_lost(struct cli_run *run, uint64_t n_failed, uint64_t n, const char *what,
                      const char *result);

/* Records that are read ahead of a run. */
struct cli_ahead {
    int (*open)(void *user, bioinfer_context *silent, struct bioinfer_error *err);
    bioinfer_source next; /* a record, of which the name counts */
    void (*close)(void *user);
    void *user;
};
/* Reads the names of all records before anything is computed, to find what the output cannot hold,
 * such as two of one name; nothing where an input is no plain file, or there is no job. Messages
 * about the files come when they are read again. */
int cli_run_look_ahead(struct cli_run *run, const struct cli_ahead *ahead);

#endif
