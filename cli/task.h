/* task.h - what a command computes, so that either this process or worker processes can do it.
 *
 * A command is a source of records, a task that computes them, and a sink that takes their results.
 * The same task runs in this process, where it is called with the command's own source and sink,
 * and in a worker (worker.c), where both are frames of the pool (pool.c). Pool and worker know
 * tasks by this table alone.
 *
 * These files are the command's and not the library's: a worker is this program started again with
 * the command line that the user gave, so that it opens the same model with the same options. */
#ifndef BI_CLI_TASK_H
#define BI_CLI_TASK_H

#include "cli.h"

/* Says how much work a record is, for an even split between workers. */
struct cli_weight {
    uint64_t work;  /* residues that one pass of the model computes */
    uint64_t bytes; /* about as many as the record takes in the input */
};

enum { CLI_FACTS = 8192 };        /* bytes */
enum { CLI_FIRST_CHUNK = 16384 }; /* work that a worker gets at first */

/* A task, as the command, a pool and a worker call it. */
struct cli_task {
    /* Reads and checks what needs no model. Returns an exit code, like `open`. */
    int (*begin)(struct cli *cli);
    /* Opens what computes, behind the model of cli. `tick` is called while it does. */
    int (*open)(struct cli *cli, cli_tick tick);
    /* A worker tells the command what it must know of the task that is open, in CLI_FACTS bytes as
     * they lie in memory; the command hears it, to an exit code. Both are NULL where there is
     * nothing. */
    void (*tell)(const struct cli *cli, void *facts);
    int (*hear)(struct cli *cli, const void *facts);
    /* Computes all records of the source. Results come in the order of the records, each in pieces
     * 0, 1, ... of which the last one alone has `more` = 0 and, but where the pieces are results of
     * their own, a status. A non-zero return of source or sink ends the run with that status. */
    int (*run)(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
               void *sink_user, struct bioinfer_error *err);
    /* Gives the sink the result of a record that ended every worker, in the command; NULL: it is
     * one piece with the name of the record, this status and message. */
    int (*lose)(struct cli *cli, const struct bioinfer_record *record, int status,
                const char *message, bioinfer_sink sink, void *sink_user,
                struct bioinfer_error *err);
    void (*profile)(struct cli *cli); /* prints the table of --profile */
    void (*end)(struct cli *cli);     /* frees what begin and open made; accepts half of it */
    struct cli_weight (*weigh)(const struct cli *cli, const struct bioinfer_record *record);
    /* Tells whether results depend on the order of the records, so that one process computes all of
     * them; NULL = never. */
    bool (*ordered)(const struct cli_options *o);
    bool no_model; /* the task needs none */
    bool inside;   /* one device that is named is used by the command itself */
    bool of_files; /* the sequence of a record is the path of a file: its length is not known */
};

extern const struct cli_task cli_embed_task, cli_score_task, cli_design_task, cli_tracks_task,
    cli_align_task, cli_affinity_task, cli_energy_task;

/* The last piece of a result may have a text of this name: numbers with blanks between them, which
 * the command adds up and which are no part of the output. */
#define CLI_COUNTS "counts"
/* Takes that text, where it is the last one, from a result and reads n numbers; counts of those
 * that are not there stay as they are. */
void cli_take_counts(struct bioinfer_result *result, unsigned long long *counts, int n);

/* The records and results of a run, for the process that owns them. */
struct cli_run_io {
    bioinfer_source source;
    bioinfer_sink sink;
    int (*pending)(void *user); /* has the source records again after its end? NULL = never */
    void *user;
    uint64_t input_size; /* bytes of the input, 0 = not known */
    bool in_order;       /* the sink needs results in the order of the records */
    bool whole;          /* it needs the pieces of a result one behind the other */
};

/* Tells whether the options ask for workers, and the task may have them: never with --dry-run, nor
 * where it is `ordered`; one that is `inside` has none on a single device without --workers. */
bool cli_task_pooled(const struct cli *cli, const struct cli_task *task);
/* Opens the model, unless the task needs none, and the task in this process, or workers where the
 * options ask for them; fills cli->info. task->begin() came before. Returns an exit code. *pool,
 * NULL before, stays NULL without workers; the caller closes it, after a failure, too. The reason
 * of a failure was said. */
int cli_task_open(struct cli *cli, const struct cli_task *task, struct cli_pool **pool);
/* Computes all records of io->source, here where pool is NULL or by the pool, and again while
 * io->pending says so; a status, that of the task, the source or the sink. */
int cli_task_run(struct cli *cli, const struct cli_task *task, struct cli_pool *pool,
                 const struct cli_run_io *io, struct bioinfer_error *err);
/* ---- dry.c: what a run would take ---- */

/* A task that is open, and the records that it would compute. */
struct cli_dry {
    const char *length; /* counts in a record's length; NULL: lengths are not told */
    bioinfer_source next;
    void *user;
    struct cli_weight (*weigh)(const struct cli *cli, const struct bioinfer_record *record);
    int (*run)(struct cli *cli, bioinfer_source source, void *source_user, bioinfer_sink sink,
               void *sink_user, struct bioinfer_error *err);
    bioinfer_task *task; /* tells memory and batches */
};
/* Reads all records, computes a few of them, and says on standard output what all would take.
 * Returns an exit code: DATA where none can be computed; records without a result are counted. */
int cli_dry_measure(struct cli *cli, const struct cli_dry *how);
/* The same for a task of sequences: opens context, reader, model and task, of which it ends the
 * task, in any case; an exit code. */
int cli_dry_run(struct cli *cli, const struct cli_task *task);
/* The weight of a record of FASTA, as `weigh` of most tasks. */
struct cli_weight cli_weigh_sequence(const struct cli *cli, const struct bioinfer_record *record);
/* Gives the bytes of a plain file; 0 when it is none, is in gzip, has fewer than two or cannot be
 * read: who reads it says why. */
uint64_t cli_plain_size(const char *path);
/* The sum of these for all files of sequences; 0 where one of them has 0. */
uint64_t cli_inputs_size(const struct cli *cli);

#endif
