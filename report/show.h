/* show.h - the readers of a report: what an output holds becomes figures of a view. */
#ifndef BI_REPORT_SHOW_H
#define BI_REPORT_SHOW_H

#include "../base/map.h"
#include "../loaders/lines.h"
#include "arrays.h"
#include "view.h"

/* The manifest beside an output, as much of it as is kept: all counts, and at most BI_VIEW_ROWS
 * records, evenly chosen. */
struct bi_manifest {
    bool found;
    uint64_t n, n_failed, residues;
    size_t n_kept;
    uint64_t *ordinals;
    double *lengths, *used; /* used: NaN where there is no result */
    const char **ids, **statuses, **messages;
    const char **notes; /* rows of no record; n_notes are counted */
    size_t n_notes, n_notes_kept;
    struct bi_map lengths_by_id; /* for the records that are kept */
};

struct bi_show {
    const struct bi_env *env;
    const char *path;
    const char *genes;     /* GTF, GFF3 or BED of genes; NULL = none */
    const char *sequences; /* FASTA files with commas between; NULL = none */
    const char *measured;  /* a table of ids and measured numbers; NULL = none */
    bool compared;         /* the measured numbers were used */
    struct bi_shown view;
    struct bi_manifest manifest;
    bool one; /* only one record is shown, with more detail */
};

/* ---- show.c ---- */

/* Makes the view of the output at s->path, by its contents; s is zeroed but for env, path, genes,
 * sequences, view.arena.env and view.record. After a failure, too, it is to be freed. NOT_FOUND: no
 * such file or record; INVALID: it is a manifest, or the record no region; UNSUPPORTED: no output.
 * Functions below that take s and err add figures to its view, and leave some of them after a
 * failure; a status is FORMAT, EMPTY, LIMIT (a line, a table or a sequence is too large), NONFINITE
 * (an embedding has a value that is no number), NOMEM or that of reading. */
int bi_show_output(struct bi_show *s, struct bioinfer_error *err);
/* Frees the view and the manifest, which are not to be used again. */
void bi_show_free(struct bi_show *s);
/* Fails with NOMEM, which it returns, naming s->path, which is set. */
int bi_show_no_memory(const struct bi_show *s, struct bioinfer_error *err);

/* ---- manifest.c ---- */

/* Reads PATH.manifest.tsv when it is there, else leaves `found` false and returns 0. FORMAT: it is
 * no manifest; `found` is true then. */
int bi_manifest_read(struct bi_show *s, struct bioinfer_error *err);
/* Adds facts, reasons of failures and the histogram of lengths; nothing without a manifest. */
int bi_manifest_show(struct bi_show *s, struct bioinfer_error *err);
/* Adds the table of records; nothing without a manifest. norms: by_id gives the place of an id in
 * them, and an id that it lacks has none; NULL = no column of norms, by_id is not read then. */
int bi_manifest_table(struct bi_show *s, const struct bi_map *by_id, const float *norms,
                      struct bioinfer_error *err);

/* ---- bigwig.c ---- */

struct bi_wig_region {
    const char *contig; /* NULL = all of them */
    double start, end;
};
/* Takes an interval [start, end) with its value. 0: go on, > 0: stop, < 0: a status. */
typedef int (*bi_wig_take)(void *user, const char *contig, double start, double end, double value);
/* Whether the file begins as a BigWig; false also where it cannot be read. */
bool bi_wig_is(const struct bi_env *env, const char *path);
/* Hands out intervals of all sections that overlap the region, also those that lie outside it, in
 * the order of the index; empty ones are left out. Without a contig start and end play no part. 0
 * also where `take` says stop, or the file lacks the contig; FORMAT: it is damaged. A status of
 * `take` has no words. */
int bi_wig_each(const struct bi_env *env, const char *path, const struct bi_wig_region *region,
                bi_wig_take take, void *user, struct bioinfer_error *err);

/* ---- needle.c ---- */

/* A pair of a file of needle; NaN: the file does not say. It lives during the call. */
struct bi_needle {
    const char *query, *target;
    double score, identity, columns;
    const char *rows[2]; /* letters and '-', the first BI_VIEW_ALIGNED columns */
};
/* 0: go on, > 0: stop, < 0: a status, whose words are in *err. */
typedef int (*bi_needle_take)(void *user, const struct bi_needle *n, struct bioinfer_error *err);
/* Hands out all pairs of the file, in its order; 0 also where `take` says stop, or there is no
 * pair. FORMAT: a line of letters is none, or the rows of a pair are not equally long. */
int bi_needle_each(const struct bi_env *env, const char *path, bi_needle_take take, void *user,
                   struct bioinfer_error *err);

/* ---- square.c ---- */

struct bi_square_view {
    uint64_t rows, columns;
    uint32_t *counts; /* values in each cell */
    struct bi_figure *figure;
};
/* Adds a heat map of the values of pairs of records; what: "distance", "identity", "score", NULL =
 * not known. Then values are put, those that are not finite are left out, and the end takes the
 * names of rows and columns, NULL = none. All values of a cell become their mean. */
int bi_square_begin(struct bi_show *s, struct bi_square_view *q, const char *what, uint64_t rows,
                    uint64_t columns, struct bioinfer_error *err);
void bi_square_put(struct bi_square_view *q, uint64_t row, uint64_t column, float value);
/* Puts all values of an array of this size. */
int bi_square_read(struct bi_show *s, struct bi_square_view *q, const struct bi_arrays *a,
                   const struct bi_array_entry *e, struct bioinfer_error *err);
int bi_square_end(struct bi_show *s, struct bi_square_view *q, const char *const *rows,
                  const char *const *columns, struct bioinfer_error *err);
