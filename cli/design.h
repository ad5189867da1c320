/* design.h - what the files of `bioinfer MODEL STRUCTURE...` share.
 *
 *   design.c        the command: structures in, results to a job or an output
 *   design_task.c   the task: a structure becomes pieces of text or arrays
 *   structures.c    files, folders and lists of paths */
#ifndef BI_CLI_DESIGN_H
#define BI_CLI_DESIGN_H

#include "pool/worker.h"

/* ---- structures.c ---- */

/* Finds the structures that the command line names, folders, lists and standard input among them,
 * in this order, those of a folder by name. Returns an exit code: NO_INPUT for a folder or a list
 * that cannot be read, DATA for a folder without structures, or none at all, USAGE for standard
 * input named twice. Other files are not opened. Paths found before a failure are in *p. */
int cli_structures_find(struct cli *cli, struct cli_paths *p);
/* Tells whether none of them can be opened; of no paths it is true. */
bool cli_structures_none(const struct cli_paths *p);
/* Gives the length of the name of a file without a suffix of structures, the whole one where it has
 * none or is nothing else. */
size_t cli_structure_stem(const char *name);

/* ---- design_task.c ---- */

/* The first line of a table without --include. */
#define CLI_DESIGN_HEAD                                                                            \
    "name\tsample\ttemperature\tscore\tglobal_score\tseq_recovery\tsequence\tsource\n"

enum cli_design_format { CLI_FASTA, CLI_TABLE, CLI_ARRAYS };

/* The state of the task. */
enum { CLI_DESIGN_INPUTS = 8 };

struct cli_designer {
    struct cli *cli;
    enum cli_design_format format;
    struct bioinfer_design_params params;
    double temperatures[64];
    bioinfer_task *design;
    const struct cli_paths *all; /* for numbers that are drawn in order; NULL in a worker */
    uint64_t next;               /* the structure for which numbers are drawn next */
    struct cli_output text;      /* gathers the rows of that structure */
    struct cli_unit unit;        /* that structure ... */
    char *name;                  /* ... and its name, NULL = there is none */
    uint32_t piece;              /* the number of its next piece */
    uint64_t n_sequences;        /* that it has so far */
    char *path, *id;             /* the structure that is read next, NULL = ask for one */
    uint64_t ordinal;
    char *given;                  /* the id of the structure that was read last ... */
    struct bioinfer_record *file; /* ... its file ... */
    struct bioinfer_error why;    /* ... and why it cannot be read */
    bioinfer_source source;
    bioinfer_sink sink;
    void *source_user, *sink_user;
};

/* Gives the files beside the structures, by role, always in the same order; path NULL: it was not
 * given. Paths are the options' own. */
void cli_design_inputs(const struct cli *cli, struct bioinfer_job_input inputs[CLI_DESIGN_INPUTS]);
/* Gives the first line of the output, "" = there is none; a text that ends with NUL, maybe in
 * `text`, which has 96 bytes or more. */
const char *cli_design_head(const struct cli *cli, enum cli_design_format format, char *text,
                            size_t size);
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
/* Tells whether the random numbers of a structure depend on all structures before it. */
bool cli_design_ordered(const struct cli_options *o);

#endif
