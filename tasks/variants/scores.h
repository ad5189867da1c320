/* scores.h - scores of variants as the tool of their authors makes them.
 *
 *   scores.c         the scorers there are, and what they need of the model
 *   scores_run.c     windows of a unit, and the scores of its variants
 *   scores_lists.c   rows that the device sums up for them
 *   scores_junctions.c  junctions of both alleles between the same sites
 *   scores_rows.c    the rows of results
 *   scores_values.c  scores from arrays (scores_values.h)
 *   scores_tables.c  tables of tracks, of polyadenylation sites and of quantiles
 *
 * A unit's window and its variants are computed with all outputs that scorers ask for. First each
 * scorer says which rows of its output are to be summed up, and what rows of the result are made of
 * these; the device makes the sums, of which scores are made as they come. Where junctions are to
 * be counted, all classes of splice sites come to the host, which chooses the sites; rows of genes
 * wait on the device to be counted between these. */
#ifndef BI_VARIANTS_SCORES_H
#define BI_VARIANTS_SCORES_H

#include "../../loaders/gtf.h"
#include "scores_values.h"
#include "variants.h"

enum bi_scorer_kind {
    BI_SCORE_CENTER,
    BI_SCORE_CONTACTS,
    BI_SCORE_LFC,
    BI_SCORE_ACTIVE,
    BI_SCORE_SPLICING,
    BI_SCORE_JUNCTIONS,
    BI_SCORE_SITES
};

enum { BI_MOST_SCORERS = 32, BI_SCORED_OUTPUTS = 16 };

/* A scorer that the released tool recommends. */
struct bi_scorer {
    const char *output, *resolution, *name; /* name: as the tool prints the scorer */
    const char *group;                      /* the word for it in --scorers */
    enum bi_scorer_kind kind;
    int64_t width; /* bases around the variant */
    enum bi_aggregation how;
};

/* ---- scores_tables.c ---- */

enum { BI_TRACK_CELLS = 13 }; /* a row of scores has of a track: name, strand, ... */
extern const char *const bi_track_cells[BI_TRACK_CELLS]; /* their columns in the table of tracks */

/* A track of an output, and the cells of a row that tell of it. */
struct bi_score_track {
    char *cells[BI_TRACK_CELLS];
    const char *name, *term; /* two of these */
    char *identifier, *description;
    char strand;
};

/* Reads the n_tracks tracks of a head from a table into *tracks, which is NULL before: a status of
 * bi_targets_table(), or FORMAT, where there are more or fewer, or a strand is none.
 * bi_score_tracks_free(), of n_tracks, takes what there is after a failure, too; it leaves NULL. */
int bi_score_tracks_read(const struct bi_env *env, struct bi_score_track **tracks, const char *path,
                         const char *head, int n_tracks, struct bioinfer_error *err);
void bi_score_tracks_free(const struct bi_env *env, struct bi_score_track **tracks, int n);

/* Polyadenylation sites, by gene and, of one gene, in the order of the table. */
struct bi_score_site {
    char *gene; /* without its version */
    int64_t start, end, line;
    char strand;
};

struct bi_score_sites {
    struct bi_score_site *of;
    size_t n;
};

/* Reads a table into *s, which is zeroed before. bi_score_sites_free() takes what there is after a
 * failure, too. */
int bi_score_sites_read(const struct bi_env *env, struct bi_score_sites *s, const char *path,
                        struct bioinfer_error *err);
/* The sites [*first, return) of a gene, which is named without its version; of one without sites
 * *first is what is returned. */
size_t bi_score_sites_find(const struct bi_score_sites *s, const char *gene, size_t *first);
void bi_score_sites_free(const struct bi_env *env, struct bi_score_sites *s);

/* Raw scores of tracks at quantiles. */
struct bi_score_quantile {
    char *key; /* scorer, track, strand with tabs between them */
    double *raw;
};

struct bi_score_quantiles {
    double *at; /* [n_at] ascending */
    size_t n_at, n;
    struct bi_score_quantile *of;
};

/* Reads a table into *q, which is zeroed before: FORMAT also for fewer than two quantiles, and for
 * two lines of one track. bi_score_quantiles_free() takes what there is after a failure, too. */
int bi_score_quantiles_read(const struct bi_env *env, struct bi_score_quantiles *q,
                            const char *path, struct bioinfer_error *err);
