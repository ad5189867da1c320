/* view.h - what a report shows of an output: a list of figures, which page.c writes as one page of
 * HTML and svg.c as a picture. A reader of a kind of output (arrays, tables, designs, alignments,
 * tracks) makes the figures; they hold values that are ready to be drawn, and no file is read then.
 *
 * Texts are bytes of files: any byte but NUL, escaped where they are written. */
#ifndef BI_REPORT_VIEW_H
#define BI_REPORT_VIEW_H

#include "../base/arena.h"
#include "../base/buf.h"

enum {
    BI_VIEW_ROWS = 20000,    /* most rows of a table, most points of a scatter plot */
    BI_VIEW_HEATS = 12,      /* most heat maps of one kind */
    BI_VIEW_SIDE = 320,      /* cells of a side of a map, one of several ... */
    BI_VIEW_ONE_SIDE = 800,  /* ... and of one that was asked for */
    BI_VIEW_COLUMNS = 4096,  /* most columns of a heat map whose rows have names, and of a logo */
    BI_VIEW_BINS = 2048,     /* most bins of a track */
    BI_VIEW_TRACKS = 12,     /* most tracks of a region */
    BI_VIEW_HISTOGRAMS = 6,  /* most histograms made of a table */
    BI_VIEW_ALIGNMENTS = 60, /* most alignments that are drawn */
    BI_VIEW_ALIGNED = 3000,  /* most columns drawn of an alignment */
    BI_VIEW_GENES = 400,     /* most genes along a region */
    BI_VIEW_TRACES = 6,      /* most structures */
    BI_VIEW_RESIDUES = 8000, /* most residues of one */
    BI_VIEW_TEXT = 400       /* bytes of a text in a table; the rest is left out */
};

enum bi_figure_kind {
    BI_FIGURE_TABLE,
    BI_FIGURE_HISTOGRAM,
    BI_FIGURE_HEAT,
    BI_FIGURE_SCATTER,
    BI_FIGURE_TRACKS,
    BI_FIGURE_LOGO,
    BI_FIGURE_ALIGNMENT,
    BI_FIGURE_TRACE
};

struct bi_shown_column {
    const char *name;
    const char *unit; /* NULL = none, or not known */
    bool is_number;
    double *numbers;    /* [n_rows]; NaN = no value */
    const char **texts; /* [n_rows] */
};

struct bi_table {
    size_t n_rows, n_columns;
    struct bi_shown_column *columns;
};

struct bi_histogram {
    double low, high; /* edges of the first and the last bin */
    int n_bins;
    uint64_t counts[64];
    uint64_t n;
    double min, median, mean, max;
    const char *unit; /* unit of the values, "" = none */
};

enum bi_heat_scale {
    BI_SCALE_UNIT,     /* 0 to 1 */
    BI_SCALE_RANGE,    /* least to largest value */
    BI_SCALE_DIVERGING /* symmetric about 0 */
};

struct bi_heat {
    uint32_t n_rows, n_columns;
    float *values;           /* [n_rows, n_columns]; NaN = no value */
    const char *row_letters; /* a letter for each row; NULL = rows are numbered like columns */
    const char *wild;        /* a letter for each column, NULL = not known */
    const char *const *row_names, *const *column_names; /* NULL = rows, columns are numbered */
    int64_t first;                                      /* number of the first column */
    double step; /* columns of the output in one column here */
    enum bi_heat_scale scale;
    double low, high; /* values at the ends of the scale */
    const char *row_name, *column_name, *value_name;
};

struct bi_scatter {
    size_t n;
    bool segments; /* points 2 i and 2 i + 1 are the ends of a line */
    float *x, *y, *colour;
    const char **labels;
    const char *x_name, *y_name, *colour_name; /* colour_name NULL = all have one colour */
};

struct bi_shown_gene {
    const char *name;
    double start, end; /* bases */
    char strand;       /* '+', '-' or '.' */
    uint32_t n_exons;
    double *exons; /* [2 n_exons] starts and ends */
};

struct bi_shown_tracks {
    uint32_t n_tracks, n_bins;
    float *values; /* [n_tracks, n_bins]; NaN = no value */
    const char **names;
    const char *contig; /* NULL = bins are numbered */
    const char *place;  /* name of a bin, where they are numbered; NULL = "bin" */
    double start, step; /* base of bin 0; bases (or bins of the output) of a bin */
    bool lines;         /* drawn from the least to the largest value; else bars that stand on 0 */
    struct bi_shown_gene *genes;
    size_t n_genes;
};

/* Shares of letters at each position of sequences of one length. */
struct bi_logo {
    uint32_t n_columns;
    size_t n_sequences;
    const char *letters; /* NUL-terminated: the rows of `shares` */
    float *shares;       /* [letters, n_columns]; columns without a letter are 0 */
    const char *wild;    /* the native sequence, NULL = none */
};

