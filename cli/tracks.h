/* tracks.h - what the files of `bioinfer MODEL INPUT` share for models of DNA windows.
 *
 *   tracks.c        the command
 *   tracks_check.c  what options ask for, and what they cannot ask for together
 *   tracks_input.c  the input: records of FASTA, intervals and clusters of variants
 *   tracks_task.c   the task, and its results as texts
 *   tracks_rows.c   rows of variants as text
 *   tracks_facts.c  what the command knows of a task that its workers have opened
 *   outputs.c       --list-outputs */
#ifndef BI_CLI_TRACKS_H
#define BI_CLI_TRACKS_H

#include "run.h"

enum { MAX_OUTPUTS = 32 };

/* The command knows this of the task that its workers have opened. */
struct tracks_facts {
    int64_t window;
    int n_outputs;
    struct {
        char name[56];
        int kind; /* enum bioinfer_tracks_kind */
    } of[MAX_OUTPUTS];
    char table[512]; /* the path of the table of tracks; "" = none is read */
};

/* The state of the task. The command has one, too: it reads the input by it. */
struct tracker {
    struct cli_work work;               /* gathers the text of the result at hand */
    struct bioinfer_variants_params *p; /* the options' */
    int kind;                           /* enum bioinfer_places_kind */
    bool to_table, to_coverage;
    bioinfer_genome *genome; /* NULL: the input holds windows */
    struct tracks_facts is;
    /* Texts of the task: the line of names of columns, what jobs know its tracks by, and the names
     * of the files of bedGraph and BigWig, a line each. */
    struct cli_output header, described, files;
    uint64_t n_told[3]; /* counts that results have told */
    cli_tick tick;
};

/* ---- tracks_task.c ---- */

/* Opens --genome, unless it is open or not given, which is OK, too; an exit code. */
int tracker_open_genome(struct tracker *t);

/* ---- tracks_check.c ---- */

/* Sets the kind, to_table and to_coverage, now that cli->told, which is not NULL, says what the
 * input holds. */
void tracker_set_kind(struct tracker *t);
/* Refuse what cannot be asked for together: before the task is open, and where an output of it
 * gives pairs while the format takes bins; an exit code. */
int tracks_check_options(const struct tracker *t);
int tracks_check_outputs(const struct tracker *t);

/* ---- tracks_facts.c ---- */

/* Learns the facts and texts of t->task, which is open; an exit code. */
int tracks_learn(struct tracker *t);
/* Functions of the table of tasks (struct cli_task). */
void tracks_tell(const struct cli *cli, struct cli_output *facts);
int tracks_hear(struct cli *cli, const char *facts, size_t n);
/* The names of outputs, with commas between; what does not fit is left out, and "..." stands
 * there. */
void tracks_name_outputs(const struct tracker *t, char *text, size_t size);

/* ---- outputs.c ---- */

/* Opens context and model, and prints the table of its outputs; an exit code. */
int outputs_list(struct cli *cli);

/* ---- tracks_input.c ---- */

struct tracks_input {
    const struct tracker *tracker;
    bioinfer_loci *loci;     /* NULL: records of FASTA are read */
    bioinfer_places *places; /* NULL before the first record of loci is asked for */
    char why[200];
    uint64_t n_read; /* records of FASTA */
};

/* Opens the input, and the genome, and says in cli->told what it holds; an exit code. *in is zeroed
 * before; the kind is still to be set (tracker_set_kind). */
int tracks_input_open(struct tracks_input *in, struct tracker *t);
/* A bioinfer_source, user = the input: windows, intervals or clusters of variants. */
int tracks_input_next(void *user, struct bioinfer_record *record, struct bioinfer_error *err);
void tracks_input_close(struct tracks_input *in); /* accepts a zeroed one */

#endif
