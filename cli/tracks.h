/* tracks.h - what the files of `bioinfer MODEL INPUT` share for models of DNA windows.
 *
 *   tracks.c        the command: outputs, and results on their way to them or to a job
 *   tracks_input.c  the input: records of FASTA, intervals and clusters of variants
 *   tracks_task.c   the task: opens what computes, makes units of records and results of values
 *   compute.c       the call of the engine: windows in, values out, in the order of the windows
 *   windows.c       windows of records and intervals; mutagenesis
 *   variants.c      windows with the other allele, rows of scores
 *   outputs.c       the outputs that are asked for, and which of their tracks
 *   targets.c       the table of tracks, --tracks and --ontology
 *   scores*.c       scorers of variants (scores.h)
 *   places.c        places that the genome lacks
 *
 * The command reads records (tracks_input.c) and the task, in this process or in workers, makes a
 * unit of each. kind->ask turns the unit into windows one after the other, the engine takes them
 * through compute.c and gives values, and kind->take makes results of them, which put_result()
 * hands to the command. */
#ifndef BI_CLI_TRACKS_H
#define BI_CLI_TRACKS_H

#include "task.h"

enum {
    MAX_SHIFTS = 64,
    MAX_OUTPUTS = 32,
    MAX_TEXT = 1020 /* bytes of the words why something has no result */
};

enum track_stat { SAD, SAR, REF, ALT, N_STATS };

/* ---- targets.c ---- */

/* A row of the table of tracks. */
struct target {
    char *identifier, *description, *ontology; /* ontology: "" = it has no term */
};

struct targets {
    struct target *of; /* NULL = no table */
    const char *path;  /* the table's, which is the caller's */
    int *pairs;        /* the other strand's track of each */
    bool has_pairs, has_ontology;
    int n;
};

/* Reads the tracks of a head; an exit code, its words said: one of cli_table_read_file(), or DATA,
 * where there are not n_tracks of them or a line is wrong. The path is not copied.
 * After a failure, too, targets_free() frees what there is. */
int targets_read(struct targets *t, const char *path, const char *head, int n_tracks);
/* Counts the tracks that a table has of a head, all lines where it has no column "head": an exit
 * code, and words where it cannot be read. */
int targets_count(int *n_tracks, const char *path, const char *head);
void targets_free(struct targets *t);

/* Numbers of tracks that are wanted, in their order. */
struct selection {
    int *of, n, cap;
};

/* Lists of --tracks and --ontology, NULL = all. `hit` has a byte for each byte of a list: 1 where a
 * part begins that means a track of some output. */
struct wish {
    const char *tracks, *ontology;
    char *tracks_hit, *ontology_hit;
};

/* Takes the lists, which are not copied; an exit code: USAGE, where one has commas alone, or
 * NO_MEMORY, its words said. wish_close() frees what there is after a failure, too. */
int wish_open(struct wish *w, const char *tracks, const char *ontology);
void wish_close(struct wish *w);
/* Do these lists take a table of tracks, that is, have they a name or a term? */
bool wish_needs_table(const struct wish *w);
/* Selects tracks of an output, and notes in w which parts of the lists mean one. OK with none = no
 * part does. They are in the order of --tracks, one as often as parts mean it; with --ontology too
 * only those of its terms stay, and those without a term. t->of NULL: numbers alone are known. An
 * exit code: USAGE for a number beyond the last track, or names or terms without a table; DATA for
 * a table without terms; NO_MEMORY; words said. The caller frees s->of, after a
 * failure, too. */
int selection_read(struct selection *s, const struct wish *w, const struct targets *t,
                   const char *output, int n_tracks);
/* Tells whether a whole text is what a pattern means: '*' is any characters, or none; case does not
 * matter. */
bool track_matches(const char *pattern, const char *text);
/* Writes the identifier of a track, or track_N where there is no table, cut to `size`. */
void track_name(char *name, size_t size, const struct targets *t, int track);

/* ---- outputs.c ---- */