/* The raw scores of a scorer and a track; NULL: not in the table. */
const struct bi_score_quantile *bi_score_quantile_find(const struct bi_score_quantiles *q,
                                                       const char *scorer,
                                                       const struct bi_score_track *track);
/* The quantile of a raw score, between those of the table linearly, the first or the last one
 * beyond their raw scores, and of several with this raw score the last; NaN: the track has none, or
 * the score is NaN. */
double bi_score_quantile(const struct bi_score_quantiles *q, const char *scorer,
                         const struct bi_score_track *track, double raw);
void bi_score_quantiles_free(const struct bi_env *env, struct bi_score_quantiles *q);

/* ---- scores.c ---- */

/* An output that scorers ask for. */
struct bi_score_output {
    const char *head; /* the model's */
    int n_tracks;     /* rows of the table */
    struct bioinfer_tracks_info info;
    struct bi_score_track *tracks; /* [n_tracks] */
    int *chosen, n_chosen;         /* the tracks that are computed, as many as info has */
    int lists;                     /* enum bi_row_lists_kind */
    int n_columns;                 /* scores of a row: one for each of these, or of two strands */
    bool *hidden;                  /* [n_columns] those without rows; NULL = all have some */
};

struct bi_scores {
    const struct bi_scorer *scorers[BI_MOST_SCORERS];
    int output_of[BI_MOST_SCORERS]; /* index into outputs */
    int n_scorers, n_outputs;
    struct bi_score_output outputs[BI_SCORED_OUTPUTS];
    /* The scorer of junctions has an output that is no other scorer's, behind all others of the
     * task: it is counted between sites that the output number `classes` gives. n_chosen 0: it is
     * not asked for. */
    struct bi_score_output junctions;
    int classes;
    struct bi_gtf *genes;
    bool told_of_exons; /* that a gene has none */
    struct bi_score_sites sites;
    struct bi_score_quantiles quantiles;
};

/* The output that scorer number i has rows of. */
const struct bi_score_output *bi_scores_output(const struct bi_scores *s, int i);
/* Makes t->scores with the scorers that the params mean, and opens the task of windows with all
 * outputs, the genes and the tables. Scorers without an output, or without a chosen track of it,
 * are taken out; INVALID where none stays, for an unknown word, and for one that lacks genes or
 * sites. The log tells why the scorer of junctions was taken out, where the model cannot count
 * them. Outputs of params are NULL after it. */
int bi_scores_open(struct bi_variants_task *t, struct bioinfer_tracks_params *params,
                   struct bioinfer_error *err);
/* Frees t->scores, which is NULL then, after a failure of the above, too. */
void bi_scores_free(struct bi_variants_task *t);

/* ---- scores_rows.c ---- */

/* A gene, and a place of it, that a scorer gives scores of; all zeros: the variant itself. */
struct bi_score_row {
    const char *id, *name, *type; /* they belong to the genes */
    char strand;
    int64_t start, end; /* a junction's intron in the contig; end 0 = it is none */
    size_t n_lists;     /* the score is made of so many ... */
    int64_t from, to;   /* ... or, where all rows come to the host, of these */
};

/* The number of a list of rows among those of the window, and among those of the variant. */
struct bi_score_list {
    int32_t own, changed;
    int64_t n_rows;
};

/* Holds the scores of one variant by one scorer: rows [n] and scores [n, n_tracks], and the lists
 * that they are made of, those of the first row first. */
struct bi_score_block {
    struct bi_score_row *rows;
    float *scores;
    int n;
    size_t cap, cap_scores;
    struct bi_score_list *lists;
    size_t n_lists, cap_lists;
};

/* Adds the columns of scores to t->columns. */
void bi_scores_add_columns(struct bi_variants_task *t);
/* Adds the rows of a variant, whose blocks are one for each scorer, to t->columns: by scorer, then
 * track, then row of the block. A gene has no row of a track of the other strand. */
void bi_scores_put_rows(struct bi_variants_task *t, const struct bi_places_unit *u,
                        const struct bi_spot *p, const struct bi_score_block *blocks);

/* ---- scores_lists.c ---- */

/* Lists of an output for a window or a variant, while they are made (struct bi_row_lists). */
struct bi_list_maker {
    int32_t *rows, *against, *ends, n_rows, n, first, end;
    size_t cap_rows, cap_against, cap;
};

