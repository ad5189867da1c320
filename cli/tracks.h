/* tracks.h - what the files of `bioinfer MODEL INPUT` share for models of DNA windows.
 *
 *   tracks.c    options, session, outputs; units from the input, results to the output or its job
 *   compute.c   the call of the engine: windows in, values out, in the order of the windows
 *   windows.c   records of FASTA and intervals as windows; mutagenesis
 *   variants.c  clusters of variants, windows with the other allele, rows of scores
 *   targets.c   the table of tracks and --tracks
 *   places.c    places that the genome lacks
 *   coverage.c  bedGraph and BigWig
 *
 * The stream: kind->read gives a unit, kind->ask turns it into windows one after the other, the
 * engine takes them through compute.c and gives values, kind->take makes results of them,
 * put_result() hands these on. */
#ifndef BI_CLI_TRACKS_H
#define BI_CLI_TRACKS_H

#include "cli.h"

enum {
    MAX_SHIFTS = 64,
    MAX_TEXT = 1020 /* bytes of the words why something has no result */
};

enum track_stat { SAD, SAR, REF, ALT, N_STATS };

/* ---- targets.c ---- */

struct target {
    char *identifier, *description;
};

struct targets {
    struct target *of; /* NULL = no table */
    const char *path;  /* the table's, which is the caller's */
    int *pairs;        /* the other strand's track of each */
    bool has_pairs;
    int n;
};

/* Each returns an exit code, its words said. */
int targets_read(struct targets *t, const char *path, int n_tracks);
void targets_free(struct targets *t);

struct selection {
    int *of, n, cap;
};

/* list NULL = all. */
int selection_read(struct selection *s, const char *list, const struct targets *t, int n_tracks);
void track_name(char *name, size_t size, const struct targets *t, int track);

/* ---- places.c ---- */

/* 0, or why the place is none of the genome: the reason goes to text. */
int check_place(const bioinfer_genome *genome, const struct bioinfer_locus *l, char *text,
                size_t size);

/* ---- coverage.c ---- */

struct coverage {
    bool bigwig;
    const char *folder;
    int n_tracks;
    const int *tracks;
    const struct targets *targets;
    int64_t bin_size;
    struct covered *of;
    size_t n, cap;
};

/* Makes the folder. */
int coverage_open(struct coverage *c, struct cli *cli);
/* values: [n_bins, n_tracks] from base `start` on (may be negative: such bins are left out). */
int coverage_put(struct coverage *c, const char *contig, int64_t length, int64_t start,
                 int64_t n_bins, const float *values);
/* One file per track; where windows overlap on one grid of bins, their mean. */
int coverage_finish(struct coverage *c, struct cli *cli);
void coverage_close(struct coverage *c);

/* ---- units: what is read, computed and written together ---- */

/* A record, an interval or a variant. The strings of `l` lie in `text`. */
struct place {
    struct bioinfer_locus l;
    char *text;
    char *why; /* NULL, or the words of l.status where it was found later */
};

/* A record of FASTA, an interval, or variants that share a window, which are grouped by the input
 * alone. A job computes it as a whole and counts it as one; each place gives a result. */
struct unit {
    uint64_t ordinal;
    struct place *of; /* n, at least 1; more than one only of variants without a status */
    int n, cap;
    size_t size;          /* bytes that the places take */
    const char *sequence; /* the bases of a record, the reader's until its next one; else NULL */
    size_t length;
    struct cli_output key; /* where there is a job: the text that tells this unit from others */
    int64_t start;         /* the place of its window's first base in the contig */
    int64_t next;          /* the place that is asked for next */
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
    bool last;
    struct flight *behind;
};

struct compute {
    struct flight *first, *last; /* NULL = there are none */
    int code;                    /* an exit code, its words said */
    /* They belong to the window that is asked for; the engine copies them. */
    struct bioinfer_change *changes;
    size_t cap;
    char *bases;
    size_t cap_bases;
};

struct run;

/* Computes the windows of all units, and gives their values to run->kind->take in the order of the
 * windows. Exit codes, as of all that follow: their words are said. */
int compute_all(struct run *run);
void compute_close(struct run *run);
/* The words of a change's status. */
const char *change_text(int status);
/* Adds a change to the window that is asked for; false: no memory. The bases are the caller's. */
bool add_change(struct run *run, struct window *w, int64_t first, int64_t length,
                const char *bases);

/* ---- tracks.c ---- */

/* How one kind of input becomes windows, and their values results. */
struct kind {
    const char *holds; /* "windows", "intervals", "variants" */
    /* Reads the places of the next unit: 1, 0 = the end, < 0 = status. */
    int (*read)(struct run *run, struct unit *u, struct bioinfer_error *err);
    /* Fills in the next window of a unit; an exit code. */
    int (*ask)(struct run *run, struct unit *u, struct window *w);
    /* Puts the results of a window, or those that a piece of its values gives; an exit code. */
    int (*take)(struct run *run, struct flight *f, const struct bioinfer_window_result *r);
};

extern const struct kind records_kind, intervals_kind, mutagenesis_kind, variants_kind;

struct run {
    struct cli *cli;
    const struct kind *kind;
    bioinfer_tracks *tracks;
    bioinfer_genome *genome;
    bioinfer_loci *loci;
    bioinfer_job *job;       /* NULL: results go to one of ... */
    bioinfer_writer *writer; /* ... these */
    struct cli_output table; /* TSV of variants; with a job it gathers one row */
    struct coverage coverage;
    struct bioinfer_job_stats stats;
    struct targets targets;
    struct selection chosen;
    struct bioinfer_tracks_info info;
    int shifts[MAX_SHIFTS], n_shifts;
    enum track_stat stats_of[N_STATS];
    int n_stats;
    enum bioinfer_tracks_sums sums; /* whether there are sums of a window rather than tracks */
    bool to_table, to_coverage;
    int64_t n_values; /* n_rows * n_tracks: as many as a window has */
    struct compute compute;
    struct unit *read, *asked; /* the unit read last; the one whose windows are asked for */
    struct place ahead;        /* the variant behind a cluster; text NULL = there is none */
    bool reading;              /* a failure is the reader's */
    char *reference;           /* [window], for those who ask */
    uint64_t n_units, n_records, n_failed;
};

extern const char *const stat_names[N_STATS];

/* Copies a locus and its strings. Of all these false: no memory. */
bool place_copy(struct place *p, const struct bioinfer_locus *l);
/* Says why a place has no result, in words that are copied. */
bool place_fail(struct place *p, int status, const char *text);
void place_free(struct place *p);
/* Moves a place into a unit. */
bool unit_add(struct unit *u, struct place *p);
void unit_free(struct unit **unit); /* accepts NULL */

/* Takes the next unit that is to be computed, the caller's; NULL at the end. */
int take_unit(struct run *run, struct unit **unit);
/* Says why the genome, or what is computed, failed. */
int run_failed(struct run *run, int status, const struct bioinfer_error *err);
/* Reads the window around a base into run->reference and sets *start. */
int read_window(struct run *run, const char *chrom, int64_t middle, int64_t *start,
                struct bioinfer_error *err);
/* The difference that a change makes to a track, or what else `stat` says. */
double track_score(const struct run *run, const float *values, const float *other,
                   enum track_stat stat, int track);
/* Puts the result of place i of a unit: its arrays, or why there are none. */
int put_result(struct run *run, const struct unit *u, int i, int status, const char *message,
               const struct bioinfer_array *arrays, int n);

#endif
