/* design.h - what the files of `bioinfer MODEL STRUCTURE...` share.
 *
 *   design.c        the command: structures in, results to a job or an output
 *   design_task.c   the task: a structure becomes pieces of text or arrays
 *   design_rows.c   rows of tables, and arrays
 *   structures.c    files, folders and lists of paths */
#ifndef BI_CLI_DESIGN_H
#define BI_CLI_DESIGN_H

#include "run.h"

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

enum cli_design_format { CLI_FASTA, CLI_TABLE, CLI_ARRAYS };

/* The state of the task. */
struct cli_designer {
    struct cli_work work; /* gathers the rows of that structure as text */
    enum cli_design_format format;
    const struct bioinfer_design_params *params; /* the options' */
    const struct cli_paths *all; /* for numbers that are drawn in order; NULL in a worker */
    uint64_t next;               /* the structure for which numbers are drawn next */
    struct cli_unit unit;        /* that structure ... */
    char *name;                  /* ... and its name, NULL = there is none */
    uint32_t piece;              /* the number of its next piece */
    uint64_t n_sequences;        /* that it has so far */
    char *path, *id;             /* the structure that is read next, NULL = ask for one */
    uint64_t ordinal;
    char *given;                  /* the id of the structure that was read last ... */
    struct bioinfer_record *file; /* ... its file ... */
    struct bioinfer_error why;    /* ... and why it cannot be read */
};

/* Tells whether the random numbers of a structure depend on all structures before it. */
bool cli_design_ordered(const struct cli_options *o);

/* ---- design_rows.c ---- */

/* Gives the first line of the output, "" = there is none; a text that ends with NUL, maybe in
 * `text`, which has 96 bytes or more. */
const char *cli_design_head(const struct cli *cli, enum cli_design_format format, char *text,
                            size_t size);
/* Adds the rows of --include to work.text, one for each position and kind. No memory: its
 * status. */
void cli_design_put_rows(struct cli_designer *d, const struct bioinfer_result *r);

#endif
