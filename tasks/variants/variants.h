/* variants.h - the task variants: what its files share.
 *
 *   places.c        the source: records of intervals and of clusters of variants
 *   task.c          the task: opens what computes, makes units of records and results of values
 *   outputs.c       the outputs that are asked for, and which of their tracks
 *   targets.c       the table of tracks, and lists that mean some of them
 *   windows.c       windows of records and intervals; mutagenesis
 *   variants.c      windows with the other allele
 *   columns.c       columns of rows
 *   scores*.c       scorers of variants (scores.h)
 *
 * A record becomes a unit of places. kind->ask turns the unit into windows one after the other, the
 * task of windows takes them and gives values, and kind->take makes results of them. */
#ifndef BI_VARIANTS_H
#define BI_VARIANTS_H

#include "../../base/buf.h"
#include "../../loaders/genome.h"
#include "../tracks.h"

enum { BI_MOST_OUTPUTS = 32, BI_WHY_SIZE = 1020 /* bytes of the words why there is no result */ };

enum bi_track_stat { BI_STAT_SAD, BI_STAT_SAR, BI_STAT_REF, BI_STAT_ALT, BI_STATS };

/* ---- targets.c ---- */

/* A row of the table of tracks. */
struct bi_track_name {
    char *identifier, *description, *ontology; /* ontology: "" = it has no term */
};

struct bi_targets {
    struct bi_track_name *of; /* NULL = no table */
    const char *path;         /* the table's, which is the caller's */
    int *pairs;               /* the other strand's track of each */
    bool has_pairs, has_ontology;
    int n;
};

/* Reads the tracks of a head. FORMAT, where there are not n_tracks of them or a line is wrong; else
 * a status of bi_targets_table(). The path is not copied. After a failure, too, bi_targets_free()
 * frees what there is. */
int bi_targets_read(const struct bi_env *env, struct bi_targets *t, const char *path,
                    const char *head, int n_tracks, struct bioinfer_error *err);
/* Counts the tracks that a table has of a head, all lines where it has no column "head". */
int bi_targets_count(const struct bi_env *env, int *n_tracks, const char *path, const char *head,
                     struct bioinfer_error *err);
void bi_targets_free(const struct bi_env *env, struct bi_targets *t);

struct bi_csv;
/* Reads a table of a file, which is no device or pipe, as it is read more than once: NOT_FOUND;
 * else a status of bi_csv_read(). */
int bi_targets_table(const struct bi_env *env, struct bi_csv *table, const char *path,
                     struct bioinfer_error *err);
/* Finds columns by name: -1 for one that is not there, FORMAT where it is among the first n_needed
 * or the header has it twice. */
int bi_targets_columns(const struct bi_csv *table, const char *const *names, int n, int n_needed,
                       int *columns, struct bioinfer_error *err);
/* Says whether a row with this cell in its column "head" is of a head: NULL is of all, else it has
 * the head's name or one of the names between its dots. */
bool bi_targets_belongs(const char *name, const char *head);

/* Numbers of tracks that are wanted, in their order. */
struct bi_selection {
    int *of, n;
    size_t cap;
};

/* Lists of tracks and terms, NULL = all. `hit` has a byte for each byte of a list: 1 where a part
 * begins that means a track of some output. */
struct bi_wish {
    const char *tracks, *ontology;
    char *tracks_hit, *ontology_hit;
};

/* Takes the lists, which are not copied; INVALID, where one has commas alone. bi_wish_close() frees
 * what there is after a failure, too. */
int bi_wish_open(const struct bi_env *env, struct bi_wish *w, const char *tracks,
                 const char *ontology, struct bioinfer_error *err);
void bi_wish_close(const struct bi_env *env, struct bi_wish *w);
/* Do these lists take a table of tracks, that is, have they a name or a term? */
bool bi_wish_needs_table(const struct bi_wish *w);
/* Selects tracks of an output, and notes in w which parts of the lists mean one. 0 with none = no
 * part does. They are in the order of w->tracks, one as often as parts mean it; with terms too only
 * tracks of these stay, and tracks without a term. t->of NULL: numbers alone are known. INVALID for
 * a number above the last track, or names or terms without a table; FORMAT for a table without
 * terms. The caller frees s->of, after a failure, too. */
int bi_selection_read(const struct bi_env *env, struct bi_selection *s, const struct bi_wish *w,
                      const struct bi_targets *t, const char *output, int n_tracks,
                      struct bioinfer_error *err);
/* Tells whether a whole text is what a pattern means: '*' is any characters, or none; case does not
 * matter. */
bool bi_track_matches(const char *pattern, const char *text);

/* ---- outputs.c ---- */

/* An output that is asked for. */
struct bi_variants_output {
    char name[56], output[40]; /* "human.cage.128", "cage" */
    int n_head_tracks;
    struct bioinfer_tracks_info is; /* once the task of windows is open */
    int first;                      /* tracks of the outputs before it */
    struct bi_targets targets;
    struct bi_selection chosen;
};