struct bi_alignment {
    const char *query, *target;
    double score, identity; /* NaN = not known */
    const char *rows[3];    /* equally long: query, match line, target; NULL = no CIGAR */
    uint32_t n_columns;     /* all of them; BI_VIEW_ALIGNED at most are in rows */
    bool has_letters;       /* false: rows show x where a residue stands */
};

/* A line through a structure's residues, a part of it for each. */
struct bi_trace {
    uint32_t n;
    float *x, *y, *z; /* [n] angstrom about their mean; the first two axes are the longest */
    float *value;     /* [n] confidence or B-factor; NaN = not told */
    uint32_t *starts; /* residues at which a line begins: of a chain, or after a gap */
    uint32_t n_starts;
    const char **labels; /* [n] "A 12 ALA" */
    bool is_plddt;       /* the values are pLDDT from 0 to 100, else B-factors */
};

struct bi_figure {
    enum bi_figure_kind kind;
    const char *title;
    const char *note;  /* says what is shown and what is left out; NULL = nothing */
    const char *group; /* the section it stands in */
    union {
        struct bi_table table;
        struct bi_histogram histogram;
        struct bi_heat heat;
        struct bi_scatter scatter;
        struct bi_shown_tracks tracks;
        struct bi_logo logo;
        struct bi_alignment alignment;
        struct bi_trace trace;
    } as;
    struct bi_figure *next;
};

struct bi_fact {
    const char *name, *value;
    struct bi_fact *next;
};

/* Zero-initialise but for arena.env. */
struct bi_shown {
    struct bi_arena arena;
    const char *title;  /* the file's name without folders */
    const char *kind;   /* says what the output is, in a few words */
    const char *record; /* only this record is shown; NULL = all */
    struct bi_fact *facts, **last_fact;
    struct bi_figure *figures, **last_figure;
    const struct bi_figure *chosen; /* the one that a picture shows; NULL = see bi_svg_write() */
    bool found;                     /* the record was met */
};

/* All return NULL, or false, when there is no memory; what they give lives as long as the view.
 * Names, groups, titles and units are not copied. The first gives a formatted text. */
char *bi_view_printf(struct bi_shown *v, const char *fmt, ...) BI_PRINTF(2, 3);
/* A copy of at most BI_VIEW_TEXT bytes, and a NUL. */
char *bi_view_text(struct bi_shown *v, const char *text, size_t n);
/* The name of a column and, where it is known, its unit: "energy (kcal/mol)". */
const char *bi_view_axis(struct bi_shown *v, const struct bi_shown_column *c);
/* Adds a figure, zeroed but for kind, group and title, behind the others. NULL, and none is added,
 * also where title is NULL, as a title without memory is. */
struct bi_figure *bi_view_add(struct bi_shown *v, enum bi_figure_kind kind, const char *group,
                              const char *title);
/* Adds a line of facts; the value is formatted. */
bool bi_view_fact(struct bi_shown *v, const char *name, const char *fmt, ...) BI_PRINTF(3, 4);
/* Whether the record is one that is shown: each where none was asked for; notes that it was met. */
bool bi_view_wants(struct bi_shown *v, const char *id, size_t n);

/* Makes the columns of a table figure, all zeros: their values are the caller's to set. */
bool bi_view_columns(struct bi_shown *v, struct bi_table *t, size_t n_rows, size_t n_columns);
/* Adds a histogram of the finite values; nothing, and true, when there are fewer than two, or their
 * sum or range is not finite. Where all are equal, it has five bins, and the middle one holds
 * them. */
bool bi_view_histogram(struct bi_shown *v, const char *group, const char *title,
                       const double *values, size_t n, const char *unit);
/* Sets low and high of the scale from the finite values, as if there were one of 0 where there is
 * none: 0 and 1 of a UNIT scale, which values beyond these make a RANGE; the least and the largest
 * of a RANGE; -m and m of a DIVERGING one, m = 1 where all are 0. */
void bi_heat_range(struct bi_heat *heat);
/* Where both ends are one value, they move apart by as much, so it lies in the middle. */
void bi_axis_widen(double *low, double *high);
/* Index, below n, of the i-th of `shown` evenly chosen among n, i < shown; i itself where all
 * are. */
static inline uint64_t bi_view_pick(uint64_t i, uint64_t shown, uint64_t n)
{
    return shown >= n ? i : (uint64_t)((double)i * (double)n / (double)shown);
}

/* ---- the two ways to show a view ---- */

/* Appends the page. NOMEM is the only failure, after which *out holds a part. */
int bi_page_write(const struct bi_shown *v, struct bi_buf *out, struct bioinfer_error *err);
/* Appends one figure as an SVG: the chosen one, else the first that is neither a table nor a
 * histogram, else the first histogram. NOT_FOUND when there is none. */
int bi_svg_write(const struct bi_shown *v, struct bi_buf *out, struct bioinfer_error *err);

#endif
