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

enum { CLI_FIRST_CHUNK = 16384 }; /* work that a worker gets at first */

/* The state of a task, cli->task; one of a task's own begins with it. */
struct cli_work {
    struct cli *cli;
    struct cli_output text; /* gathers the text of a result */
    /* Where the run at hand reads and writes. */
    bioinfer_source source;
    bioinfer_sink sink;
    void *source_user, *sink_user;
};

/* A task, as the command, a pool and a worker call it. A function that is NULL does nothing, but
 * where its comment says what is done then. An int without a comment is an exit code. */
struct cli_task {
    const char *name; /* the library's, by which jobs know it */
    size_t size;      /* bytes of its state; 0 = a struct cli_work */
    /* Reads and checks what needs no model; the state is there, all zeros but its work. */
    int (*begin)(struct cli *cli);
    /* Sets parameters, o->params, that no option of the same name has. */
    void (*fill)(const struct cli_options *o, void *params);
    /* Opens what computes, cli->sequences, for the model of cli. `tick` is called while it
     * computes. NULL: by name and parameters. */
    int (*open)(struct cli *cli, cli_tick tick);
    int (*opened)(struct cli *cli); /* comes after it */
    /* A worker tells the command what it must know of the task that is open, as bytes; the command
     * hears them, with a NUL after them. */
    void (*tell)(const struct cli *cli, struct cli_output *facts);
    int (*hear)(struct cli *cli, const char *facts, size_t n);
    /* A bioinfer_source and a bioinfer_sink, for the library; user: the state. They read from
     * work.source and write to work.sink. NULL: these themselves. Results come in the order of the
     * records, each in pieces 0, 1, ... of which the last one alone has `more` = 0 and, but where
     * the pieces are results of their own, a status. */
    bioinfer_source next;
    bioinfer_sink take;
    /* Writes what remains when all records went well; a status. */
    int (*flush)(void *state, struct bioinfer_error *err);
    /* Computes all records of work.source; a status. NULL: the library's task does. */
    int (*run)(void *state, struct bioinfer_error *err);
    /* Gives work.sink the result of a record that ended every worker, in the command; a status.
     * NULL: the result is `lost`, one piece with name, status and message; its length is 0. */
    int (*lose)(void *state, const struct bioinfer_record *record,
                const struct bioinfer_result *lost, struct bioinfer_error *err);
    void (*end)(void *state); /* frees what the state owns, also half of it */
    struct cli_weight (*weigh)(const struct cli *cli, const struct bioinfer_record *record);
    /* Tells whether results depend on the order of the records, so that one process computes all of
     * them; NULL = never. */
    bool (*ordered)(const struct cli_options *o);
    bool no_model;    /* the task needs none */
    bool inside;      /* one device that is named is used by the command itself */
    bool of_files;    /* the sequence of a record is the path of a file: its length is not known */
    bool reads_files; /* files that options name are read when it opens, and may be at fault */
    bool loads_late;  /* weights are not loaded for the fingerprint */
};

#define RUN(NAME, name, ...) extern const struct cli_task cli_##name##_task;
#define COMMAND(NAME, name, ...)
#include "commands.inc"

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
/* Makes the state, cli->task, and begins the task, unless both were done; an exit code. */
int cli_task_begin(struct cli *cli, const struct cli_task *task);
/* Opens the model, unless the task needs none, and the task in this process; begin came before. An
 * exit code. */
int cli_task_open_here(struct cli *cli, const struct cli_task *task, cli_tick tick);
/* The same here, or in workers where the options ask for them; fills cli->info. Returns an exit
 * code. *pool, NULL before, stays NULL without workers; the caller closes it, after a failure,
 * too. The reason of a failure was said. */
int cli_task_open(struct cli *cli, const struct cli_task *task, struct cli_pool **pool);
/* Computes all records of the source here; a status of the task, the source or the sink. */
int cli_task_compute(struct cli *cli, const struct cli_task *task, bioinfer_source source,
                     void *source_user, bioinfer_sink sink, void *sink_user,
                     struct bioinfer_error *err);
/* Gives the sink the result of a record that ended every worker; a status. */
int cli_task_lose(struct cli *cli, const struct cli_task *task,
                  const struct bioinfer_record *record, int status, const char *message,
                  bioinfer_sink sink, void *sink_user, struct bioinfer_error *err);
/* Closes the task and frees its state. */
void cli_task_end(struct cli *cli, const struct cli_task *task);
/* Computes all records of io->source, here where pool is NULL or by the pool, and again while
 * io->pending says so; a status, that of the task, the source or the sink. */
int cli_task_run(struct cli *cli, const struct cli_task *task, struct cli_pool *pool,
                 const struct cli_run_io *io, struct bioinfer_error *err);

/* Hands out work->text as the text of a result, and empties it; `noted` is the number that the
 * result counts. The status of a failed record is a piece of its own after the text. 0, what the
 * sink gave, or NOMEM where the text had no memory: nothing is handed out then, and its failure
 * stays. */
int cli_work_give(struct cli_work *work, const struct bioinfer_result *result, int noted,
                  struct bioinfer_error *err);
/* Says in *err that there is no memory; NOMEM. */
int cli_status_no_memory(struct bioinfer_error *err, const char *fmt, ...) CLI_PRINTF(2, 3);

/* ---- dry.c: what a run would take ---- */

/* The records that a run would compute. */
struct cli_dry {
    const char *length; /* counts in a record's length; NULL: lengths are not told */
    bioinfer_source next;
    void *user;
    const struct cli_task *task; /* is open ... */
    bioinfer_task *open;         /* ... as this, which tells memory and batches */
};
/* Reads all records, computes a few of them, and says on standard output what all would take.
 * Returns an exit code: DATA where none can be computed; records without a result are counted. */
int cli_dry_measure(struct cli *cli, const struct cli_dry *how);
/* The weight of a record of FASTA, as `weigh` of most tasks. */
struct cli_weight cli_weigh_sequence(const struct cli *cli, const struct bioinfer_record *record);
/* Gives the bytes of a plain file; 0 when it is none, is in gzip, has fewer than two or cannot be
 * read: who reads it says why. */
uint64_t cli_plain_size(const char *path);
/* The sum of these for all files of sequences; 0 where one of them has 0. */
uint64_t cli_inputs_size(const struct cli *cli);

#endif