/* The command knows this of an output that its workers have opened. */
struct output_facts {
    char name[56], output[40], array[40]; /* "human.cage.128", "cage"; its array in results */
    int64_t bin_size, first_bin, n_bins, n_values, values_at;
    int n_tracks, n_head_tracks, kind;
    int first; /* tracks of the outputs in front of it */
};

/* An output that is asked for. */
struct output {
    struct output_facts is;
    struct targets targets;
    struct selection chosen;
};

/* ---- places.c ---- */

/* 0, or INVALID, where the genome lacks the contig, or it ends before the place does: the reason
 * goes to text, which is untouched else. */
int check_place(const bioinfer_genome *genome, const struct bioinfer_locus *l, char *text,
                size_t size);

/* ---- units: what is computed and written together ---- */

/* A record of FASTA, an interval or a variant. The strings lie in the text of the unit. */
struct place {
    const char *chrom, *name, *reference, *alternative;
    int64_t start, end; /* 0-based, half-open; a variant: of its reference allele */
    uint64_t line;
    int status;          /* not 0: it has no result ... */
    const char *message; /* ... because */
    char *why;           /* NULL, or the message where it was found later */
};

/* Holds a record: a window, an interval, or variants that share a window. Each place gives a piece
 * of the record's result. */
struct unit {
    uint64_t ordinal;
    char *text;
    struct place *of; /* n, at least 1; more than one only of variants that can be used */
    int n;
    const char *sequence; /* the bases of a record of FASTA, until the source is asked again */
    int64_t start;        /* the place of its window's first base in the contig */
    int64_t next;         /* the place that is asked for next */
    /* Where there is mutagenesis: */
    float *scores;      /* [bases, 4, n_tracks] */
    int64_t *scored;    /* the base, of 4 at each place, that each change puts there */
    int status;         /* why there are no scores ... */
    char why[MAX_TEXT]; /* ... in words */
};

/* ---- compute.c ---- */

/* One question to the engine: the values of a window, and of windows that differ from it. */
struct window {
    const char *sequence; /* NULL: there is nothing to compute, for the reason of ... */
    int status;           /* ... this status and `text` */
    const char *text;
    const struct bioinfer_change *changes;
    size_t n_changes;
    int64_t first; /* places [first, first + n) of the unit are in this window */
    int64_t n;
    bool last; /* the unit has no further windows: it is freed once this one is taken */
};

/* A window whose values are to come. */
struct flight {
    struct unit *unit;
    int64_t first, n;
    int64_t taken; /* places of these that have a result */
    double *half;  /* NULL, or the scores of the first of two changes of the variant at hand ... */
    int half_status;
    bool last;
    struct flight *behind;
};

struct compute {
    struct flight *first, *last; /* NULL = there are none */
    /* They belong to the window that is asked for; the engine copies them. */
    struct bioinfer_change *changes;
    size_t cap;
    char *bases;
    size_t cap_bases;
};

struct tracker;
struct scores;

/* Computes the windows of all units, and gives their values to t->kind->take in the order of the
 * windows. A status, that of t->source, of t->kind's functions or of the engine; a window without
 * values is no failure, and `take` gets its status. */
int compute_all(struct tracker *t, struct bioinfer_error *err);
/* Frees the windows whose values are to come, and their units, but not t->asked. */
void compute_close(struct tracker *t);
/* The words of a change's status, which is 0 or NONFINITE; "" for 0. */
const char *change_text(int status);
/* Adds a change to the window that is asked for: 0, or NOMEM. The bases are the caller's, and must
 * stay until the engine has taken the window. */
int add_change(struct tracker *t, struct window *w, int64_t first, int64_t length,
               const char *bases, struct bioinfer_error *err);

/* ---- tracks_task.c ---- */