/* Rows step * r + first, r in ranges [n] of rows, which are aligned where step is 1. */
struct bi_row_ranges {
    const int64_t (*at)[2];
    size_t n;
    int64_t step, first;
};

/* Adds a list of rows of the window, and the one of the rows beside them in the variant's; *made
 * tells which they are: a list with the same rows that is there already is taken again. 0, NOMEM,
 * LIMIT above 2^31 - 1 rows, or INVALID where rows are not there; nothing is added then. Arrays of
 * the alleles are not looked at. */
int bi_score_lists_add(const struct bi_env *env, struct bi_list_maker *own,
                       struct bi_list_maker *changed, const struct bi_alleles *alleles,
                       const struct bi_row_ranges *of, struct bi_score_list *made);
/* Gives them to a record, as pointers into l; kind: enum bi_row_lists_kind of their output. Own
 * lists that the variants' are compared with are rows alone. */
void bi_score_lists_give(const struct bi_list_maker *l, int kind, bool own,
                         struct bi_row_lists *to);
/* Frees n of them and the array itself, which may be NULL. */
void bi_score_lists_free(const struct bi_env *env, struct bi_list_maker *of, size_t n);
/* Adds the rows that are marked, of n, to no list: 0, or NOMEM, and none is added. */
int bi_score_lists_mark(const struct bi_env *env, struct bi_list_maker *l,
                        const unsigned char *marked, int64_t n);

/* The sums of an output's lists. */
struct bi_score_sums {
    const float *values; /* [2 lists, n_tracks] */
    int n_tracks;
};

/* Gives the sum of a list for one track, which values have in two parts. */
double bi_score_list_sum(const struct bi_score_sums *s, int32_t list, int track);

/* ---- scores_junctions.c ---- */

/* Finds the sites to count between, [4, side of the array of junctions], -1 behind the last of a
 * class, of which there are BI_JUNCTION_SITES at most. *sites is NULL before, and stays NULL
 * where no gene of a protein has a base of the variant; the caller frees it by bi_free(), after a
 * failure, too. Alleles are the classes of sites, with their arrays. A status, without words
 * where it is that of bi_alleles_junction_sites(). */
int bi_junctions_find(const struct bi_variants_task *t, const struct bi_places_unit *u,
                      const struct bi_spot *p, const struct bi_alleles *alleles, int32_t **sites,
                      struct bioinfer_error *err);
/* Marks the bases of the window where such sites may be, in genes with a base of the variant; none
 * are marked where none of these is a protein's. wanted [window]: marks that are there stay. A
 * status. */
int bi_junctions_mark(const struct bi_variants_task *t, const struct bi_places_unit *u,
                      const struct bi_spot *p, unsigned char *wanted, struct bioinfer_error *err);
/* Sites of a class in the array of junctions; 0 where junctions are not asked for. */
int64_t bi_junctions_side(const struct bi_variants_task *t);
/* Adds the scores of a variant to the block, of counts between its sites, of both alleles one
 * behind the other: genes of proteins on the strand +, then on -, a row for each junction that
 * bi_alleles_junctions() hands out. A status; rows added before a failure stay. */
int bi_junctions_score(struct bi_variants_task *t, const struct bi_places_unit *u,
                       const struct bi_spot *p, const int32_t *sites, const float *counts,
                       struct bi_score_block *block, struct bioinfer_error *err);

/* ---- bi_scores_run.c ---- */

/* Adds a row to the block: its `width` scores, which are to be filled in before the next call may
 * move them; NULL: no memory, and no row is added. `width` is the same for all rows. gene NULL: the
 * variant itself; else its strings are not copied. */
float *bi_score_block_add(const struct bi_env *env, struct bi_score_block *b, size_t width,
                          const struct bi_gene *gene);
/* Sets `joint`, the row of the last base that both alleles have, and `inserted`, how many more the
 * other one has; nothing is checked (bi_alleles_check), and other members stay. */
void bi_score_align(const struct bi_places_unit *u, const struct bi_spot *p,
                    struct bi_alleles *alleles);

/* Computes all records of the source; a status, also that of source or sink. A variant without
 * scores is a result with its reason, and no failure of the run unless that is NOMEM. */
int bi_scores_run(struct bi_variants_task *t, struct bioinfer_error *err);

#endif
