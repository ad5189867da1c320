/* scores.h - scores of variants as AlphaGenome's tool makes them (--scorers); internal to cli/.
 *
 *   scores.c         the scorers there are, --scorers, and what they need of the model
 *   scores_run.c     windows of a unit, and the scores of its variants
 *   scores_lists.c   rows that the device sums up for them
 *   scores_junctions.c  junctions of both alleles between the same sites
 *   scores_rows.c    the table
 *   scores_values.c  scores from arrays (scores_values.h)
 *   scores_tables.c  tables of tracks, of polyadenylation sites and of quantiles
 *
 * A unit's window and its variants are computed with all outputs that scorers ask for. First each
 * scorer says which rows of its output are to be summed up, and what rows of the table are made of
 * these; the device makes the sums, of which scores are made as they come. Where junctions are to
 * be counted, all classes of splice sites come to the host, which chooses the sites; rows of genes
 * wait on the device to be counted between these. */
#ifndef BI_CLI_SCORES_H
#define BI_CLI_SCORES_H

#include "tracks.h" /* first: it asks for POSIX */

#include "../loaders/gtf.h"
#include "scores_values.h"

enum scorer_kind {
    SCORE_CENTER,
    SCORE_CONTACTS,
    SCORE_LFC,
    SCORE_ACTIVE,
    SCORE_SPLICING,
    SCORE_JUNCTIONS,
    SCORE_SITES
};

enum { MOST_SCORERS = 32, MOST_OUTPUTS = 16 };

/* A scorer that the released tool recommends. */
struct scorer {
    const char *output, *resolution, *name; /* name: as the tool prints the scorer */
    const char *group;                      /* the word for it in --scorers */
    enum scorer_kind kind;
    int64_t width; /* bases around the variant */
    enum aggregation how;
};

/* ---- scores_tables.c ---- */

/* A track of an output, and the fields of a row that tell of it, with tabs between them. */
struct score_track {
    char *columns, *name, *identifier, *description, *term;
    char strand;
};

/* Reads the n_tracks tracks of a head from a table into *tracks, which is NULL before: an exit
 * code, words said, one of cli_table_read_file(), or DATA, where there are more or fewer, or a
 * strand is none. score_tracks_free(), of n_tracks, takes what there is after a failure, too; it
 * leaves NULL. */
int score_tracks_read(struct score_track **tracks, const char *path, const char *head,
                      int n_tracks);
void score_tracks_free(struct score_track **tracks, int n);

/* Polyadenylation sites, by gene and, of one gene, in the order of the table. */
struct score_site {
    char *gene; /* without its version */
    int64_t start, end, line;
    char strand;
};

struct score_sites {
    struct score_site *of;
    size_t n;
};

/* Reads a table into *s, which is zeroed before; an exit code, words said. score_sites_free() takes
 * what there is after a failure, too. */
int score_sites_read(struct score_sites *s, const char *path);
/* The sites [*first, return) of a gene, which is named without its version; of one without sites
 * *first is what is returned. */
size_t score_sites_find(const struct score_sites *s, const char *gene, size_t *first);
void score_sites_free(struct score_sites *s);

/* Raw scores of tracks at quantiles. */
struct score_quantile {
    char *key; /* scorer, track, strand with tabs between them */
    double *raw;
};

struct score_quantiles {
    double *at; /* [n_at] ascending */
    size_t n_at, n;
    struct score_quantile *of;
};

/* Reads a table into *q, which is zeroed before; an exit code, words said: DATA also for fewer than
 * two quantiles, and for two lines of one track.
 * score_quantiles_free() takes what there is after a failure, too. */
int score_quantiles_read(struct score_quantiles *q, const char *path);
/* The raw scores of a scorer and a track; NULL: not in the table. */
const struct score_quantile *score_quantile_find(const struct score_quantiles *q,
                                                 const char *scorer,
                                                 const struct score_track *track);
/* The quantile of a raw score, between those of the table linearly, the first or the last one
 * beyond their raw scores, and of several with this raw score the last; NaN: the track has none, or
 * the score is NaN. */
double score_quantile(const struct score_quantiles *q, const char *scorer,
                      const struct score_track *track, double raw);
void score_quantiles_free(struct score_quantiles *q);

/* ---- scores.c ---- */

/* An output that scorers ask for. */
struct score_output {
    const char *head; /* the model's */
    int n_tracks;     /* rows of the table */
    struct bioinfer_tracks_info info;
    struct score_track *tracks; /* [n_tracks] */
    int *chosen, n_chosen;      /* the tracks that are computed, as many as info has */
    int lists;                  /* enum bioinfer_tracks_lists */
    int n_columns;              /* scores of a row: one for each of these, or of two strands */
    bool *hidden;               /* [n_columns] those without rows; NULL = all have some */
};

struct scores {
    const struct scorer *scorers[MOST_SCORERS];
    int output_of[MOST_SCORERS]; /* index into outputs */
    int n_scorers, n_outputs;
    struct score_output outputs[MOST_OUTPUTS];
    /* The scorer of junctions has an output that is no other scorer's, behind all others of the
     * task: it is counted between sites that the output number `classes` gives. n_chosen 0: it is
     * not asked for. */
    struct score_output junctions;
    int classes;
    struct bi_env env;
    struct bi_gtf *genes;
    bool told_of_exons; /* that a gene has none */
    struct score_sites sites;
    struct score_quantiles quantiles;
};

/* The output that scorer number i has rows of. */
const struct score_output *scores_output(const struct scores *s, int i);
/* Reads --scorers, which is given, and makes t->scores with the scorers that it means; an exit
 * code: USAGE for an unknown word, or one that lacks its --gtf or --polya. No file is opened. */