/* How one kind of input becomes windows, and their values results. */
struct kind {
    const char *holds; /* "windows", "intervals", "variants" */
    /* Fills in *w, zeroed before, with the next window of a unit; its sequence stays NULL where no
     * place of it can have values. A status, which ends the run, as of the next. */
    int (*ask)(struct tracker *t, struct unit *u, struct window *w, struct bioinfer_error *err);
    /* Puts the results of a window, or those that a piece of its values gives; r->status: why there
     * are none. */
    int (*take)(struct tracker *t, struct flight *f, const struct bioinfer_result *r,
                struct bioinfer_error *err);
    /* Puts the result of a place that has none; NULL = put_result() does. */
    int (*fail)(struct tracker *t, const struct unit *u, int i, int status, const char *message,
                struct bioinfer_error *err);
};

/* How many changes the variants of a unit make to its windows: an insertion or a deletion that is
 * compared on both sides (--indel) makes two. */
uint64_t count_changes(const struct tracker *t, const struct unit *u);

extern const struct kind records_kind, intervals_kind, mutagenesis_kind, variants_kind;

/* The state of the task. The command has one, too: it reads the input by it. */
struct tracker {
    struct cli *cli;
    const struct kind *kind;
    bool to_table, to_coverage;
    bioinfer_genome *genome;          /* NULL: the input holds windows */
    bioinfer_task *tracks;            /* NULL: workers have theirs */
    struct bioinfer_tracks_info info; /* the first output's */
    struct output of[MAX_OUTPUTS];    /* [n_outputs] */
    int n_outputs, n_tracks;          /* n_tracks: of all outputs together */
    char table[512];                  /* the path of the table of tracks; "" = none is read */
    bool unfit;                       /* the one that comes with bioinfer is of other weights */
    char left_out[160];               /* names of outputs of which no track is meant */
    char without[252];                /* why scorers do without junctions; "" = they do not */
    int64_t first_bin, n_bins;        /* bins to explain; n_bins 0 = the usual */
    int shifts[MAX_SHIFTS], n_shifts;
    enum track_stat stats_of[N_STATS];
    int n_stats;
    enum bioinfer_tracks_sums sums; /* whether there are sums of a window rather than tracks */
    int64_t n_values;               /* as many as a window has, in all outputs */
    struct scores *scores;          /* NULL: --scorers is not given */
    size_t most_changes;            /* a window has; 0 = as many as MOST_BASES lets be */
    struct compute compute;
    struct unit *asked;    /* the one whose windows are asked for */
    char *reference;       /* [window], for those who ask */
    struct cli_output row; /* the text of the result at hand */
    uint64_t n_told[3];    /* counts of info that results have told */
    cli_tick tick;
    bioinfer_source source;
    void *source_user;
    bioinfer_sink sink;
    void *sink_user;
};

extern const char *const stat_names[N_STATS];
/* The name of the text of a result that tells where its arrays lie, a line for each output, as
 * writers read it (struct bioinfer_writer_params). */
#define TRACKS_WINDOW "window"

/* Sets the kind, to_table and to_coverage, now that cli->told, which is not NULL, says what the
 * input holds. */
void tracker_set_kind(struct tracker *t);
/* Opens --genome, unless it is open or not given, which is OK, too; an exit code. */
int tracker_open_genome(struct tracker *t);
/* Refreshes t->info by the task, which is open. */
void tracker_learn(struct tracker *t);
/* Takes the next unit that is to be computed: 1, *unit is the caller's; 0 = there is none; < 0 = a
 * status; *unit is NULL but for 1. A record that cannot be used is a unit, too, whose first place
 * has the status. */
int next_unit(struct tracker *t, struct unit **unit, struct bioinfer_error *err);
void unit_free(struct unit **unit); /* accepts NULL */
/* Says why a place has no result, in words that are copied and take the place of earlier ones: 0,
 * or NOMEM, and the place is as it was. */
int place_fail(struct place *p, int status, const char *text, struct bioinfer_error *err);
/* Fails with NOMEM, which it returns, naming what there is no memory for. */
int no_memory(struct bioinfer_error *err, const char *what);
/* Reads the window around a base into t->reference and sets *start, its first base, which may be
 * below 0, in any case: a status of bioinfer_genome_read(). Bases off the contig are N. */
