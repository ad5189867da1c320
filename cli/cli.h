/* cli.h - what the files of the command share. Everything else comes from bioinfer.h.
 *
 *   main.c      dispatch and signals
 *   messages.c  words on standard error, exit codes
 *   open.c      context, reader, device and model of a run
 *   options.c   the tables of options and commands (options.h)
 *   params.c    the parameters of the library's tasks as options
 *   parse.c     the command line, by the tables
 *   help.c      --help, by the tables
 *   completion.c  scripts for shells, by the tables
 *   format.c    names and suffixes of output formats
 *   suggest.c   what an unknown word may have meant
 *   embed.c     bioinfer MODEL INPUT
 *   job.c       journals, as the commands use them, and bioinfer merge
 *   run.c       the frame of a run, from its source to its exit code (run.h)
 *   task.c      what a command computes, in this process or in workers (task.h)
 *   dry.c       --dry-run
 *   pool.c      worker processes and what they are given to do, with pool_chunks.c, pool_devices.c
 *               and pool_workers.c (pool.h)
 *   worker.c    the worker process
 *   affinity.c  bioinfer MODEL RECEPTOR LIGANDS, with the files that affinity.h lists
 *   rescore.c   bioinfer rescore RECEPTOR POSES
 *   dock.c      bioinfer dock RECEPTOR LIGANDS, with the files that dock.h lists
 *   fold.c      bioinfer fold MODEL INPUT, with the files that fold.h lists
 *   design.c    bioinfer MODEL STRUCTURE..., for models that design sequences, with the files that
 *               design.h lists
 *   serve.c     what the server takes of the command line; shared.h has all that serve/ sees
 *   score.c     bioinfer score, with the files that score.h lists, table.c for tables and mutants.c
 *               for what mutations touch
 *   align.c     bioinfer align, with align.h and the files that it names
 *   tracks.c    bioinfer MODEL INPUT for models of DNA windows, with the files that tracks.h lists
 *   info.c      bioinfer info, devices and models
 *   molecule.c  bioinfer molecule info
 *   energy.c    bioinfer MODEL FRAMES for models of forces, with energy_task.c
 *   relax.c, md.c  bioinfer relax and md; motion.c has what they share with energies
 *   report.c    bioinfer report and plot
 *   nearest.c   bioinfer nearest
 *   parallel.c  one piece of work on several threads
 *   escape.c    bytes that no terminal gets
 *   output.c    text to standard output or, atomically, to a file
 *   progress.c  the line on a terminal, --profile
 *   provenance.c  OUT.provenance.json: how an output was made
 *
 * Rules that hold for functions of this folder, unless a comment says otherwise:
 *  - An exit code is an enum cli_exit: 0, or another one whose reason was said on standard error.
 *  - A status is 0 or a negative enum bioinfer_status, whose words are in *err; err is not NULL.
 *  - A bool that checks options is false where the reason was said.
 *  - What closes, frees or ends something accepts a zeroed struct, and one that was half made. */
#ifndef BI_CLI_H
#define BI_CLI_H

#include "shared.h"
/* ---- options ---- */

/* Places in commands.inc, and a bit for each. */
enum {
#define RUN(NAME, name, ...) CLI_AT_##NAME,
#include "commands.inc"
    CLI_COMMANDS
};
enum cli_command {
#define RUN(NAME, name, ...) CLI_##NAME = 1 << CLI_AT_##NAME,
#include "commands.inc"
};

#define CLI_MAX_ENSEMBLE 15

struct cli_topic;
struct cli_given;