int scores_begin(struct tracker *t);
/* Opens t->tracks with all outputs, the genome, the genes and the tables; an exit code. Scorers
 * without an output, or without a chosen track of it, are taken out; USAGE where none stays.
 * t->without says why that of junctions was taken out, where the model cannot count them. Lists and
 * outputs of params are NULL behind it. */
int scores_open(struct tracker *t, struct bioinfer_tracks_params *params);
/* Frees t->scores, which is NULL then, after a failure of the above, too. The task stays. */
void scores_end(struct tracker *t);

/* ---- scores_rows.c ---- */

/* A gene, and a place of it, that a scorer gives scores of; all zeros: the variant itself. */
struct score_row {
    const char *id, *name, *type; /* they belong to the genes */
    char strand;
    int64_t start, end; /* a junction's intron in the contig; end 0 = it is none */
    size_t n_lists;     /* the score is made of so many ... */
    int64_t from, to;   /* ... or, where all rows come to the host, of these */
};

/* The number of a list of rows among those of the window, and among those of the variant. */
struct score_list {
    int32_t own, changed;
    int64_t n_rows;
};

/* Holds the scores of one variant by one scorer: rows [n] and scores [n, n_tracks], and the lists
 * that they are made of, those of the first row first. */
struct score_block {
    struct score_row *rows;
    float *scores;
    int n, cap;
    struct score_list *lists;
    size_t n_lists, cap_lists;
};

/* Writes the line of names of columns. */
void scores_put_header(const struct tracker *t, struct cli_output *to);
/* Writes the rows of a variant, whose blocks are one for each scorer, to t->row: by scorer, then
 * track, then row of the block. A gene has no row of a track of the other strand. No memory:
 * t->row.status. */
void scores_put_rows(struct tracker *t, const struct unit *u, const struct place *p,
                     const struct score_block *blocks);

/* ---- scores_lists.c ---- */

/* Lists of an output for a window or a variant, while they are made (struct bioinfer_row_lists). */
struct list_maker {
    int32_t *rows, *against, *ends, n_rows, n, first, end;
    size_t cap_rows, cap;
};

/* Rows step * r + first, r in ranges [n] of rows, which are aligned where step is 1. */
struct row_ranges {
    const int64_t (*at)[2];
    size_t n;
    int64_t step, first;
};

/* Adds a list of rows of the window, and the one of the rows beside them in the variant's; *made
 * tells which they are: a list with the same rows that is there already is taken again. 0, NOMEM,
 * LIMIT above 2^31 - 1 rows, or INVALID where rows are not there; nothing is added then. Arrays of
 * the alleles are not looked at. */
int lists_add(struct list_maker *own, struct list_maker *changed, const struct alleles *alleles,
              const struct row_ranges *of, struct score_list *made);
/* Gives them to a record, as pointers into l; kind: enum bioinfer_tracks_lists of their output. Own
 * lists that the variants' are compared with are rows alone. */
void lists_give(const struct list_maker *l, int kind, bool own, struct bioinfer_row_lists *to);
/* Frees n of them and the array itself, which may be NULL. */
void lists_free(struct list_maker *of, size_t n);
/* Adds the rows that are marked, of n, to no list: 0, or NOMEM, and none is added. */
int lists_mark(struct list_maker *l, const unsigned char *marked, int64_t n);

/* The sums of an output's lists. */
struct score_sums {
    const float *values; /* [2 lists, n_tracks] */
    int n_tracks;
};

/* Gives the sum of a list for one track, which values have in two parts. */
double list_sum(const struct score_sums *s, int32_t list, int track);

/* ---- scores_junctions.c ---- */

/* Finds the sites to count between, [4, side of the array of junctions], -1 behind the last of a
 * class, of which there are JUNCTION_SITES at most. *sites is NULL before, and stays NULL where no
 * gene of a protein has a base of the variant; the caller frees it, after a failure, too. Alleles
 * are the classes of sites, with their arrays. A status, without words where it is that of
 * alleles_junction_sites(). */
int junctions_find(const struct tracker *t, const struct unit *u, const struct place *p,
                   const struct alleles *alleles, int32_t **sites, struct bioinfer_error *err);
/* Marks the bases of the window where such sites may be, in genes with a base of the variant; none
 * are marked where none of these is a protein's. wanted [window]: marks that are there stay. A
 * status. */
int junctions_mark(const struct tracker *t, const struct unit *u, const struct place *p,
                   unsigned char *wanted, struct bioinfer_error *err);
/* Sites of a class in the array of junctions; 0 where junctions are not asked for. */
int64_t junctions_side(const struct tracker *t);
/* Adds the scores of a variant to the block, of counts between its sites, of both alleles one
 * behind the other: genes of proteins on the strand +, then on -, a row for each junction that
 * alleles_junctions() hands out. A status; rows added before a failure stay. */
int junctions_score(struct tracker *t, const struct unit *u, const struct place *p,
                    const int32_t *sites, const float *counts, struct score_block *block,
                    struct bioinfer_error *err);

/* ---- scores_run.c ---- */

/* Adds a row to the block: its `width` scores, which are to be filled in before the next call may
 * move them; NULL: no memory, and no row is added. `width` is the same for all rows. gene NULL: the
 * variant itself; else its strings are not copied. */
float *score_block_add(struct score_block *b, size_t width, const struct bi_gene *gene);
/* Sets `joint`, the row of the last base that both alleles have, and `inserted`, how many more the
 * other one has; nothing is checked (alleles_check), and other members stay. */
void score_align(const struct unit *u, const struct place *p, struct alleles *alleles);

/* Computes all records of the source; a status, also that of source or sink. A variant without
 * scores is a result with its reason, and no failure of the run unless that is NOMEM. */
int scores_run(struct tracker *t, struct bioinfer_error *err);

#endif
