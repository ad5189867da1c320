/* align_command.h - the run of `bioinfer align`, as the files of the command share it. */
#ifndef BI_CLI_ALIGN_COMMAND_H
#define BI_CLI_ALIGN_COMMAND_H

#include "align.h"

struct cli_align_command {
    struct cli *cli;
    const char *name[2]; /* the files', for messages */
    const char *format;  /* "tsv", "paf", "sam", "needle" */
    bioinfer_reader *reader[2];
    struct cli_pairs pairs;
    struct cli_align_job job;
    struct cli_best best;      /* for --top, */
    struct cli_square square;  /* for --values */
    struct cli_aligning *task; /* which is cli->task */
    struct cli_pool *pool;     /* NULL: this process aligns */
    struct bioinfer_job_stats stats;
    struct cli_output out;
    struct cli_span span; /* a dry run is at its pair `at_pair` */
    size_t at_pair;
    /* Where there are workers: */
    struct cli_output packed; /* the block at hand */
    bool source_failed, sink_failed;
    bool told_note;
    uint64_t n_done, n_failed, n_residues;
    double cells;
};

/* ---- align_check.c ---- */

/* Whether options and format go together; says why not. */
bool cli_align_check(const struct cli_options *o, const char *format);

/* ---- align_open.c: what follows each other; exit codes ---- */

/* Opens file k, 0 or 1. */
int cli_align_open_input(struct cli_align_command *run, int k, const char *path);
/* Opens the pairs and finds the first ones: *any is whether there are some. */
int cli_align_open_pairs(struct cli_align_command *run, bool *any);
/* Does what comes before the first alignment: checks names for SAM, opens task and job, writes the
 * head. */
int cli_align_begin(struct cli_align_command *run);

/* ---- align.c ---- */

/* Says why the run failed; an exit code. */
int cli_align_fail(const struct cli_align_command *run, int st, bool source_failed,
                   bool sink_failed, const struct bioinfer_error *err);

/* ---- align_workers.c: exit codes ---- */

/* Aligns all pairs in workers. */
int cli_align_in_workers(struct cli_align_command *run);
/* Says what the run would take. */
int cli_align_dry_run(struct cli_align_command *run);

#endif
