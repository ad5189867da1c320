/* report.h - an output as a page of HTML or one picture. The kinds of outputs, and how much of a
 * large one is shown, stand in view.h and show.h. */
#ifndef BI_REPORT_H
#define BI_REPORT_H

#include "../base/buf.h"

struct bi_report_options {
    const char *record;    /* the only one that is shown, of bedGraph a region; NULL = all */
    const char *genes;     /* GTF, GFF3 or BED; NULL = none */
    const char *sequences; /* FASTA files with commas between; NULL = none */
    const char *measured;  /* a table of ids and measured numbers; NULL = none */
};

/* Appends one page that needs nothing beside itself. The same files give the same bytes. Of all
 * three: NOT_FOUND: no such output, record or figure; EMPTY: there is nothing to show; FORMAT,
 * UNSUPPORTED: it is damaged, or no output; LIMIT: a line, a table or a sequence is too large;
 * NONFINITE: an embedding has a value that is no number; INVALID: path is a manifest, `record` no
 * region of a bedGraph, or `measured` is given and path is no table of numbers. *out may hold a
 * part after a failure. */
int bi_report_page(struct bi_buf *out, const char *path, const struct bi_report_options *options,
                   struct bioinfer_error *err);
/* Appends one figure, as bi_svg_write() chooses it: as SVG where `scale` is 0, else as PNG of that
 * many pixels for each unit of the SVG. NOT_FOUND: there is none; LIMIT: it is too large. */
int bi_report_plot(struct bi_buf *out, const char *path, const struct bi_report_options *options,
                   double scale, struct bioinfer_error *err);
/* Appends as text what a report says above its figures: kind, facts, and columns of its tables.
 * path may be a manifest here (NAME.manifest.tsv): its facts and reasons of failures; the kind
 * alone where there is no such file. */
int bi_report_facts(struct bi_buf *out, const char *path, struct bioinfer_error *err);
/* Appends what a BigWig has: chromosomes with their lengths, the first hundred, and what its
 * summary says of all values. FORMAT: it is damaged. */
int bi_report_bigwig(struct bi_buf *out, const char *path, struct bioinfer_error *err);

#endif