/* The fields parse.c fills; zero or NULL = not given. */
struct cli_options {
    int argc; /* as given */
    char **argv;
    int command;                   /* enum cli_command */
    const struct cli_topic *topic; /* help asked for; with a command: all its options */
    const char *model;             /* family name, NULL for info and devices */
    const char *input;             /* path, "-" = standard input; of merge: the output */
    const char **words, **parts;   /* parts: of merge, within words */
    int n_parts;
    const char *weights, *device, *precision, *output, *format;
    struct cli_given *given; /* options that wait for the command to be known, in their order */
    int n_given;
    bioinfer_params *params; /* the command's task takes these; NULL = no table */
    int64_t max_length, threads, workers, watchdog;
    const char *cpu_mask, *progress, *dup_ids, *dump_graph, *h5_names, *resume, *dedup;
    const char *dtype, *layout, *compression; /* arrays in files */
    int64_t part_records;
    int shard, n_shards;
    bool check, profile, raw_residues, fai, json_floats, check_weights, strict_pickle, verify;
    bool trace_rules, quiet, strict, help, version, models, license, list_outputs;
    const char *listen, *token_file; /* serve */
    int64_t max_body, max_answer,    /* MiB */
        max_queue, timeout;
    const char *completion; /* the shell to print a script for; NULL = none */
    bool log_json, json, dry_run;
    bool atoms; /* molecule info */
    bool no_provenance;
    const char *record, *genes, *measured; /* reports and plots */
    const char *mutations, *mutation_col;
    int64_t offset;
    bool has_offset;
    const char *second;                           /* align, nearest: the other file, NULL = none */
    const char *cigar, *min_score, *min_identity; /* align */
    const char *lambda, *karlin_k, *max_evalue, *strand;
    const char *values, *identity_of, *names, *shape; /* matrices of all pairs */
    int64_t db_size, db_records;
    bool all_vs_all, one_vs_all;
    int64_t memory_limit, db_memory, /* MiB */
        block_pairs;
    const char *genome, *head, *positions, *rope_frequencies, *factor_order, *adapter;
    int64_t cluster, window;
    bool ism;
    /* designs */
    const char **inputs; /* all of them; freed with the process */
    int n_inputs;
    unsigned design_include;
    const char *sequences; /* reports */
    int64_t neighbours;    /* nearest */
    const char *metric, *array;
    /* atoms that move */
    /* affinities */
    const char *receptor;                   /* NULL = the input is a table of pairs */
    const char *ensemble[CLI_MAX_ENSEMBLE]; /* weights behind the first ones, within them */
    int n_ensemble;
    int64_t top;
    const char *units;
    const char *poses; /* rescore */
    bool forces, stress;
};

/* Fills *options, which is zeroed, from the command line. False: the message is printed, exit 64,
 * or NO_MEMORY where options->words is NULL. Either way the caller calls cli_options_free() when
 * nothing needs the options. */
bool cli_parse(struct cli_options *options, int argc, char **argv);
void cli_options_free(struct cli_options *options);
/* enum bioinfer_family_letters of a family; those of proteins where it is NULL or not known. */
int cli_letters_of(const char *family);
/* The value of a parameter of a task as it was given last; NULL = it was not. */
const char *cli_given(const struct cli_options *options, const char *name);
/* Returns true if no file that a parameter of the task names is replaced by the output. */
bool cli_params_keep_files(const struct cli_options *options);
/* The parameters of the command embed; of another one all zeros. */
const struct bioinfer_embed_params *cli_embed_params(const struct cli_options *options);
/* Prints the help that was asked for, on standard output: of everything, of a command and a model,
 * or of a topic. */
void cli_help(const struct cli_options *options);
/* Prints the models of a command (0 = all), a line each; or, where model is not NULL, that one of
 * any command, nothing where it is none. */
void cli_print_models(int command, const char *model);

/* ---- format.c ---- */

/* Whether the command writes the format that --format or the name of the output asks for, and both
 * say the same; false: said why. Gives o->format its own name in place of an alias, for tracks,
 * designs and alignments that of the output's suffix, and npz for parts; else it may stay NULL. */
bool cli_check_format(struct cli_options *o);

/* Whether the name of the output says `written`, or no format that is known; false: said which two
 * ways out there are. */
bool cli_suffix_fits(const struct cli_options *o, const char *written);

/* Name i of the formats that the command writes in this build; NULL past the end. */
const char *cli_format_name(int command, int i);
/* Does a text end with another one, and is it longer? */
bool cli_ends_with(const char *text, const char *end);
/* Whether outputs of a format are folders; false for NULL and for names of none. */
bool cli_format_is_folder(const char *name);

/* ---- completion.c ---- */

/* Prints the script that completes command lines in this shell, bash, zsh or fish; false: it is
 * another one, which is not said. */
bool cli_completion(const char *shell);

/* ---- suggest.c ---- */

/* The name nearest to `word` among those that cli_consider() was called with. */
struct cli_nearest {
    const char *word, *best; /* best: NULL = none is near enough */
    size_t edits;
};
/* Makes the candidate, which is not copied, the best one where it is near enough and nearer than
 * that: of equals the first stays. Case, - and _ do not count; a beginning is as near as equal. */