/* ---- places.c ---- */

/* Decides which places can be used. */
struct bi_place_rules {
    const struct bioinfer_genome *genome;
    int64_t window;
    bool variants, mutagenesis; /* else intervals */
    bool scorers;
};
/* Checks a place that could be read: 0; INVALID or TOO_LONG as bioinfer_places_source() has them.
 * The message begins with the line. */
int bi_place_check(const struct bi_place_rules *rules, const struct bioinfer_locus *l,
                   struct bioinfer_error *err);

/* ---- units: what is computed and written together ---- */

/* A record of bases, an interval or a variant. The strings lie in the text of the unit. */
struct bi_spot {
    const char *chrom, *name, *reference, *alternative;
    int64_t start, end; /* 0-based, half-open; a variant: of its reference allele */
    uint64_t line;
    int status;          /* not 0: it has no result ... */
    const char *message; /* ... because */
    char *why;           /* NULL, or the message where it was found later */
};

/* Holds a record: a window, an interval, or variants that share a window. Each place gives a piece
 * of the record's result. */
struct bi_places_unit {
    uint64_t ordinal;
    char *text;
    struct bi_spot *of; /* n, at least 1; more than one only of variants that can be used */
    int n;
    const char *sequence; /* the bases of a record, until the source is asked again */
    size_t length;
    int64_t start; /* the place of its window's first base in the contig */
    int64_t next;  /* the place that is asked for next */
    /* Where there is mutagenesis: */
    float *scores;         /* [bases, 4, n_tracks] */
    int64_t *scored;       /* the base, of 4 at each place, that each change puts there */
    int status;            /* why there are no scores ... */
    char why[BI_WHY_SIZE]; /* ... in words */
};

/* One question to the task of windows: the values of a window, and of some that differ from it. */
struct bi_places_window {
    const char *sequence; /* NULL: there is nothing to compute, for the reason of ... */
    size_t length;
    int status; /* ... this status and `text` */
    const char *text;
    const struct bioinfer_change *changes;
    size_t n_changes;
    int64_t first; /* places [first, first + n) of the unit are in this window */
    int64_t n;
    bool last; /* the unit has no further windows: it is freed once this one is taken */
};

/* A window whose values are to come. */
struct bi_window_flight {
    struct bi_places_unit *unit;
    int64_t first, n;
    int64_t taken; /* places of these that have a result */
    double *half;  /* NULL, or the scores of the first of two changes of the variant at hand ... */
    int half_status;
    bool last;
    struct bi_window_flight *next;
};

struct bi_variants_task;

/* How one kind of record becomes windows, and their values results. */
struct bi_places_kind {
    /* Fills in *w, zeroed before, with the next window of a unit; its sequence stays NULL where no
     * place of it can have values. A status, which ends the run, as of the next. */
    int (*ask)(struct bi_variants_task *t, struct bi_places_unit *u, struct bi_places_window *w,
               struct bioinfer_error *err);
    /* Puts the results of a window, or those that a piece of its values gives; r->status: why there
     * are none. */
    int (*take)(struct bi_variants_task *t, struct bi_window_flight *f,
                const struct bioinfer_result *r, struct bioinfer_error *err);
};
extern const struct bi_places_kind bi_records_kind, bi_intervals_kind, bi_mutagenesis_kind,
    bi_variants_kind;

/* ---- columns.c ---- */

enum { BI_MOST_COLUMNS = 32 };

/* Columns while their rows are added. */
struct bi_row_columns {
    struct bi_row_column {
        const char *name;
        int type;           /* enum bioinfer_column_type */
        struct bi_buf data; /* as struct bioinfer_column has them */
        struct bi_buf bytes;
    } of[BI_MOST_COLUMNS];
    int n, at; /* at: the column that the next cell of a row goes to */
    int64_t n_rows;
    struct bioinfer_column is[BI_MOST_COLUMNS];
};

/* Adds a column; its name is not copied. Up to BI_MOST_COLUMNS are added, before the first row. */
void bi_row_columns_add(const struct bi_env *env, struct bi_row_columns *c, const char *name,
                        int type);
/* Each adds the next cell of a row, which is of the column's type; behind the last column the next
 * row begins. A lack of memory is found by bi_row_columns_give(). */
void bi_row_columns_text(struct bi_row_columns *c, const char *text, size_t n);
void bi_row_columns_i64(struct bi_row_columns *c, int64_t number);
void bi_row_columns_f32(struct bi_row_columns *c, float number);
void bi_row_columns_f64(struct bi_row_columns *c, double number);
/* Gives all rows so far, whole ones, to a result; they are c's. NOMEM. */
int bi_row_columns_give(struct bi_row_columns *c, struct bioinfer_result *r,
                        struct bioinfer_error *err);