int read_window(struct tracker *t, const char *chrom, int64_t middle, int64_t *start,
                struct bioinfer_error *err);
/* The difference that a change makes to a track of an output, or what else `stat` says: SAD is the
 * sum over bins of `other` less that of `values`, SAR the same of log2(1 + value), REF the sum of
 * `values` and ALT of `other`, where the one that is not asked for may be NULL. Both are values of
 * the output, or its sums where t->sums says so. */
double track_score(const struct tracker *t, const struct output *o, const float *values,
                   const float *other, enum track_stat stat, int track);
/* Puts the result of place i of a unit, with what t->row has gathered, which is empty then: its
 * arrays, none in a table, or why there are none; the last place ends the record's result. A
 * status: NOMEM, also where t->row lacked memory before, or what the sink gave. */
int put_result(struct tracker *t, const struct unit *u, int i, int status, const char *message,
               const struct bioinfer_array *arrays, int n, struct bioinfer_error *err);

/* ---- outputs.c, with the task's state ---- */

/* Finds the outputs that --outputs, --organism and --resolution mean, reads their tables and
 * selects their tracks; an exit code, words said. Outputs no track of which is
 * meant are named in t->left_out; USAGE where none stays, or a part of the lists means nothing. */
int outputs_find(struct tracker *t);
/* Opens t->tracks for these outputs, which --contributions wants one of, and learns their facts; an
 * exit code. params->outputs is NULL behind it. */
int outputs_open(struct tracker *t, struct bioinfer_tracks_params *params);
/* For the command, which has the facts of outputs from its workers: reads tables and selects tracks
 * as outputs_find() did there, and opens no task; an exit code as of it. */
int outputs_hear(struct tracker *t);
/* Frees tables and selections, once, after a failure of the above, too. */
void outputs_free(struct tracker *t);
/* Opens context and model, and prints the table of its outputs; an exit code. */
int outputs_list(struct cli *cli);
/* Their names, with commas between; what does not fit is left out, and "..." stands there. */
void outputs_name(const struct tracker *t, char *text, size_t size);

/* ---- tracks_input.c ---- */

/* An interval or a variant that was read. */
struct spot {
    struct bioinfer_locus l;
    char *text; /* holds the strings of l; NULL = there is none */
};

struct tracks_input {
    const struct tracker *tracker;
    bioinfer_loci *loci;     /* NULL: records of FASTA are read */
    struct spot spot, ahead; /* the first of the record at hand; the variant behind a cluster */
    struct cli_output text;  /* the record at hand, where it is no window */
    char why[MAX_TEXT];
    uint64_t n_read, n_indels; /* n_indels: variants whose ALT is longer or shorter than REF */
    bool failed;               /* reading did */
};

/* Opens the input, and the genome, and says in cli->told what it holds; an exit code. *in is zeroed
 * before; the kind is still to be set (tracker_set_kind). */
int tracks_input_open(struct tracks_input *in, struct tracker *t);
/* A bioinfer_source, user = the input: windows, intervals or clusters of variants. A record has the
 * name of its first place, and its bases or the places as text (tracks_input.c) for a sequence. It
 * lives until the next call; one that cannot be used has a status: INVALID, or TOO_LONG for alleles
 * above a quarter of a window. CANCELLED, without words, once a signal came; in->failed is set by
 * other failures alone. */
int tracks_input_next(void *user, struct bioinfer_record *record, struct bioinfer_error *err);
/* Makes the unit that a record holds: 0, or NOMEM, and unit_free() frees what there is. Bases are
 * not copied; status and message of the record become those of the first place. */
int unit_read(struct unit *u, const struct kind *kind, const struct bioinfer_record *record,
              struct bioinfer_error *err);
void tracks_input_close(struct tracks_input *in); /* accepts a zeroed one */

#endif