/* Tells its size among the facts; false: no memory. */
bool bi_square_fact(struct bi_show *s, const struct bi_square_view *q);
/* Shows a table of tabs whose first line is an empty field and the names of the columns, or PHYLIP,
 * whose first line is the number of rows, n, with rows that are whole or the lower triangle. */
int bi_show_square(struct bi_show *s, bool phylip, uint64_t n, struct bioinfer_error *err);

/* ---- measured.c ---- */

/* Adds a scatter plot of two columns of numbers of a table, and their correlations as a fact. Rows
 * in which one has no number are left out; keys [t->n_rows] name the points. */
int bi_show_against(struct bi_show *s, const struct bi_table *t, const char *const *keys,
                    const struct bi_shown_column *measured, const struct bi_shown_column *predicted,
                    struct bioinfer_error *err);
/* Reads s->measured (loaders/csv.h), ids in column 1 and numbers in column 2, as a column of the
 * table: row i has the number of the id keys[i], NaN where there is none. FORMAT: it is no such
 * table, or an id comes twice; INVALID: two keys are equal; NOT_FOUND: no id is among the keys;
 * statuses of bi_csv_read(). */
int bi_show_measured(struct bi_show *s, const struct bi_table *t, const char *const *keys,
                     struct bi_shown_column *out, struct bioinfer_error *err);

/* ---- variants.c ---- */

/* Adds, of a table with chromosomes and positions (chrom, pos), each of the last columns of
 * numbers along a chromosome, the first that has one, the last column first; nothing of other
 * tables. */
int bi_show_along(struct bi_show *s, const struct bi_table *t, struct bioinfer_error *err);

/* ---- one reader each ---- */

/* Adds figures of the arrays, by what their names and shapes say they are; nothing of the others.
 * FORMAT: an array has not the dimensions that its name asks for. */
int bi_show_arrays(struct bi_show *s, const struct bi_arrays *a, struct bioinfer_error *err);
/* Vectors [n, width] of one place; reads vector i: 0 or a status. Then figures of them by their
 * principal components; n and width above 0; ids [n], which live as long as the view; what: a word
 * for them. Some vectors are read twice. */
typedef int (*bi_vector_read)(void *user, size_t i, float *dst, struct bioinfer_error *err);
int bi_show_vectors(struct bi_show *s, size_t n, size_t width, const char *const *ids,
                    bi_vector_read read, void *user, const char *what, struct bioinfer_error *err);
/* Vectors in the plane of their principal components. */
struct bi_plane {
    size_t n, width;
    const char *const *ids;
    bi_vector_read read;
    void *user;
    float *centre, *directions, *vector; /* [width], [2, width], [width] */
    float *norms;                        /* [n] */
    double share[2];
};
/* neighbours.c: adds lines in the plane from the record that is asked for to its nearest, and their
 * table; else from each record to its nearest, where there are at most 1,000. plane: the figure of
 * the vectors. */
int bi_show_neighbours(struct bi_show *s, const struct bi_plane *p, const struct bi_figure *plane,
                       struct bioinfer_error *err);
/* Each of these sets view.kind but the first; EMPTY: there is no row, design, pair or interval. Of
 * a bedGraph also INVALID: view.record is no region; UNSUPPORTED: a folder without such files. */
int bi_show_table(struct bi_show *s, struct bioinfer_error *err); /* any table */
int bi_show_blast(struct bi_show *s, struct bioinfer_error *err); /* BLAST's -outfmt 6 */
bool bi_is_blast(const char *line); /* whether the line can be one of those */
int bi_show_substitutions(struct bi_show *s, struct bioinfer_error *err); /* bioinfer score */
int bi_show_designs(struct bi_show *s, bool is_fasta, struct bioinfer_error *err);
/* kind: t, s, p, or n = needle */
int bi_show_alignments(struct bi_show *s, char kind, struct bioinfer_error *err);
int bi_show_bedgraph(struct bi_show *s,
                     struct bioinfer_error *err); /* a file or a folder of them */
/* Shows the trace of a PDB or mmCIF file, coloured by B-factor. */
int bi_show_structure(struct bi_show *s, struct bioinfer_error *err);
/* Shows frames in extended XYZ: what their comments tell, as lines and a table. */
int bi_show_frames(struct bi_show *s, struct bioinfer_error *err);
/* Whether a folder holds the structures of `bioinfer fold`: the scores.tsv in it. */
bool bi_is_folds(const struct bi_env *env, const char *path);
/* Shows the table of that folder, sorted by confidence, and the first structures of it: traces,
 * pLDDT along the chains, and aligned errors where there are any. */
int bi_show_folds(struct bi_show *s, struct bioinfer_error *err);
/* Adds the genes of a region to a figure of tracks: those that come first in the file, at most
 * BI_VIEW_GENES, of each the first 512 exons. s->genes is given, and the contig, the start and the
 * bins of *t are set. FORMAT: a line is none of GTF, GFF3 or BED; statuses of reading. */
int bi_show_genes(struct bi_show *s, struct bi_shown_tracks *t, struct bioinfer_error *err);

/* Two principal components of n > 0 vectors [n, width], width > 0: directions [2, width] of length
 * 1, whose largest part is positive, fitted to centred rows, `centre` [width] their mean, share[2]
 * of the variance, 0 where all rows are equal. A direction in which nothing varies may be 0. x is
 * overwritten. NOMEM is the only failure. */
int bi_pca(const struct bi_env *env, float *x, size_t n, size_t width, float *centre,
           float *directions, double *share, struct bioinfer_error *err);

#endif