void cli_consider(struct cli_nearest *n, const char *candidate);
/* Gives our name for a word of other programs, - or _ in it, of any case unless it is one letter;
 * NULL = the word is unknown. */
const char *cli_habit(const char *word);
/* Whether a word, behind its folders, looks like a name of weights of the family: begins with that
 * name and - or _. */
bool cli_names_weights(const char *word, const char *family);
/* Says that the word is unknown and what it may have meant, cli_habit() before n->best; returns
 * false, so that a check may return it. */
bool cli_refuse_word(const char *what, const char *word, const char *prefix,
                     const struct cli_nearest *n);

/* ---- structures.c ---- */

/* Paths of the inputs, files of folders among them. */
struct cli_paths {
    char **of;
    size_t n, cap;
    char *folder; /* has standard input as the file "stdin"; NULL = it was not read */
};

struct cli;

/* Finds the files of sequences that the command line names: files as they are, and of folders those
 * whose names say so, in order of their names. Returns an exit code, words said; paths found before
 * a failure are in *p. DATA: a folder has none. One file alone, and "-",
 * is not looked at; of several a missing one is NO_INPUT, and "-" USAGE. */
int cli_sequences_find(struct cli *cli, struct cli_paths *p);
/* Frees the paths, and removes the folder of standard input. Once: *p is left as it is. */
void cli_paths_free(struct cli_paths *p);

/* ---- one run of the command ---- */

/* The line of progress. */
struct cli_progress {
    bool on, terminal, drawn;
    double start, shown;                  /* seconds */
    double share;                         /* told last; it never falls */
    uint64_t records, residues;           /* done */
    uint64_t expected;                    /* residues; 0 = estimate from the reader */
    uint64_t read_residues;               /* in records read */
    uint64_t skipped_residues;            /* the part that needs no computing */
    const struct bioinfer_reader *reader; /* NULL: no estimate */
};

struct cli_pool;

struct cli {
    const struct cli_options *options;
    struct cli_progress progress;
    bioinfer_context *ctx;
    bioinfer_reader *reader;
    bioinfer_index *index; /* NULL unless a job uses that of the input */
    bioinfer_model *model;
    const char *tokens;       /* symbols of the model's tokens, each with a NUL; NULL: not known */
    size_t n_tokens;          /* bytes of them */
    bioinfer_task *sequences; /* computes; NULL where workers do, and in bioinfer align */
    void *task;               /* the state of the task that is computed (struct cli_work) */
    bool loads_late;          /* cli_fingerprint() does not load the task's weights first */
    struct bioinfer_model_info info;
    struct timespec began;   /* when the program did, by the clock on the wall */
    const char *fingerprint; /* the model's; NULL until cli_fingerprint() */
    const char *input_name;  /* for messages */
    struct cli_paths inputs; /* files of sequences, read one behind the other */
    size_t at_input;         /* the one that is read ... */
    uint64_t first_ordinal;  /* ... whose first record has this number ... */
    uint64_t next_ordinal;   /* ... and whose next one this */
    bool failing;            /* words are the reason why the run ends */
    const char *told;        /* tells workers what the input holds; NULL = nothing */
    bool kept;               /* a journal of this run is there to go on with */
    _Atomic bool lost_data;  /* an input was cut off: the exit code is not 0 */
    _Atomic bool hushed;     /* nothing is logged but what is lost: it was, or will be, said */
    bool lost_record;        /* --strict stopped the run at a record without a result */
    uint64_t n_told; /* records without a result, named or not; not with --quiet or --strict */
    bool told_nucleotides;
};

/* Reads the next record of proteins, of one input behind the other: 1, also for one with a status
 * of its own; 0 = there is none; < 0 = a status, also of an input that cannot be opened. It is
 * valid until the next call. Warns once of one that looks like nucleotides, not with --quiet. */
int cli_next_protein(struct cli *cli, struct bioinfer_record *record, struct bioinfer_error *err);
/* Calls body(user, i) for i in [0, n) on up to n_threads threads, the caller's among them, or on
 * those that can be had, at most 65; returns when all are done. */
void cli_parallel(int n_threads, int n, void (*body)(void *user, int i), void *user);
/* Why a record has no result: the first ten are named, with --quiet none, with --strict the one
 * that ends the run. How many there are is said at the end, by whoever counts them. */