void bi_row_columns_clear(struct bi_row_columns *c); /* takes the rows away, not the columns */
void bi_row_columns_free(struct bi_row_columns *c);

/* ---- task.c ---- */

struct bi_scores;

struct bi_variants_task {
    struct bioinfer_task task;
    const struct bi_places_kind *kind;
    struct bioinfer_genome *genome;                /* NULL: records are windows */
    struct bioinfer_variants_params params;        /* texts are copies */
    char *texts[11];                               /* which these are */
    struct bi_variants_output of[BI_MOST_OUTPUTS]; /* [n_outputs] */
    int n_outputs, n_tracks;                       /* n_tracks: of all outputs together */
    char table[512];                               /* the path of the table of tracks; "" = none */
    int shifts[BI_TRACKS_SHIFTS];
    enum bi_track_stat stats[BI_STATS];
    int n_stats;
    enum bioinfer_tracks_sums sums; /* whether there are sums of a window rather than tracks */
    int64_t window, n_values;       /* n_values: as many as a window has, in all outputs */
    struct bi_scores *scores;       /* NULL: no scorers */
    size_t most_changes;            /* a window has; 0 = as many as its bases let be */
    struct bi_places_unit *asked;   /* the one whose windows are asked for */
    char *reference;                /* [window], for those who ask */
    struct bi_window_flight *first,
        *last;                     /* windows whose values are to come; NULL = there are none */
    struct bi_buf changes, bases;  /* the window that is asked for has these; they are copied */
    struct bi_row_columns columns; /* the result at hand has these */
    struct bi_buf where;           /* where its arrays lie, a line each (writers/place.c) */
};

extern const char *const bi_stat_names[BI_STATS];
/* Takes the next unit that is to be computed: 1, *unit is the caller's; 0 = there is none; < 0 = a
 * status; *unit is NULL but for 1. A record that cannot be used is a unit, too, whose first place
 * has the status. */
int bi_places_next(struct bi_variants_task *t, struct bi_places_unit **unit,
                   struct bioinfer_error *err);
void bi_places_free(const struct bi_env *env, struct bi_places_unit **unit); /* accepts NULL */
/* Says why a place has no result, in words that are copied and take the place of earlier ones: 0,
 * or NOMEM, and the place is as it was. */
int bi_spot_fail(const struct bi_env *env, struct bi_spot *p, int status, const char *text,
                 struct bioinfer_error *err);
/* Reads the window around a base into t->reference and sets *start, its first base, which may be
 * below 0, in any case: a status of bi_genome_read(). Bases off the contig are N. */
int bi_read_window(struct bi_variants_task *t, const char *chrom, int64_t middle, int64_t *start,
                   struct bioinfer_error *err);
/* Adds a change to the window that is asked for: 0, or NOMEM. The bases are the caller's, and must
 * stay until the task of windows has taken the window. */
int bi_add_change(struct bi_variants_task *t, struct bi_places_window *w, int64_t first,
                  int64_t length, const char *bases, struct bioinfer_error *err);
/* The words of a change's status, which is 0 or NONFINITE; "" for 0. */
const char *bi_change_text(int status);
/* The difference that a change makes to a track of an output, or what else `stat` says: SAD is the
 * sum over bins of `other` less that of `values`, SAR the same of log2(1 + value), REF the sum of
 * `values` and ALT of `other`, where the one that is not asked for may be NULL. Both are values of
 * the output, or its sums where t->sums says so. */
double bi_track_score(const struct bi_variants_task *t, const struct bi_variants_output *o,
                      const float *values, const float *other, enum bi_track_stat stat, int track);
/* Puts the result of place i of a unit, with the rows of t->columns and the text of t->where, which
 * are empty then, and its arrays, or why there are none; the last place ends the record's result. A
 * status: NOMEM, also where these lacked memory before, or what the sink gave. */
int bi_put_result(struct bi_variants_task *t, const struct bi_places_unit *u, int i, int status,
                  const char *message, const struct bioinfer_array *arrays, int n,
                  struct bioinfer_error *err);

/* ---- outputs.c, with the task's state ---- */

/* Finds the outputs that the params mean, reads their tables and selects their tracks. Outputs no
 * track of which is meant are named in a warning; INVALID where none stays, or a part of the lists
 * means nothing. */
int bi_outputs_find(struct bi_variants_task *t, struct bioinfer_error *err);
/* Opens the task of windows for these outputs, or for contributions, which explain one of them. */
int bi_outputs_open(struct bi_variants_task *t, struct bioinfer_tracks_params *params,
                    struct bioinfer_error *err);
void bi_outputs_free(struct bi_variants_task *t); /* tables and selections, once */
/* Takes the table of params.targets. INVALID: its path is longer than t->table. */
int bi_outputs_table(struct bi_variants_task *t, struct bioinfer_error *err);

#endif
