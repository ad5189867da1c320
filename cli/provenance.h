/* provenance.h - the file OUT.provenance.json beside an output: how it was made.
 *
 * It stands beside the output and not in it, as it says what differs between equal runs: the date,
 * the seconds, the device, the names of files. Outputs of equal runs have equal bytes. */
#ifndef BI_CLI_PROVENANCE_H
#define BI_CLI_PROVENANCE_H

#include "cli.h"

enum { CLI_STATUSES = 32 };

/* A run, as its command knows it beside the command line and the model. */
struct cli_provenance {
    const char *output;  /* the path; NULL, "-", a pipe or a device have no such file */
    const char *second;  /* another output of the run, which gets one, too; NULL = none */
    const char *task;    /* as jobs name it */
    const char *role;    /* that the inputs of the command line have; NULL = "input" */
    const char *head;    /* names of a table's columns; NULL = none */
    const char *arrays;  /* units of what else it holds: "energy=eV,forces=eV/angstrom"; or NULL */
    const char *options; /* that decide results; NULL = the command line says them */
    const char *tokens_of; /* the kind of array whose columns are cli->tokens; NULL = none */
    const struct bioinfer_job_input *inputs; /* more files that decide them */
    size_t n_inputs;
    bool counted; /* the next three are known */
    uint64_t records, failed;
    const uint64_t *by_status; /* [CLI_STATUSES] records by -status; NULL = not known */
    uint64_t resumed;          /* records of an earlier run */
    const char *runs;          /* descriptions of merged runs: JSON objects with ',' between */
};

/* Writes the file, unless --no-provenance says not to; an exit code. One that was there, of an
 * output that was replaced, goes in any case. A shard's is
 * OUT.shard-I-of-N.provenance.json. */
int cli_provenance_write(struct cli *cli, const struct cli_provenance *p);
/* The same for what `bioinfer merge` made of shards, with the descriptions that these have. */
int cli_provenance_merge(struct cli *cli, const char *output,
                         const struct bioinfer_job_stats *stats);

#endif