void cli_say_lost(struct cli *cli, const char *fmt, ...) CLI_PRINTF(2, 3);
/* Has cli_say() write lines of JSON from now on, as --log-json asks. */
void cli_say_as_json(void);
/* In a worker: takes the messages instead. */
extern void (*cli_say_hook)(const char *text);
/* Likewise: hears, too, what a context logs as BIOINFER_LOG_NAMED or BIOINFER_LOG_ERROR. */
extern void (*cli_note_hook)(const char *text);
/* Says that there is no memory for this; NO_MEMORY. cli may be NULL. */
int cli_no_memory(struct cli *cli, const char *what);

/* The steps every run begins with; each returns an exit code. */
int cli_open_context(struct cli *cli);
/* Sets cli->input_name, too; commands with several inputs find them first, and the first is read.
 * longest: record; 0 = the reader's limit. */
int cli_open_reader(struct cli *cli, uint64_t longest);
/* Whether --device is there: 0, also where none is given, else NO_DEVICE; of GPUs (cuda:, hip:) the
 * opening of the model tells. */
int cli_check_device(struct cli *cli);
/* Checks the device, opens cli->model, and fills cli->info. USAGE also for fp16 where there is only
 * the CPU. */
int cli_open_model(struct cli *cli);
/* Is called while something long goes on; not 0: it is to end with that status. */
typedef int (*cli_tick)(void *user, uint64_t records, uint64_t residues);
/* Sets cli->fingerprint, unless it is set, after loading the weights of cli->sequences, if there is
 * one and it is not cli->loads_late; an exit code. */
int cli_fingerprint(struct cli *cli);
void cli_close(struct cli *cli); /* accepts half-open; once; cli->task is its command's */

/* The commands; each gives the exit code of the program, and has said all there is to say. */
#define RUN(NAME, name, ...) int cli_##name(struct cli *cli);
#include "commands.inc"
/* Gives what is to be computed, of enum bioinfer_include: what --include says, else the mean for
 * --format tsv and jsonl without --head, else 0 = the family's default. */
unsigned cli_include(const struct cli_options *o);
/* As the commands: families and weights that are known by name. */
int cli_models(struct cli *cli);
/* Prints the licences of the released weights of the family; an exit code. */
int cli_license(struct cli *cli);

/* ---- progress.c ---- */

/* Begins the line of progress, where the options, or a terminal without --quiet, ask for it, else
 * none is drawn; never with --log-json. */
void cli_progress_start(struct cli *cli);
/* Draws the line when it is time. A bioinfer_embed_params.progress; user = struct cli. CANCELLED
 * once a signal came, else 0. */
int cli_progress_tick(void *user, uint64_t records, uint64_t residues);
/* Takes the line off the terminal; end() also draws a last one where it goes to a file. */
void cli_progress_clear(struct cli *cli);
void cli_progress_end(struct cli *cli);
/* Print the table of --profile on standard error; the first one that of cli->sequences. */
void cli_print_profile(struct cli *cli);
void cli_show_profile(struct cli *cli, const struct bioinfer_profile *profile);

/* ---- output.c: text, to standard output or to a file that appears when complete */

/* Is the output the file at a path that is read, so that it would replace it? Says so. */
bool cli_output_replaces(const struct cli_options *o, const char *path);
/* path NULL or "-" = standard output. A file has its name after finish, and replaces one that is
 * there; a device or a FIFO is written at once. After a failure *out is closed. IO: a folder. */
int cli_output_open(struct cli_output *out, const char *path, struct bioinfer_error *err);
/* Failures are kept in out->status, also where text is gathered (NOMEM), and returned by
 * cli_output_finish; what is written behind one is dropped. text may be NULL where len is 0. */
void cli_output_write(struct cli_output *out, const char *text, size_t len);
void cli_output_printf(struct cli_output *out, const char *fmt, ...) CLI_PRINTF(2, 3);
/* Has the system write what there is to the disk, so that finish waits for less. */
void cli_output_start(struct cli_output *out);
/* Completes the output and gives the first failure, 0 = none; close() is still to be called. A
 * failure leaves what had the name. Not for text that is gathered: its status is out->status. */
int cli_output_finish(struct cli_output *out, struct bioinfer_error *err);
/* Opens the context and the output of a command that writes one text; an exit code. */
int cli_output_begin(struct cli *cli, struct cli_output *out, const char *path);
/* Finishes and closes it after a call of that status, which failed at a stage; an exit code. */
int cli_output_end(struct cli *cli, struct cli_output *out, enum cli_stage stage, int st,
                   struct bioinfer_error *err);
/* As the next one, of text for people: names in files and paths may hold any byte. */
int cli_output_escaped(void *user, const char *text, size_t n);
/* The write callback of bioinfer_file_info and bioinfer_task_dump; user = output. Gives
 * out->status. */
int cli_output_callback(void *user, const char *text, size_t len);
/* Writes a tab-separated field, without the tab: tabs and line ends in it become spaces. */
void cli_output_field(struct cli_output *out, const char *text);

/* ---- job.c: runs that keep a journal ---- */

/* Whether --resume or --shard asks for a journal where a run needs none. */
bool cli_job_wanted(const struct cli_options *o);
/* Opens the index of the input for a job that would not read all of it (--shard, --part-records),
 * when there is one, into cli->index, which keeps it, and params->index; an exit code, 0 also where
 * there is none, the input is "-", or there are several. */
int cli_job_open_index(struct cli *cli, struct bioinfer_job_params *params);
/* Whether there is a file that a journal can stand beside, if one is wanted; false: said why. */
bool cli_job_needs_file(struct cli *cli, const char *path);
/* Parameters of a job whose records are all computed, copies too; the caller adds writer, options,
 * inputs. `task` is not copied. .input: NULL where there are several. */
struct bioinfer_job_params cli_job_params(const struct cli *cli, const char *task);

/* A record of the input that gives its result as text. */
struct cli_unit {
    uint64_t ordinal;
    const char *id;
    int64_t length;
    int status; /* how it ends */
    const char *message;
};
/* After a failure: whether the journal keeps something, and *stats. After a mistake in input or
 * options that is only what it had committed before; after others it commits what is done. job
 * NULL: false, and *stats is untouched. */
bool cli_job_keeps(bioinfer_job *job, struct bioinfer_job_stats *stats, int status);
/* How to go on with it, where cli->kept is set. `all`: nothing is missing but the output. */
void cli_job_say_kept(struct cli *cli, const struct bioinfer_job_stats *stats, bool all);
/* A copy of a path without the slashes behind it ("/" keeps one), which the caller frees by free();
 * NULL: no memory. */
char *cli_without_slash(const char *path);
/* How to go on behind a shard, where the run was one. */
void cli_job_say_shard(struct cli *cli, const struct bioinfer_job_stats *stats, const char *path);
/* How many of `what` have no result, and why; the manifest beside `path` names them, NULL: none. */
void cli_job_say_failed(struct cli *cli, const char *what, const struct bioinfer_job_stats *stats,
                        const char *path);
/* Does cli_job_keeps(), into cli->kept, and cli_job_say_kept() for a run that ends with `code` and
 * has said why; a run under --strict that met a bad record leaves nothing. Returns the code; job
 * NULL: that is all. The job is still to be closed. */
int cli_job_stopped(struct cli *cli, bioinfer_job *job, int code);
/* Builds the output, or closes the shard; an exit code. *stats is filled in any case. A failure
 * sets cli->kept, and what the journal keeps is said. The job is still to be closed. */
int cli_job_finish(struct cli *cli, bioinfer_job *job, struct bioinfer_job_stats *stats);

/* ---- escape.c ---- */

/* Gives text[0, n) to `put`, in pieces that may be empty, with \xNN for every byte that is not of a
 * character to be shown: controls but tab and line feed, what is no UTF-8, marks of the direction
 * of writing. */
void cli_escape(void (*put)(void *user, const char *text, size_t n), void *user, const char *text,
                size_t n);

/* ---- table.c: tables of text, which loaders/csv.h reads ---- */

struct bi_csv;

/* Reads a table; an exit code, its words said: USAGE for "-", NO_INPUT, DATA, NO_MEMORY. After a
 * failure there is nothing to be freed. cli may be NULL, here and below. */
int cli_table_read(struct cli *cli, struct bi_csv *table, const char *path);
/* Finds the columns of n names, -1 = there is none; the first n_needed must be there. An exit code,
 * its words said: DATA also where the header has one of them twice. */
int cli_table_columns(struct cli *cli, const struct bi_csv *table, const char *const *names, int n,
                      int n_needed, int *columns);
/* Writes a cell that says `text`, quoted where the separator is a comma and needs it; else tabs and
 * line ends become spaces. */
void cli_csv_cell(struct cli_output *out, char separator, const char *text);

#endif
